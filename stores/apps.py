"""Versioned text: memory stores, their memories and the history of each."""

from django.apps import AppConfig


class StoresConfig(AppConfig):
    name = "stores"

    def ready(self) -> None:
        from memoryhub.file_archives import register_file_archive
        from memoryhub.integrity import register_invariants
        from memoryhub.job_kinds import register_job_kind
        from memoryhub.nomination_sources import register_nomination_source
        from memoryhub.rooms import Panel, Room, register_room
        from memoryhub.store_access import register_store_count, register_store_names
        from memoryhub.subjects import register_subjects
        from stores.contents import read_panel
        from stores.file_archives import write_archive
        from stores.integrity import INVARIANTS
        from stores.memory_stores import count_stores, name_stores, newest_stores
        from stores.nominable import read_source
        from stores.store_jobs import JOB_KINDS
        from stores.subjects import SUBJECTS

        for prefix, find in SUBJECTS.items():
            register_subjects(prefix, find)
        register_store_count(count_stores)
        register_store_names(newest_stores, name_stores)
        register_invariants(INVARIANTS)
        register_nomination_source(read_source)
        register_file_archive(write_archive)
        for kind in JOB_KINDS:
            register_job_kind(kind)
        register_room(
            Room("Stores", "stores", "memory_stores.list", panel=Panel("stores/panel.html", read_panel))
        )
        register_room(
            Room(
                "Search",
                "search",
                "memories.search",
                panel=Panel("stores/search_panel.html", lambda _: {}, is_wide=True),
            )
        )
        register_room(Room("Redactions", "redactions", "redactions.list"))

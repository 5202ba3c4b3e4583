"""Versioned text: memory stores, their memories and the history of each."""

from django.apps import AppConfig


class StoresConfig(AppConfig):
    name = "stores"

    def ready(self) -> None:
        from memoryhub.deletions import register_hold
        from memoryhub.file_archives import register_file_archive
        from memoryhub.integrity import register_invariants
        from memoryhub.job_kinds import register_job_kind
        from memoryhub.leases import register_leases
        from memoryhub.nomination_sources import register_nomination_source
        from memoryhub.rooms import Panel, Room, register_room
        from memoryhub.session_events import register_first_event
        from memoryhub.store_access import register_store_count, register_store_names
        from memoryhub.subjects import register_subjects
        from stores.contents import read_panel
        from stores.file_archives import write_archive
        from stores.integrity import INVARIANTS
        from stores.memory_stores import count_stores, hold_stores, name_stores, newest_stores
        from stores.nominable import read_source
        from stores.store_jobs import JOB_KINDS
        from stores.subjects import SUBJECTS
        from stores.work import queue_first
        from stores.work_integrity import WORK_INVARIANTS
        from stores.work_leases import LEASES, hold_work

        for prefix, find in SUBJECTS.items():
            register_subjects(prefix, find)
        register_hold(hold_work)  # before the stores, as who writes with its token holds it
        register_hold(hold_stores)
        register_store_count(count_stores)
        register_leases(LEASES)
        register_first_event(queue_first)
        register_store_names(newest_stores, name_stores)
        register_invariants(INVARIANTS)
        register_invariants(WORK_INVARIANTS)
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

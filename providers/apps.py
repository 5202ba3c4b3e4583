"""Memory bound to sessions: declared resources, bindings, model requests."""

from django.apps import AppConfig

# Pages of the room of resources by the names of their URLs, which do not begin with that of the room.
DECLARING = frozenset(
    {
        "declare-resource",
        "try-memory",
        "deployments",
        "create-deployment",
        "deployment",
        "promote-deployment",
        "call",
    }
)
WRITING = frozenset({"reject-record-writes", "approve-record-write"})


class ProvidersConfig(AppConfig):
    name = "providers"

    def ready(self) -> None:
        from django.core.checks import register

        from memoryhub.activity import register_counter
        from memoryhub.deletions import register_hold, register_remote
        from memoryhub.erasure import register_copies, register_texts
        from memoryhub.integrity import register_invariants
        from memoryhub.job_kinds import register_job_kind
        from memoryhub.nomination_sources import register_record_scopes, register_record_source
        from memoryhub.notice_types import register_notice_types
        from memoryhub.rooms import Panel, Room, register_needs, register_room
        from memoryhub.subjects import register_subjects
        from memoryhub.version_holders import register_version_holder
        from providers import event_texts, record_texts, remote_texts
        from providers.checks import check_embedding, check_providers
        from providers.copies import erase_copies
        from providers.effect_queue import count_unknown, list_effect_needs
        from providers.held_scopes import name_scope
        from providers.held_scopes import read_panel as read_records_panel
        from providers.held_versions import find_held
        from providers.holdings import read_panel
        from providers.integrity import INVARIANTS
        from providers.nominable import read_record
        from providers.record_integrity import RECORD_INVARIANTS
        from providers.record_jobs import JOB_KINDS
        from providers.record_scopes import hold_scopes
        from providers.record_writes import count_waiting, list_write_needs
        from providers.remote import list_remote, list_remote_scopes
        from providers.remote_needs import list_refused
        from providers.service_overviews import list_failing
        from providers.subjects import SUBJECTS
        from providers.texts import erase_text
        from providers.told import NOTICE_TYPES
        from providers.turns import count_turns
        from providers.violations import list_violation_needs

        register(check_providers, "memoryhub")
        register(check_embedding, "memoryhub")
        register_copies(erase_copies)
        register_version_holder(find_held)
        for erase in (erase_text, event_texts.erase_text, record_texts.erase_text, remote_texts.name_text):
            register_texts(erase)
        register_counter(count_turns)
        register_record_source(read_record)
        register_record_scopes(name_scope)
        register_hold(hold_scopes)
        register_remote(list_remote)
        register_remote(list_remote_scopes)
        register_invariants((*INVARIANTS, *RECORD_INVARIANTS))
        register_notice_types(NOTICE_TYPES)
        for kind in JOB_KINDS:
            register_job_kind(kind)
        for prefix, find in SUBJECTS.items():
            register_subjects(prefix, find)
        panel = Panel("providers/panel.html", read_panel)
        register_room(Room("Resources", "resources", "memory_resources.list", panel=panel, also=DECLARING))
        panel = Panel("providers/records_panel.html", read_records_panel)
        register_room(Room("Records", "records", "records.search", panel=panel, count=count_unknown))
        register_room(Room("Sessions", "sessions", "sessions.list"))
        register_room(
            Room("Waiting writes", "record-writes", "record_writes.list", count=count_waiting, also=WRITING)
        )
        register_room(Room("Endpoints", "endpoints", "endpoints.list"))
        register_needs("http_operations.list", list_failing)
        register_needs("record_writes.approve", list_write_needs)
        register_needs("secrets.list", list_refused)
        register_needs("record_effects.resolve", list_effect_needs)
        register_needs("record_violations.list", list_violation_needs)
        register_room(Room("Secrets", "secrets", "secrets.list", group="administration"))

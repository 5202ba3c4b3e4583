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


class ProvidersConfig(AppConfig):
    name = "providers"

    def ready(self) -> None:
        from memoryhub.activity import register_counter
        from memoryhub.deletions import register_remote
        from memoryhub.erasure import register_copies, register_texts
        from memoryhub.integrity import register_invariants
        from memoryhub.rooms import Panel, Room, register_needs, register_room
        from memoryhub.subjects import register_subjects
        from providers.copies import erase_copies
        from providers.holdings import read_panel
        from providers.integrity import INVARIANTS
        from providers.remote import list_remote
        from providers.service_overviews import list_failing
        from providers.subjects import SUBJECTS
        from providers.texts import erase_text
        from providers.turns import count_turns

        register_copies(erase_copies)
        register_texts(erase_text)
        register_counter(count_turns)
        register_remote(list_remote)
        register_invariants(INVARIANTS)
        for prefix, find in SUBJECTS.items():
            register_subjects(prefix, find)
        panel = Panel("providers/panel.html", read_panel)
        register_room(Room("Resources", "resources", "memory_resources.list", panel=panel, also=DECLARING))
        register_room(Room("Sessions", "sessions", "sessions.list"))
        register_room(Room("Endpoints", "endpoints", "endpoints.list"))
        register_needs("http_operations.list", list_failing)
        register_room(Room("Secrets", "secrets", "secrets.list", group="administration"))

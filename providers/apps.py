"""Memory bound to sessions: declared resources, bindings, model requests."""

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "providers"

    def ready(self) -> None:
        from memoryhub.deletions import register_remote
        from memoryhub.erasure import register_copies
        from memoryhub.integrity import register_invariants
        from providers.copies import erase_copies
        from providers.integrity import INVARIANTS
        from providers.remote import list_remote

        register_copies(erase_copies)
        register_remote(list_remote)
        register_invariants(INVARIANTS)

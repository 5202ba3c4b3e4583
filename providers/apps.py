"""Memory bound to sessions: declared resources, bindings, model requests."""

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "providers"

    def ready(self) -> None:
        from memoryhub.erasure import register_copies
        from providers.copies import erase_copies

        register_copies(erase_copies)

"""Reviewed memory: spaces, authorities, nominations and host calls."""

from django.apps import AppConfig


class AuthorityConfig(AppConfig):
    name = "authority"

    def ready(self) -> None:
        from authority.codecs import KINDS
        from authority.integrity import INVARIANTS
        from memoryhub.integrity import register_invariants

        register_invariants(INVARIANTS)
        KINDS.seal()

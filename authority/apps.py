"""Reviewed memory: spaces, authorities, nominations and host calls."""

from django.apps import AppConfig

# Pages by the names of their URLs, which do not begin with that of their room.
NOMINATING = frozenset({"nominate-memory", "nominate-record"})
MAKING = frozenset({"create-authority", "create-space"})


class AuthorityConfig(AppConfig):
    name = "authority"

    def ready(self) -> None:
        from authority.authorities import hold_authorities
        from authority.codecs import KINDS
        from authority.held_versions import find_held
        from authority.integrity import INVARIANTS
        from authority.overviews import list_call_needs, list_review_needs, read_panel
        from authority.review_queue import count_waiting
        from authority.subjects import SUBJECTS
        from authority.texts import find_texts
        from authority.told import NOTICE_TYPES
        from memoryhub.deletions import register_hold
        from memoryhub.erasure import register_texts
        from memoryhub.integrity import register_invariants
        from memoryhub.notice_types import register_notice_types
        from memoryhub.rooms import Panel, Room, register_needs, register_room
        from memoryhub.subjects import register_subjects
        from memoryhub.version_holders import register_version_holder

        register_hold(hold_authorities)
        register_texts(find_texts)
        register_version_holder(find_held)
        register_invariants(INVARIANTS)
        register_notice_types(NOTICE_TYPES)
        for prefix, find in SUBJECTS.items():
            register_subjects(prefix, find)
        review = Room("Review", "review", "nominations.list", count=count_waiting, also=NOMINATING)
        register_room(review)
        panel = Panel("authority/panel.html", read_panel)
        register_room(Room("Authorities", "authorities", "authorities.list", panel=panel, also=MAKING))
        register_needs("nominations.decide", list_review_needs)
        register_needs("host_calls.resend", list_call_needs)
        KINDS.seal()

"""What people call an actor: the name of a person or of an API key, the title of a session. Addresses are never shown."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.models import ApiKey, Session, User

FOUND_MAX = 100
UNTITLED = "a session without a title"


def name_actors(actor_ids: Iterable[str], *, actor: Actor) -> dict[str, str]:
    """Wire id -> name, of those that have one: three queries at most, however many there are."""
    wanted = set(actor_ids)
    people = User.objects.filter(id__in=_keys(ids.USER, wanted), memberships__project_id=actor.project_id)
    api_keys = ApiKey.objects.filter(project_id=actor.project_id, id__in=_keys(ids.API_KEY, wanted))
    named = {user.wire_id: user.name for user in people.only("id", "name")}
    named |= {key.wire_id: key.name for key in api_keys.only("id", "name")}
    sessions = Session.objects.filter(project_id=actor.project_id, id__in=_keys(ids.SESSION, wanted))
    named |= {session.wire_id: session.title or UNTITLED for session in sessions.only("id", "title")}
    return {wire_id: name for wire_id, name in named.items() if name}


def find_actors(text: str, *, actor: Actor) -> tuple[str, ...]:
    """The wire ids of those in the project who have this name or address, or this id, whether they are there or not."""
    text = text.strip()
    if ids.from_wire(text.partition("_")[0], text) is not None:
        return (text,)
    members = User.objects.filter(memberships__project_id=actor.project_id)
    people = members.filter(Q(name__iexact=text) | Q(email__iexact=text)).order_by("id")
    api_keys = ApiKey.objects.filter(project_id=actor.project_id, name__iexact=text).order_by("-id")
    return (
        *(person.wire_id for person in people.only("id")[:FOUND_MAX]),
        *(key.wire_id for key in api_keys.only("id")[:FOUND_MAX]),
    )


def _keys(prefix: str, wire_ids: set[str]) -> list[UUID]:
    found = (ids.from_wire(prefix, wire_id) for wire_id in wire_ids)
    return [key for key in found if key is not None]

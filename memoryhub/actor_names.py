"""What people call an actor: the name of a person or of an API key. Addresses are never shown."""

from collections.abc import Iterable
from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.models import ApiKey, User


def name_actors(actor_ids: Iterable[str], *, actor: Actor) -> dict[str, str]:
    """Wire id -> name, of those that have one: two queries, however many there are."""
    wanted = set(actor_ids)
    people = User.objects.filter(id__in=_keys(ids.USER, wanted), memberships__project_id=actor.project_id)
    api_keys = ApiKey.objects.filter(project_id=actor.project_id, id__in=_keys(ids.API_KEY, wanted))
    named = {user.wire_id: user.name for user in people.only("id", "name")}
    named |= {key.wire_id: key.name for key in api_keys.only("id", "name")}
    return {wire_id: name for wire_id, name in named.items() if name}


def _keys(prefix: str, wire_ids: set[str]) -> list[UUID]:
    found = (ids.from_wire(prefix, wire_id) for wire_id in wire_ids)
    return [key for key in found if key is not None]

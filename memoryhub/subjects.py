"""What an id stands for on a page: the name of the thing and the page that shows it.

The ground floor knows no room, so each room registers how its things are found.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor


@dataclass(frozen=True, slots=True)
class Subject:
    """`url_name` and `ids_of`: the page of the thing, or none. `environment_id` None: it belongs to the whole project."""

    name: str
    url_name: str | None = None
    ids_of: dict[str, str] = field(default_factory=dict)
    environment_id: UUID | None = None


type FindSubjects = Callable[[list[UUID], Actor], dict[UUID, Subject]]
_finders: dict[str, FindSubjects] = {}


def register_subjects(prefix: str, find: FindSubjects) -> None:
    """`find(keys, actor)`: those that are there and the actor may see, in one query."""
    _finders[prefix] = find


def find_subjects(wire_ids: Iterable[str], *, actor: Actor) -> dict[str, Subject]:
    """By wire id, of the things that are still there: one query for each kind of thing, however many there are."""
    wanted: dict[str, dict[UUID, str]] = defaultdict(dict)
    for wire_id in wire_ids:
        prefix = wire_id.partition("_")[0]
        key = ids.from_wire(prefix, wire_id)
        if prefix in _finders and key is not None:
            wanted[prefix][key] = wire_id
    return {
        of_kind[key]: subject
        for prefix, of_kind in wanted.items()
        for key, subject in _finders[prefix](list(of_kind), actor).items()
    }

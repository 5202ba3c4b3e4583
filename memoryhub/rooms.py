"""What stands in the console's navigation: each room registers its entry, and its panel on the overview.

The ground floor knows no room, so a room registers itself at the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from memoryhub.actors import Actor
from memoryhub.operations import OPERATIONS, allows


@dataclass(frozen=True, slots=True)
class Panel:
    """`read(actor)` gives the facts that the template shows. `is_wide`: above the others, over the whole width."""

    template: str
    read: Callable[[Actor], dict[str, Any]]
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """`url_name` takes a project and an environment. `operation`: who may not do it does not see the room.

    `group`: what agents remember, or who may do what and how the hub fares. `also`: the names of its pages whose URLs do
    not begin with that of the room. `count(actor)`: how many things wait there, from one query of few rows, since every
    page asks.
    """

    title: str
    url_name: str
    operation: str
    group: Literal["memory", "administration"] = "memory"
    panel: Panel | None = None
    also: frozenset[str] = frozenset()
    count: Callable[[Actor], int] | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for a person, in one sentence, and the page on which it is settled."""

    sentence: str
    url_name: str
    ids_of: dict[str, str] = field(default_factory=dict)


WAITING_COUNTED_MAX = 100  # beyond, there are "99+"

type ReadNeeds = Callable[[Actor], list[Need]]
_rooms: list[Room] = []
_needs: list[tuple[str, ReadNeeds]] = []


def register_room(room: Room) -> None:
    _rooms.append(room)


def list_rooms(actor: Actor) -> list[Room]:
    """Those that the actor may see: what agents remember first, in the order of their registration."""
    seen = [room for room in _rooms if allows(actor.scopes, OPERATIONS[room.operation])]
    return sorted(seen, key=lambda room: room.group != "memory")


def register_needs(operation: str, read: ReadNeeds) -> None:
    """`read(actor)`: what waits now, few at most; asked for those only who may do the operation."""
    _needs.append((operation, read))


def list_needs(actor: Actor) -> list[Need]:
    return [
        need
        for operation, read in _needs
        if allows(actor.scopes, OPERATIONS[operation])
        for need in read(actor)
    ]

"""What stands in the console's navigation: each room registers its entry, and its panel on the overview.

The ground floor knows no room, so a room registers itself at the start.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from memoryhub.actors import Actor
from memoryhub.operations import OPERATIONS, allows


@dataclass(frozen=True, slots=True)
class Panel:
    """`read(actor)` gives the facts that the template shows."""

    template: str
    read: Callable[[Actor], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Room:
    """`url_name` takes a project and an environment. `operation`: who may not do it does not see the room.

    `group`: what agents remember, or who may do what and how the hub fares.
    """

    title: str
    url_name: str
    operation: str
    group: Literal["memory", "administration"] = "memory"
    panel: Panel | None = None


_rooms: list[Room] = []


def register_room(room: Room) -> None:
    _rooms.append(room)


def list_rooms(actor: Actor) -> list[Room]:
    """Those that the actor may see: what agents remember first, in the order of their registration."""
    seen = [room for room in _rooms if allows(actor.scopes, OPERATIONS[room.operation])]
    return sorted(seen, key=lambda room: room.group != "memory")

"""The rooms of the console: each registers its entry in the navigation and its panel on the overview.

The ground floor knows no room, so a room registers itself at the start.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memoryhub.actors import Actor
from memoryhub.operations import OPERATIONS, allows


@dataclass(frozen=True, slots=True)
class Room:
    """`url_name` takes a project and an environment. `operation`: who may not do it does not see the room.

    `read_panel(actor)` gives the facts that the template of the panel shows.
    """

    title: str
    url_name: str
    operation: str
    panel_template: str
    read_panel: Callable[[Actor], dict[str, Any]]


_rooms: list[Room] = []


def register_room(room: Room) -> None:
    _rooms.append(room)


def list_rooms(actor: Actor) -> list[Room]:
    """Those that the actor may see, in the order of their registration."""
    return [room for room in _rooms if allows(actor.scopes, OPERATIONS[room.operation])]

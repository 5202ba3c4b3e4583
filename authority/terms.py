"""What an authority was created with, and never changes: its two stores, its names, its bounds. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from authority.ports import CanonicalPort, WorkingPort
from authority.receipts import Side

CANONICAL_LABEL = "The canonical store"


@dataclass(frozen=True, slots=True)
class Terms:
    """`routes`: destination purposes by the name of a nomination."""

    canonical: CanonicalPort
    working: WorkingPort
    canonical_side: Side
    working_side: Side
    adoption_actor_id: str
    routes: Mapping[str, str]
    operation_bytes_max: int

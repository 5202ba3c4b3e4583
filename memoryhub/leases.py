"""The lease of a work item, which its token lives by. The room that has the work registers how one is looked at and held."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from memoryhub.actors import Actor


@dataclass(frozen=True, slots=True)
class Leases:
    """`is_held(work_id, token_id)`: the token may be used now. `hold(actor)`: a step that raises LeaseLost when it may not
    write any more, and keeps the lease as it is to the end of the transaction."""

    is_held: Callable[[UUID, UUID], bool]
    hold: Callable[[Actor], None]


_registered: list[Leases] = []


def register_leases(leases: Leases) -> None:
    _registered.append(leases)


def is_held(work_id: UUID, *, token_id: UUID) -> bool:
    return any(leases.is_held(work_id, token_id) for leases in _registered)


def hold_lease(actor: Actor) -> None:
    """A step, before anything that a change is about is locked, but the session. Nothing for who has no work's token.

    Raises: LeaseLost.
    """
    if actor.work_id is not None:
        for leases in _registered:
            leases.hold(actor)

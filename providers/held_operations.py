"""An operation of HTTP memory with its session, both locked: before an attempt, after it, and by the sweeper.

Order of locks: session, copies of the environment, operation.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models.query import QuerySet

from memoryhub import erasure
from memoryhub.columns import ClockTimestamp
from memoryhub.kept_queries import KeptSelect, together
from memoryhub.models import Session
from providers.models import HttpOperation


def _locked_operation(*related: str, id: UUID) -> QuerySet[Any]:
    alone = HttpOperation.objects.select_for_update(no_key=True, of=("self",)).filter(id=id)
    return alone.select_related("model_request", "tool_call", *related).annotate(read_at=ClockTimestamp())


_alone = KeptSelect(_locked_operation)
_with_binding = KeptSelect(partial(_locked_operation, "binding__resource", "binding__namespace"))
_session_of = KeptSelect(
    lambda operation_id: Session.objects.select_for_update(no_key=True).filter(
        id__in=HttpOperation.objects.filter(id=operation_id).values("session_id")
    )
)


@dataclass(frozen=True, slots=True)
class Held:
    """A row that is locked, and the database's time when it was."""

    operation: HttpOperation
    now: datetime


def lock_operation(operation_id: UUID) -> Held | None:
    """A step: the operation with its session and its binding, and the copies of the environment; None when it is gone.

    It waits for the row: to pass over one that a beat holds for a moment would lose what came of an attempt.
    """
    session = _session_of.row(operation_id=operation_id)
    if session is None:
        return None
    with together():
        erasure.hold_copies(session.environment_id)
        asked = _with_binding.ask(id=operation_id)
    return _held(session, asked.row())


def lock_again(operation: HttpOperation) -> Held | None:
    """As `lock_operation` without its binding, of what a run has sent: whose environment it is cannot have changed."""
    with together():
        session = _session_of.ask(operation_id=operation.id)
        erasure.hold_copies(operation.environment_id)
        asked = _alone.ask(id=operation.id)
    return _held(session.row(), asked.row())


def _held(session: Session | None, operation: Any) -> Held | None:
    """`operation` as `_locked_operation` reads it."""
    if session is None or operation is None:
        return None
    operation.session = session
    return Held(operation, operation.read_at)

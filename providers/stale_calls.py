"""Calls of records at another service that were begun, and whose hub stopped before it had asked: they are ended by a sweep."""

from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from memoryhub.columns import ClockTimestamp
from memoryhub.errors import NotFound
from memoryhub.rows import find_row
from providers.models import ToolCall
from providers.offers import RECORD_TOOL_NAMES
from providers.pins import find_pinned
from providers.record_calls import ERASED, RecordCall, end_asked, find_written, finish_elsewhere
from providers.sessions import session_actor
from providers.token_calls import CALL_PREFIX
from providers.tool_outcomes import Outcome

STALE_SECONDS = 60  # longer than a provider may take, and its caller with it
FINISHED_MAX = 20
_NOT_DONE = Outcome("unavailable: The hub stopped before it was done: make the call again.", is_error=True)


def finish_stale() -> None:
    """Nobody asks for it: calls that were begun, and whose hub stopped before it had asked the service."""
    stale = ToolCall.objects.filter(
        state="started",
        name__in=RECORD_TOOL_NAMES,
        created_at__lt=ClockTimestamp() - timedelta(seconds=STALE_SECONDS),
    )
    for call_id in list(stale.order_by("created_at").values_list("id", flat=True)[:FINISHED_MAX]):
        with suppress(NotFound):
            _finish(call_id)


def _finish(call_id: UUID) -> None:
    """Raises: NotFound when the session was deleted meanwhile."""
    call = find_row(ToolCall.objects.filter(id=call_id).select_related("model_request__session"))
    pinned = None if call is None else find_pinned(call.model_request.session_id)
    if call is None or pinned is None:
        raise NotFound("tool call")
    request = call.model_request
    of = RecordCall(request.session, request, call, call.arguments or {}, pinned)
    actor = session_actor(request.session)
    if call.arguments is None:
        end_asked(of, ERASED, actor=actor)
    elif call.call_id.startswith(CALL_PREFIX):
        # Its token may be revoked by now, after which nothing of it is done; whoever holds it repeats what was not answered.
        end_asked(of, find_written(of) or _NOT_DONE, actor=actor)
    else:
        finish_elsewhere(of, actor=actor)

"""How an operation ends, for those who wait for it: a model request is accepted or fails, a tool call has its outcome.

Steps: the session and the operation are locked.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from memoryhub import wakeups
from memoryhub.columns import ClockTimestamp
from providers import model_requests
from providers.http_calls import DONE
from providers.models import HttpOperation, ToolCall
from providers.retries import Decision, Kind, Verdict
from providers.wire_answers import WireAnswer, host_error

UNCERTAIN = {"status": "uncertain"}
_SETTLED = (
    "state",
    "code",
    "claim",
    "finished_at",
    "next_attempt_at",
    "outcome",
    "started_at",
    "deadline_at",
)


@dataclass(frozen=True, slots=True)
class Settlement:
    """`code`: ok, uncertain, rejected, or the error's. `output`: what a model is told, or a recall's answer."""

    code: str
    output: Any
    is_error: bool


def rejected(reason: str) -> Settlement:
    return Settlement("rejected", {"status": "rejected", "reason": reason}, is_error=False)


def failed(
    operation: HttpOperation, error: dict[str, Any], *, may_have_committed: bool = False
) -> Settlement:
    """With the doubt that a write may have been done, which is told beside what the endpoint said."""
    if may_have_committed:
        details = error.get("details", {})
        details = details if isinstance(details, dict) else {"provider": details}
        error = error | {"details": details | {"mayHaveCommitted": True}}
    return Settlement(error["code"][:256], {"error": error}, is_error=True)


def from_decision(operation: HttpOperation, decision: Decision, answer: WireAnswer) -> Settlement:
    if decision.verdict is Verdict.RESULT:
        return Settlement("ok", answer.value, is_error=False)
    if decision.verdict is Verdict.UNCERTAIN:
        return Settlement("uncertain", UNCERTAIN, is_error=False)
    error = answer.error or host_error("invalid_response")
    if decision.verdict is Verdict.EXHAUSTED:
        error = _exhausted(operation, answer)
    return failed(operation, error, may_have_committed=decision.may_have_committed)


def _exhausted(operation: HttpOperation, answer: WireAnswer) -> dict[str, Any]:
    details: dict[str, Any] = {"attempts": operation.attempt}
    if answer.status is not None:
        details["lastStatus"] = answer.status
    if answer.provider is not None:
        details["provider"] = answer.provider
    return host_error("retries_exhausted", **details)


def settle(operation: HttpOperation, settlement: Settlement) -> None:
    """The end of an operation, once."""
    assert operation.state != DONE
    operation.state, operation.code, operation.claim = DONE, settlement.code, None
    operation.finished_at, operation.next_attempt_at = ClockTimestamp(), None
    if operation.kind == Kind.RECALL:
        operation.outcome = settlement.output
    operation.save(update_fields=_SETTLED)
    if operation.kind == Kind.RECALL:
        model_requests.settle_request(operation.session, operation.model_request)
    else:
        assert operation.tool_call is not None
        _finish_call(operation.tool_call, settlement, was_sent=operation.attempt > 0)


def _finish_call(call: ToolCall, settlement: Settlement, *, was_sent: bool) -> None:
    """Of a call that was never sent the arguments are not kept, as of any that did nothing; of an erased one nothing is."""
    call.state, call.finished_at = "done", ClockTimestamp()
    call.output, call.is_error = settlement.output, settlement.is_error
    if not was_sent:
        call.arguments = None
    if call.erased_at is not None:
        call.output = None
    call.save(update_fields=["state", "finished_at", "output", "is_error", "arguments"])
    transaction.on_commit(partial(wakeups.wake, call.wire_id))

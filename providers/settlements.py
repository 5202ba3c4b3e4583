"""How an operation ends, for those who wait for it: a model request is accepted or fails, a tool call has its outcome.

Steps: the session and the operation are locked.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from memoryhub import wakeups
from memoryhub.columns import ClockTimestamp
from memoryhub.kept_queries import KeptSelect, update_row
from providers import model_requests
from providers.models import HttpOperation, ToolCall
from providers.places import DONE
from providers.retries import Decision, Kind, Verdict
from providers.told import tell_uncertain
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


_recalls = KeptSelect(
    lambda model_request_id: HttpOperation.objects.filter(
        model_request_id=model_request_id, kind=Kind.RECALL
    ).defer("body")
)


@dataclass(frozen=True, slots=True)
class Settlement:
    """`code`: ok, uncertain, rejected, or the error's. `output`: what a model is told, or a recall's answer.

    `is_uncertain`: of a write that may have been done, and nobody knows.
    """

    code: str
    output: Any
    is_error: bool
    is_uncertain: bool = False


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
    return Settlement(error["code"][:256], {"error": error}, is_error=True, is_uncertain=may_have_committed)


def from_decision(operation: HttpOperation, decision: Decision, answer: WireAnswer) -> Settlement:
    if decision.verdict is Verdict.RESULT:
        return Settlement("ok", answer.value, is_error=False)
    if decision.verdict is Verdict.UNCERTAIN:
        return Settlement("uncertain", UNCERTAIN, is_error=False, is_uncertain=True)
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
        _finish_recall(operation, settlement.output)
        return
    update_row(operation, *_SETTLED)
    assert operation.tool_call is not None
    _finish_call(operation.tool_call, settlement, was_sent=operation.attempt > 0)
    if settlement.is_uncertain:
        tell_uncertain(operation)


def _finish_recall(operation: HttpOperation, output: Any) -> None:
    """What it answered stands in its row only while others of its request have not answered yet."""
    others = _asked_beside(operation)
    is_last = all(one.state == DONE for one in others)
    operation.outcome = None if is_last else output
    update_row(operation, *_SETTLED)
    if is_last:
        answers = {one.resource_id: one.outcome for one in others} | {operation.resource_id: output}
        model_requests.settle_request(operation.session, operation.model_request, answers)


def _asked_beside(operation: HttpOperation) -> list[HttpOperation]:
    """The other recalls of its request and round, which one transaction keeps together."""
    asked = _recalls.rows(model_request_id=operation.model_request_id)
    return [one for one in asked if one.round == operation.round and one.id != operation.id]


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

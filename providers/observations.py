"""What an attempt at an endpoint brought, as the decision reads it: an answer, or why there was none. No secret goes on from here."""

from dataclasses import dataclass, replace

from django.utils import timezone

from memoryhub.egress import (
    AnswerTooLarge,
    DeadlineReached,
    EgressBlocked,
    EgressError,
    Reply,
    TransportFailed,
)
from memoryhub.retry_after import parse_retry_after
from providers.retries import Event
from providers.wire_answers import WireAnswer, read_answer, redact, too_large, unanswered

_EVENTS: dict[type[EgressError], Event] = {
    EgressBlocked: Event.BLOCKED,
    TransportFailed: Event.TRANSPORT_FAILED,
    DeadlineReached: Event.DEADLINE_REACHED,
}


@dataclass(frozen=True, slots=True)
class Expected:
    """How an answer is read. `secrets`: what must be shown nowhere; `recall_bytes_max`: None for a tool's answer."""

    secrets: frozenset[str]
    recall_bytes_max: int | None


@dataclass(frozen=True, slots=True)
class Observed:
    """What an attempt brought; `retry_after` in seconds."""

    answer: WireAnswer
    address: str | None = None
    answer_bytes: int | None = None
    retry_after: float | None = None


def observe_error(error: EgressError, expected: Expected) -> Observed:
    """A head that came is still an answer, unless it began one that is too long to be had."""
    if isinstance(error, AnswerTooLarge):
        if error.reply.status == 200:
            return Observed(too_large("response_too_large", 200), error.address)
        return observe(error.reply, expected)
    return Observed(unanswered(_EVENTS[type(error)]), error.address)


def observe(reply: Reply, expected: Expected) -> Observed:
    answer = read_answer(
        reply.status,
        reply.body,
        content_encoding=reply.headers.get("content-encoding"),
        recall_bytes_max=expected.recall_bytes_max,
    )
    answer = replace(
        answer,
        value=redact(answer.value, expected.secrets),
        error=redact(answer.error, expected.secrets),
        provider=redact(answer.provider, expected.secrets),
    )
    retry_after = parse_retry_after(reply.headers.get("retry-after"), now=timezone.now())
    return Observed(answer, reply.address, len(reply.body), retry_after)

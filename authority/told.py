"""What is told of authorities: nominations that wait and were decided, how adoptions ended, calls whose outcome is unknown.

Steps in the transaction of the change that they tell of. A nomination is named by the digest that its URL has.
"""

from typing import Any

from authority.models import Authority, HostCall, Nomination
from memoryhub import notices
from memoryhub.notice_types import Fact, NoticeType

_NOMINATION = {
    "authority_id": "the authority",
    "nomination_sha256": "the nomination, as its URL names it",
}
_CALL = {"authority_id": "the authority", "method": "`adoptNomination` or `advanceCanonical`"}

NOTICE_TYPES = (
    NoticeType(
        "nomination.waiting",
        "A nomination has arrived and waits for a reviewer.",
        "Nominations that have arrived for review",
        _NOMINATION | {"records": "how many records it proposes"},
        topic="nominations",
        url_name="review",
        operation="nominations.list",
    ),
    NoticeType(
        "nomination.decided",
        "A reviewer has rejected a nomination, or sent it to be adopted.",
        "Nominations that were decided",
        _NOMINATION | {"decision": "`reject` or `adopt`"},
    ),
    NoticeType(
        "adoption.finished",
        "A nomination has been adopted, or its records stood in the reviewed memory already.",
        "Adoptions that have ended well",
        _NOMINATION
        | {"status": "`adopted` or `already-present`", "receipt_sha256": "the receipt, as its URL names it"},
    ),
    NoticeType(
        "adoption.conflict",
        "An adoption met records that differ in the reviewed memory; the nomination waits for a reviewer again.",
        "Adoptions that have met a conflict",
        _NOMINATION,
        topic="needs_person",
        url_name="review",
        operation="nominations.list",
    ),
    NoticeType(
        "adoption.failed",
        "An adoption failed; its nomination waits again.",
        "Adoptions that have failed",
        _NOMINATION | {"code": "the code of the error"},
        topic="needs_person",
        url_name="review",
        operation="nominations.list",
    ),
    NoticeType(
        "host_call.unknown",
        "The worker ended during a host call, so its outcome is unknown; sending it again is safe.",
        "Host calls of unknown outcome",
        _CALL,
        topic="needs_person",
        url_name="authorities",
        operation="authorities.list",
    ),
)


def tell_waiting(authority: Authority, nomination: Nomination) -> None:
    facts = _facts_of(authority, nomination.nomination_sha256) | {"records": nomination.records_count}
    _record("nomination.waiting", nomination.wire_id, authority, facts)


def tell_decided(authority: Authority, nomination: Nomination, decision: str) -> None:
    facts = _facts_of(authority, nomination.nomination_sha256) | {"decision": decision}
    _record("nomination.decided", nomination.wire_id, authority, facts)


def tell_ended(call: HostCall, *, status: str | None, error: dict[str, Any] | None) -> None:
    """Of a call with its authority. `status` and the receipt's digest: of one that succeeded; `error`: of one that failed."""
    authority, named = call.authority, _facts_of(call.authority, call.nomination_sha256)
    if error is not None and error["code"] == "outcome_unknown":
        facts: dict[str, Fact] = {"authority_id": authority.wire_id, "method": call.method}
        _record("host_call.unknown", call.wire_id, authority, facts)
    elif call.nomination_sha256 is None:
        return
    elif error is None:
        facts = {**named, "status": status, "receipt_sha256": call.receipt_sha256}
        _record("adoption.finished", call.wire_id, authority, facts)
    elif "conflict" in error:
        _record("adoption.conflict", call.wire_id, authority, named)
    else:
        _record("adoption.failed", call.wire_id, authority, {**named, "code": error["code"]})


def _facts_of(authority: Authority, nomination_sha256: str | None) -> dict[str, Fact]:
    return {"authority_id": authority.wire_id, "nomination_sha256": nomination_sha256}


def _record(type_: str, subject_id: str, authority: Authority, facts: dict[str, Fact]) -> None:
    notices.record(
        type_,
        subject_id,
        project_id=authority.project_id,
        environment_id=authority.environment_id,
        facts=facts,
    )

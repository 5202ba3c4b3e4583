"""Decisions on nominations: reject one, or send it to be adopted.

An adoption is a host call like any other; whoever decides says which reviewed head they saw, and the call meets a
conflict when that is not the pin any more. Who decided stands in the nomination and in the audit trail; what the
operation names is the authority's own actor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.transaction import atomic

from authority.authorities import get_authority
from authority.canonical import load
from authority.failures import ValidationTypeError
from authority.host_calls import ADOPT, keep_call
from authority.host_requests import read_adoption_request
from authority.models import WAITING_STATES, Authority, HostCall, Nomination
from authority.nominations_kept import find_nomination
from authority.told import tell_decided
from memoryhub import audit
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, HubError, InvalidRequest

NOTE_LENGTH_MAX = 2_000
REJECTED_AT_ONCE_MAX = 100
# What can still be adopted; one that was rejected can be, too.
_OPEN_STATES = (*WAITING_STATES, "rejected")
_REJECTION = frozenset({"decision", "note"})
_ADOPTION = frozenset({"decision", "expectedCanonicalHead", "note", "replacements"})


@dataclass(frozen=True, slots=True)
class Decision:
    """`call`: the adoption that waits in line; None for a rejection."""

    nomination: Nomination
    call: HostCall | None


def decide(authority_id: str, nomination_sha256: str, value: Any, *, actor: Actor) -> Decision:
    """`{"decision": "reject" | "adopt", "note"?, "expectedCanonicalHead"?, "replacements"?}`.

    Raises: NotFound, ValidationTypeError, InvalidRequest, Conflict for what was decided before.
    """
    if type(value) is not dict or value.get("decision") not in ("adopt", "reject"):
        raise ValidationTypeError("Invalid review decision.")
    note = value.get("note")
    if value["decision"] == "reject":
        if not value.keys() <= _REJECTION:
            raise ValidationTypeError("Invalid review decision.")
        return Decision(reject_nomination(authority_id, nomination_sha256, note=note, actor=actor), None)
    if not {"decision", "expectedCanonicalHead"} <= value.keys() <= _ADOPTION:
        raise ValidationTypeError("Invalid review decision.")
    return adopt_nomination(
        authority_id,
        nomination_sha256,
        expected_head=value["expectedCanonicalHead"],
        replacements=value.get("replacements", []),
        note=note,
        actor=actor,
    )


@atomic(durable=True)
def reject_nomination(authority_id: str, nomination_sha256: str, *, note: Any, actor: Actor) -> Nomination:
    """Of the queue only: nothing is written to either memory. Raises: NotFound, InvalidRequest, Conflict."""
    authority = get_authority(authority_id, actor=actor)
    nomination = _lock(authority, nomination_sha256)
    note = _read_note(note)
    if nomination.state == "rejected":
        return nomination
    _require_state(nomination, WAITING_STATES)
    _keep_decision(authority, nomination, "rejected", note, actor)
    return nomination


@atomic(durable=True)
def adopt_nomination(
    authority_id: str,
    nomination_sha256: str,
    *,
    expected_head: Any,
    replacements: Any,
    note: Any,
    actor: Actor,
) -> Decision:
    """Send it to be adopted, as it was seen. Raises: NotFound, ValidationTypeError, CapacityError, Conflict."""
    authority = get_authority(authority_id, actor=actor)
    nomination = _lock(authority, nomination_sha256)
    note = _read_note(note)
    request = {
        "expectedCanonicalHead": expected_head,
        "nomination": load(nomination.body),
        "replacements": replacements,
        "v": 1,
    }
    read_adoption_request(request)
    _require_state(nomination, _OPEN_STATES)
    _keep_decision(authority, nomination, "adopting", note, actor)
    call = keep_call(authority, ADOPT, request, nomination_sha256=nomination_sha256, actor=actor)
    return Decision(nomination, call)


def _lock(authority: Authority, nomination_sha256: str) -> Nomination:
    key = find_nomination(authority, nomination_sha256).id
    return Nomination.objects.select_for_update().get(id=key)


def _read_note(note: Any) -> str | None:
    if note is None or note == "":
        return None
    if type(note) is not str or len(note) > NOTE_LENGTH_MAX or "\0" in note:
        raise InvalidRequest(f"note: This must be a text of at most {NOTE_LENGTH_MAX} characters.")
    return note


def _require_state(nomination: Nomination, states: Sequence[str]) -> None:
    """Raises: Conflict."""
    if nomination.state in states:
        return
    if nomination.state == "adopting":
        raise Conflict("An adoption of it waits or runs.", error_code="nomination_adopting")
    if nomination.state == "superseded":
        raise Conflict("A later nomination took its place.", error_code="nomination_superseded")
    words = nomination.state.replace("_", " ")
    raise Conflict(f"It was decided before: {words}.", error_code="nomination_decided")


def _keep_decision(
    authority: Authority, nomination: Nomination, state: str, note: str | None, actor: Actor
) -> None:
    """A step: the state, who decided and why, and the audit row."""
    nomination.state, nomination.note = state, note
    Nomination.objects.filter(id=nomination.id).update(
        state=state,
        note=note,
        decided_at=ClockTimestamp(),
        decided_by_type=actor.type,
        decided_by_id=actor.actor_id,
    )
    nomination.refresh_from_db(fields=["decided_at", "decided_by_type", "decided_by_id"])
    decision = "reject" if state == "rejected" else "adopt"
    audit.record(
        AuditAction.NOMINATION_DECIDED,
        nomination.wire_id,
        environment_id=authority.environment_id,
        parent_id=authority.wire_id,
        details={"decision": decision},
        actor=actor,
    )
    tell_decided(authority, nomination, decision)


# Several at once.


@dataclass(frozen=True, slots=True)
class Choice:
    authority_id: str
    nomination_sha256: str


@dataclass(frozen=True, slots=True)
class Result:
    """`problem`: why it was not rejected; None when it was."""

    choice: Choice
    problem: str | None


def reject_all(choices: Sequence[Choice], *, note: Any, actor: Actor) -> list[Result]:
    """Each on its own: what cannot be rejected leaves the others. Raises: InvalidRequest for too many, or the note."""
    if len(choices) > REJECTED_AT_ONCE_MAX:
        raise InvalidRequest(f"At most {REJECTED_AT_ONCE_MAX} nominations are rejected at once.")
    _read_note(note)
    return [Result(choice, _try_to_reject(choice, note, actor)) for choice in choices]


def _try_to_reject(choice: Choice, note: Any, actor: Actor) -> str | None:
    try:
        reject_nomination(choice.authority_id, choice.nomination_sha256, note=note, actor=actor)
    except HubError as error:
        return error.message
    return None

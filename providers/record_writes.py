"""Writes of sessions that a person decides on: what waits, and what becomes of it.

Source: contract of the memory provider, section 5.4. With a provider in this database an approval is one transaction. Another service
is asked between two, and `sweep_writes` goes on with what a hub that stopped has left.
Order of locks: the session, the copies of the environment, the write, the scope.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal
from uuid import UUID

from django.db.models import CharField, Exists, Func, OuterRef, Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, erasure, ids, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, Gone, HubError, NotFound
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rooms import WAITING_COUNTED_MAX, Need
from memoryhub.rows import find_row
from memoryhub.session_events import append_event
from providers.contract import Err
from providers.guard import ScopedMemory, Written
from providers.models import Binding
from providers.provider_choice import provider_of
from providers.record_models import MemoryEffect
from providers.record_scopes import read_scope
from providers.record_session_models import RecalledItem, RecordWrite
from providers.sessions import session_actor

type Decision = Literal["approved", "rejected"]

STATES = ("waiting", "approved", "rejected", "expired")
STALE_SECONDS = 60  # longer than a provider may take
SWEPT_MAX = 20
_ERASED = {"code": "invalid", "message": "erased"}
_UNCERTAIN = {"status": "uncertain"}


class _Sha256(Func):
    """Of a text, as the ledger keeps that of a key."""

    template = "encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')"
    output_field = CharField()


@dataclass(frozen=True, slots=True)
class ShownWrite:
    """`text`: what is to be remembered, or what the session was shown of the record to forget; None when it is not kept."""

    write: RecordWrite
    text: str | None


def visible_writes(actor: Actor) -> QuerySet[RecordWrite]:
    writes = RecordWrite.objects.filter(project_id=actor.project_id).select_related(
        "scope", "session", "tool_call"
    )
    if actor.environment_id is not None:
        writes = writes.filter(scope__environment_id=actor.environment_id)
    return writes


def list_writes(
    page: ListRequest, *, environment: str | None, state: str | None, actor: Actor
) -> Page[ShownWrite]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    writes = visible_writes(actor)
    if environment is not None:
        writes = writes.filter(scope__environment_id=tenancy.get_environment(environment, actor=actor).id)
    if state is not None:
        writes = writes.filter(state=state)
    cut = cut_newest(writes, page)
    return Page(_show(cut.rows), cut.next_page)


def get_write(write_id: str, *, actor: Actor) -> ShownWrite:
    """Raises: NotFound."""
    return _show([_get(visible_writes(actor), write_id)])[0]


def _get(writes: QuerySet[RecordWrite], write_id: str) -> RecordWrite:
    key = ids.from_wire(ids.RECORD_WRITE, write_id)
    write = None if key is None else find_row(writes.filter(id=key))
    if write is None:
        raise NotFound("record write")
    return write


def _show(writes: Sequence[RecordWrite]) -> list[ShownWrite]:
    """One query more, however many there are."""
    forgetting = [one for one in writes if one.payload is not None and "id" in one.payload]
    items = RecalledItem.objects.filter(
        session_id__in={one.session_id for one in forgetting},
        record_id__in={one.payload["id"] for one in forgetting if one.payload},
    ).order_by("id")
    texts = {(one.session_id, one.scope_id, one.record_id): one.text for one in items}
    return [ShownWrite(one, _text_of(one, texts)) for one in writes]


def _text_of(write: RecordWrite, texts: dict[Any, str | None]) -> str | None:
    if write.payload is None:
        return None
    if "record" in write.payload:
        return str(write.payload["record"]["text"])
    return texts.get((write.session_id, write.scope_id, write.payload["id"]))


def approve_write(write_id: str, *, actor: Actor) -> ShownWrite:
    """Do what the model wanted, under the key that it had. Again: unchanged.

    Raises: NotFound; Conflict for one that was rejected or has expired (`write_decided`), or whose memory may not be written any more
    (`write_not_allowed`); Gone when its text was erased.
    """
    write = _decide(write_id, decision="approved", actor=actor)
    if write.outcome is not None:
        return ShownWrite(write, None)  # nothing is left to do, so that nothing can fail after the change
    _write_elsewhere(write)
    return get_write(write_id, actor=actor)


def reject_write(write_id: str, *, actor: Actor) -> ShownWrite:
    """Nothing is written, and its text is gone. Again: unchanged. Raises: NotFound, Conflict (`write_decided`)."""
    return ShownWrite(_decide(write_id, decision="rejected", actor=actor), None)


@dataclass(frozen=True, slots=True)
class Rejection:
    """`error` None: it is rejected."""

    write_id: str
    error: HubError | None


def reject_all(write_ids: Sequence[str], *, actor: Actor) -> list[Rejection]:
    """Each by itself: one that cannot be rejected keeps none of the others."""
    return [_try_to_reject(write_id, actor) for write_id in write_ids]


def _try_to_reject(write_id: str, actor: Actor) -> Rejection:
    try:
        reject_write(write_id, actor=actor)
    except (NotFound, Conflict) as error:
        return Rejection(write_id, error)
    return Rejection(write_id, None)


@atomic(durable=True)
def _decide(write_id: str, *, decision: Decision, actor: Actor) -> RecordWrite:
    found = _get(visible_writes(actor), write_id)
    session = sessions.lock_session(found.session.wire_id, actor)
    erasure.hold_copies(session.environment_id)
    _expire(RecordWrite.objects.filter(id=found.id))
    write = _get(visible_writes(actor).select_for_update(of=("self",)), write_id)
    if write.state == decision:
        return write
    if write.state != "waiting":
        raise Conflict(f"This write was decided on: it is {write.state}.", error_code="write_decided")
    if decision == "approved" and write.payload is None:
        raise Gone("What was to be written was erased.", error_code="erased")
    if decision == "approved":
        _require_allowed(write, session)
    write.state, write.decided_at = decision, ClockTimestamp()
    write.decided_by_type, write.decided_by_id = actor.type, actor.actor_id
    if decision == "approved":
        _step_write(write, session)
    else:
        write.payload = None
    write.save(
        update_fields=["state", "decided_at", "decided_by_type", "decided_by_id", "payload", "outcome"]
    )
    write.refresh_from_db(fields=["decided_at"])
    if write.outcome is not None or decision == "rejected":
        _tell(session, write)
    action = (
        AuditAction.RECORD_WRITE_APPROVED if decision == "approved" else AuditAction.RECORD_WRITE_REJECTED
    )
    details = {"tool": write.tool, "session_id": session.wire_id}
    audit.record(action, write.wire_id, environment_id=session.environment_id, details=details, actor=actor)
    return write


def _require_allowed(write: RecordWrite, session: Session) -> None:
    """Raises: Conflict (`write_not_allowed`) when the memory was taken from the session, or may not be written by any.

    The end of the session alone takes nothing from what its model wanted before.
    """
    bound = Binding.objects.filter(
        session_id=session.id, resource__resource_id=write.tool_call.resource_id, scope="records"
    )
    binding = find_row(bound.select_related("resource"))
    if binding is None or _was_revoked(binding, session):
        raise Conflict(
            "The session's memory was revoked: nothing is written for it any more.",
            error_code="write_not_allowed",
        )
    if binding.resource.provider.get("memoryWrite") == "deny":
        raise Conflict(
            "The memory is declared with memoryWrite deny: nothing is written for it any more.",
            error_code="write_not_allowed",
        )


def _was_revoked(binding: Binding, session: Session) -> bool:
    """By itself: the end of a session revokes what is left."""
    if binding.revoked_at is None:
        return False
    return session.ended_at is None or binding.revoked_at < session.ended_at


def _memory(write: RecordWrite, session: Session, *, joins: bool) -> ScopedMemory:
    """It is the session's write, whoever approved it."""
    bound = provider_of(session.environment_id)
    actor = session_actor(session)
    before = partial(_require_wanted, write, actor)
    return ScopedMemory(bound, read_scope(write.scope), actor, joins, before)


def _require_wanted(write: RecordWrite, actor: Actor) -> None:
    """A step, before it is begun: its text is there still, and the memory may be written still; both stay so until then.

    Raises: Gone, Conflict (`write_not_allowed`), NotFound.
    """
    session = sessions.lock_session(write.session.wire_id, actor)
    erasure.hold_copies(session.environment_id)
    if not RecordWrite.objects.filter(id=write.id, payload__isnull=False).exists():
        raise Gone("What was to be written was erased.", error_code="erased")
    _require_allowed(write, session)


def _step_write(write: RecordWrite, session: Session) -> None:
    """A step, where the provider is in this database; else nothing yet."""
    memory = _memory(write, session, joins=True)
    if memory.is_here:
        write.outcome, write.payload = _outcome_of(_write(write, memory)), None


def _write(write: RecordWrite, memory: ScopedMemory) -> Written:
    assert write.payload is not None, "what is to be written is kept until it is"
    if "record" in write.payload:
        return memory.remember(write.payload["record"], write.key)
    return memory.forget(write.payload["id"], write.key)


def _outcome_of(written: Written) -> dict[str, Any]:
    if written.is_uncertain:
        return _UNCERTAIN
    if isinstance(written.result, Err):
        return {"code": written.result.error.code, "message": written.result.error.message}
    ref = written.result.value
    return {} if ref is None else {"id": ref.id, "version": ref.version}


def _tell(session: Session, write: RecordWrite) -> None:
    """A step: the session's event, by which its application knows. The session is locked."""
    if session.ended_at is None:
        facts = {"resource": write.tool_call.resource_id, "write_id": write.wire_id, "state": write.state}
        append_event(session, "memory.write_decided", facts)


def _write_elsewhere(write: RecordWrite) -> None:
    """A row of short transactions: the ledger's, with the call between, and the end; that is left to whoever sends it already."""
    memory = _memory(write, write.session, joins=False)
    tool: Literal["save_memory", "forget_memory"] = (
        "save_memory" if write.tool == "save_memory" else "forget_memory"
    )
    written, outcome = memory.find_written(tool, write.key), _ERASED
    if written is None and write.payload is not None:
        try:
            written = _write(write, memory)
        except (Conflict, Gone) as error:
            outcome = {
                "code": "invalid",
                "message": error.message if isinstance(error, Conflict) else "erased",
            }
    if written is not None and written.is_uncertain and memory.is_being_sent(tool, write.key):
        return
    outcome = outcome if written is None else _outcome_of(written)
    is_known = written is not None and not written.is_uncertain
    _end_write(write, outcome, is_known=is_known, actor=session_actor(write.session))


@atomic(durable=True)
def _end_write(write: RecordWrite, outcome: dict[str, Any], *, is_known: bool, actor: Actor) -> None:
    """What was uncertain gives way to what is known later."""
    session = sessions.lock_session(write.session.wire_id, actor)
    is_open = Q(outcome__isnull=True)
    if is_known:
        is_open |= Q(outcome=_UNCERTAIN)
    open_writes = RecordWrite.objects.filter(is_open, id=write.id, state="approved")
    if open_writes.update(outcome=outcome, payload=None):
        _tell(session, write)


def _expire(writes: QuerySet[RecordWrite]) -> None:
    """A step."""
    late = writes.filter(state="waiting", expires_at__lte=ClockTimestamp())
    late.update(state="expired", payload=None)


@atomic
def expire_writes() -> None:
    """Nobody asks for it: what waited too long has expired."""
    _expire(RecordWrite.objects.all())


def sweep_writes() -> None:
    """Nobody asks for it: what was approved and not sent is sent, and what was uncertain gets the outcome that the ledger knows by now."""
    stale = RecordWrite.objects.filter(
        state="approved",
        outcome__isnull=True,
        decided_at__lt=ClockTimestamp() - timedelta(seconds=STALE_SECONDS),
    )
    for writes in (stale, _settled_later()):
        for write_id in list(writes.order_by("decided_at").values_list("id", flat=True)[:SWEPT_MAX]):
            with suppress(NotFound):
                _go_on_with(write_id)


def _settled_later() -> QuerySet[RecordWrite]:
    """Those that were uncertain, and of which the ledger knows more."""
    known = MemoryEffect.objects.filter(
        scope_id=OuterRef("scope_id"),
        tool=OuterRef("tool"),
        key_sha256=_Sha256(OuterRef("key")),
        state__in=("done", "failed", "resolved"),
    )
    return RecordWrite.objects.filter(Exists(known), state="approved", outcome=_UNCERTAIN)


def _go_on_with(write_id: UUID) -> None:
    """Raises: NotFound when its session was deleted meanwhile."""
    write = find_row(RecordWrite.objects.filter(id=write_id).select_related("scope", "session", "tool_call"))
    if write is None:
        raise NotFound("record write")
    _write_elsewhere(write)


def count_waiting(actor: Actor) -> int:
    """WAITING_COUNTED_MAX at most."""
    return visible_writes(actor).filter(state="waiting")[:WAITING_COUNTED_MAX].count()


def list_write_needs(actor: Actor) -> list[Need]:
    """For those who decide."""
    waiting = count_waiting(actor)
    if not waiting:
        return []
    if waiting == 1:
        return [Need("A write of a record waits for a decision.", "record-writes")]
    count = f"{WAITING_COUNTED_MAX - 1}+" if waiting == WAITING_COUNTED_MAX else waiting
    return [Need(f"{count} writes of records wait for a decision.", "record-writes")]

"""A model's calls of save_memory, search_memory and forget_memory, in the scope of the principal whose input is current.

Source: contract of the memory provider, sections 5.3, 5.4, 6 and 7. With a provider in this database a call is one transaction. Another
service is asked between two: the first leaves the call started, and what is left of a crash is ended by `providers.stale_calls`.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from django.db import transaction
from django.db.transaction import atomic

from memoryhub import erasure, sessions, wakeups
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.credentials import hold_credential
from memoryhub.errors import AuthenticationFailed, NotFound
from memoryhub.models import Session
from memoryhub.rows import find_row
from memoryhub.session_events import append_event
from providers import recalled_items, waiting_writes
from providers.bindings import find_live_binding
from providers.contract import Err, Origin, Result, Scope
from providers.embedding import Vector
from providers.guard import Recalled, ScopedMemory, Written, check_record, is_query
from providers.ledger import Tool
from providers.limits import RECALL_HITS_DEFAULT, RECORD_ID_BYTES_MAX
from providers.models import Binding, ModelRequest, ToolCall
from providers.offers import FORGET_MEMORY, SAVE_MEMORY, SEARCH_MEMORY
from providers.pins import Pinned
from providers.provider_choice import provider_of
from providers.record_models import RecordScope
from providers.record_origins import named_principal, origin_of, scope_of_request
from providers.record_scopes import WritesHere, ensure_scope, find_scope
from providers.sessions import session_actor
from providers.tool_outcomes import Outcome, rejected, tool_error

UNCERTAIN = {"status": "uncertain"}
TOKEN_ENDED = "token_ended"  # why a call was not done: no model is told so, since none made it
FIELDS_OF_A_TOKEN = (
    "title",
    "tags",
    "occurred_at",
)  # of a record, beside its text; no model's tool takes them
ERASED = Outcome(None, is_error=True)  # nothing is told of a call whose text is gone


class _NotAskedError(Exception):
    """The service is not to be asked any more; `outcome`: what the model is told instead."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


type Answer = Result[Recalled] | Written


@dataclass(frozen=True, slots=True)
class Told:
    """How a call went. `answer`: what the provider gave; None where it was not asked."""

    outcome: Outcome
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class RecordCall:
    """`arguments`: they fit the tool's schema. `vector`: of a search's query, that of `find_vector`.

    `actor`: the session with the token that the call came with; None for one of the application's. `is_again`: what failed before
    may be tried again.
    """

    session: Session
    request: ModelRequest
    call: ToolCall
    arguments: dict[str, Any]
    pinned: Pinned
    vector: Vector | None = None
    actor: Actor | None = None
    is_again: bool = False

    def note(self, type_: str, **facts: str) -> None:
        """A step: an event of the session. The session is locked."""
        append_event(self.session, type_, {"resource": self.call.resource_id} | facts)

    @property
    def scope(self) -> Scope:
        return scope_of_request(self.session, self.request, self.pinned)

    @property
    def origin(self) -> Origin:
        """As it was recorded when the model called, whatever the session has seen since; of a call that was begun before that was
        recorded, the least that can be said."""
        return cast(Origin, self.call.origin or "tool_output")

    @property
    def key(self) -> str:
        """The same when the call is made again."""
        return f"{self.session.wire_id}:{self.call.wire_id}"


def begin(of: RecordCall, binding: Binding) -> Told | None:
    """A step: the session is locked, and the call's row is new. None: another service is to be asked, after the commit."""
    of.call.state, of.call.resource_id = "started", binding.resource.resource_id
    of.call.origin = _find_origin(of)
    of.call.save(force_insert=True)
    return run(of, binding)


def run(of: RecordCall, binding: Binding) -> Told | None:
    """As `begin`, of a call whose row is there and started."""
    told = _run(of, binding)
    if told is not None:
        end_call(of.call, told.outcome)
    return told


def _run(of: RecordCall, binding: Binding) -> Told | None:
    refused = _find_problem(of)
    if refused is not None:
        return Told(refused)
    memory = _memory(of, joins=True)
    if of.call.name != SEARCH_MEMORY:
        waiting = _leave_waiting(of, binding)
        if waiting is not None:
            return Told(waiting)
    if not memory.is_here:
        return None
    if of.call.name == SEARCH_MEMORY:
        return _search_here(of, memory)
    written = _write(of, memory)
    return Told(_told(of, written), written)


def _find_origin(of: RecordCall) -> Origin | None:
    """Of what the call would keep, from what the session knows before it; None of a search.

    Whoever holds a token has seen more than the hub knows of, so none of its words are the principal's own.
    """
    if of.call.name == SEARCH_MEMORY:
        return None
    origin = origin_of(of.session, of.request, of.call, of.pinned)
    return "model" if of.actor is not None and origin == "user" else origin


def find_vector(session: Session, query: object) -> Vector | None:
    """Of a search's query, where records are found by vectors. Outside of transactions: a backend may take its time."""
    provider = provider_of(session.environment_id).provider
    if not isinstance(provider, WritesHere) or not is_query(query):
        return None
    return provider.find_query_vector(query)


def _memory(of: RecordCall, *, joins: bool) -> ScopedMemory:
    bound = provider_of(of.session.environment_id)
    return ScopedMemory(bound, of.scope, of.actor or session_actor(of.session), joins)


def _find_problem(of: RecordCall) -> Outcome | None:
    """What a schema cannot say: lengths in bytes, and that an id was recalled."""
    if of.call.name == SAVE_MEMORY:
        try:
            check_record(_record(of))
        except (TypeError, ValueError) as error:
            return tool_error("invalid_arguments", str(error))
    if of.call.name == FORGET_MEMORY:
        record_id = of.arguments["id"]
        if len(record_id.encode()) > RECORD_ID_BYTES_MAX:
            return tool_error("invalid_arguments", f"id must have 1 to {RECORD_ID_BYTES_MAX} bytes.")
        if not recalled_items.was_recalled(of.session, find_scope(of.scope), record_id):
            message = f"not_found: memory {record_id} was not recalled in this thread"
            return Outcome(message, is_error=True, keeps_arguments=True)
    return None


def _record(of: RecordCall) -> dict[str, Any]:
    """All but its binding. Who said it is known where a principal did; the thread of a session's records is the session."""
    principal = named_principal(of.request, of.pinned)
    return {
        "text": of.arguments["text"],
        "origin": of.origin,
        "provenance": {
            "thread_id": of.session.wire_id,
            "event_ids": [of.request.wire_id, of.call.wire_id],
        },
        "thread": of.session.wire_id,
        "author": principal.subject if of.origin == "user" and principal is not None else None,
        **{name: of.arguments[name] for name in FIELDS_OF_A_TOKEN if name in of.arguments},
    }


def _leave_waiting(of: RecordCall, binding: Binding) -> Outcome | None:
    """The outcome of a write that a person decides on; None when it needs none."""
    policy = binding.resource.provider["memoryWrite"]
    if not waiting_writes.must_wait(policy, of.origin):
        return None
    erasure.hold_copies(of.session.environment_id)
    held = ensure_scope(of.scope)
    assert held is not None, "the tenant is the session's"
    is_save = of.call.name == SAVE_MEMORY
    payload = {"record": _record(of)} if is_save else {"id": of.arguments["id"]}
    write = waiting_writes.add_waiting(of.session, of.call, held, _tool_of(of), of.key, payload)
    if write is None:
        return rejected("too_many_waiting")
    of.note("memory.write_waiting", write_id=write.wire_id)
    message = (
        "A person decides whether this is done:"
        f" the memory {of.call.resource_id} is declared with memoryWrite {policy}."
    )
    output = {"status": "pending", "id": write.wire_id, "message": message}
    return Outcome(output, keeps_arguments=not is_save)


def _tool_of(of: RecordCall) -> Tool:
    return "save_memory" if of.call.name == SAVE_MEMORY else "forget_memory"


def _write(of: RecordCall, memory: ScopedMemory) -> Written:
    if of.call.name == SAVE_MEMORY:
        return memory.remember(_record(of), of.key)
    return memory.forget(of.arguments["id"], of.key)


def _told(of: RecordCall, written: Written) -> Outcome:
    """A step: what the model is told of a write, and the session's event. The text of a save is kept by the record alone."""
    if written.is_uncertain:
        return Outcome(UNCERTAIN, keeps_arguments=of.call.name == FORGET_MEMORY)
    if isinstance(written.result, Err):
        return _failed(written.result)
    if of.call.name == FORGET_MEMORY:
        record_id = of.arguments["id"]
        of.note("memory.forgotten", record_id=record_id)
        return Outcome(f"forgot {record_id}", keeps_arguments=True)
    ref = written.result.value
    if ref is None:
        return Outcome({"status": "saved"})
    of.note("memory.saved", record_id=ref.id)
    return Outcome({"id": ref.id, "version": ref.version})


def _failed(result: Err) -> Outcome:
    return Outcome(f"{result.error.code}: {result.error.message}", is_error=True)


def _search_here(of: RecordCall, memory: ScopedMemory) -> Told:
    """A step: found and kept in one transaction, so that nothing is forgotten between."""
    held = _hold(of)
    result = _recall(of, memory)
    return Told(_found(of, held, result, here=True), result)


def _hold(of: RecordCall) -> RecordScope | None:
    erasure.hold_copies(of.session.environment_id)
    held = find_scope(of.scope)
    if held is not None:
        recalled_items.share_scope(held)
    return held


def _recall(of: RecordCall, memory: ScopedMemory) -> Result[Recalled]:
    k = int(of.arguments.get("k", RECALL_HITS_DEFAULT))
    return memory.recall(of.arguments["query"], k=k, vector=of.vector)


def _found(of: RecordCall, held: RecordScope | None, result: Result[Recalled], *, here: bool) -> Outcome:
    """A step: the hits are kept beside the call, and stand in no text of it."""
    if isinstance(result, Err):
        return _failed(result)
    hits = list(result.value.hits) if held is not None else []
    if held is not None and not here:
        forgotten = recalled_items.find_forgotten(held, [hit.id for hit in hits])
        hits = [hit for hit in hits if hit.id not in forgotten]
    if not hits or held is None:
        return Outcome("no memories found", keeps_arguments=True)
    recalled_items.keep_hits(of.session, of.call, held, hits)
    line = f"{len(hits)} memories, shown below as untrusted references"
    return Outcome(line, keeps_arguments=True)


def finish_elsewhere(of: RecordCall, *, actor: Actor) -> Told:
    """Ask the service, then end the call: a row of short transactions. Raises: NotFound when the session was deleted meanwhile."""
    try:
        answer = _ask(of, actor)
    except _NotAskedError as refused:
        end_asked(of, refused.outcome, actor=actor)
        return Told(refused.outcome)
    return Told(end_asked(of, answer, actor=actor), answer)


def _ask(of: RecordCall, actor: Actor) -> Answer:
    """Raises: _NotAskedError, NotFound."""
    require_kept = partial(_require_kept, of, actor)
    memory = replace(_memory(of, joins=False), before=require_kept)
    if of.call.name != SEARCH_MEMORY:
        written = find_written(of)
        return _write(of, memory) if written is None or _may_be_repeated(of, written) else written
    with atomic(durable=True):
        require_kept()
    return _recall(of, memory)


def find_written(of: RecordCall) -> Written | None:
    """How the write of a call went, as far as the ledger knows; None for one that was never begun, and for a search."""
    if of.call.name == SEARCH_MEMORY:
        return None
    return _memory(of, joins=False).find_written(_tool_of(of), of.key)


def _may_be_repeated(of: RecordCall, written: Written) -> bool:
    return of.is_again and isinstance(written.result, Err) and not written.is_uncertain


def _require_kept(of: RecordCall, actor: Actor) -> None:
    """A step, before the service is asked: the call is there with its text, and the session reaches the memory still.

    Raises: _NotAskedError, NotFound.
    """
    session = sessions.lock_session(of.session.wire_id, actor)
    if actor.token_id is not None:
        _require_token(actor)
    erasure.hold_copies(session.environment_id)
    kept = ToolCall.objects.filter(id=of.call.id, state="started", arguments__isnull=False)
    if not kept.exists():
        raise _NotAskedError(ERASED)
    binding = find_live_binding(session, of.call.resource_id or "")
    if binding is None:
        raise _NotAskedError(rejected("session_closed"))
    if of.call.name != SEARCH_MEMORY and binding.resource.provider["memoryWrite"] == "deny":
        raise _NotAskedError(rejected("not_bound", bound=[]))


def _require_token(actor: Actor) -> None:
    """A step, after the session's lock, as whoever revokes a token has that first. Raises: _NotAskedError."""
    try:
        hold_credential(actor)
    except AuthenticationFailed as error:
        raise _NotAskedError(rejected(TOKEN_ENDED)) from error


@atomic(durable=True)
def end_asked(of: RecordCall, answer: Answer | Outcome, *, actor: Actor) -> Outcome:
    """What the model is told."""
    session = sessions.lock_session(of.session.wire_id, actor)
    call = find_row(ToolCall.objects.filter(id=of.call.id))
    if call is None:
        raise NotFound("tool call")
    if call.state == "done":
        return Outcome(call.output, is_error=bool(call.is_error))
    ending = RecordCall(session, of.request, call, of.arguments, of.pinned)
    outcome = _outcome_of(ending, answer)
    end_call(call, outcome)
    transaction.on_commit(partial(wakeups.wake, call.wire_id))
    return outcome


def _outcome_of(of: RecordCall, answer: Answer | Outcome) -> Outcome:
    """A step."""
    if isinstance(answer, Outcome):
        return answer
    if isinstance(answer, Written):
        return _told(of, answer)
    return _found(of, _hold(of), answer, here=False)


def end_call(call: ToolCall, outcome: Outcome) -> None:
    """A step. Of one whose text was erased meanwhile nothing is kept."""
    call.state, call.finished_at = "done", ClockTimestamp()
    call.output, call.is_error = outcome.output, outcome.is_error
    if not outcome.keeps_arguments:
        call.arguments = None
    if call.erased_at is not None:
        call.output = None
    call.save(update_fields=["state", "finished_at", "output", "is_error", "arguments"])

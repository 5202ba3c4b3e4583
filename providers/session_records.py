"""Records by a session's token: remember, recall and forget as the session's model does by its tools.

Source: contract of the memory provider, section 10, its last paragraph. A token acts in the scope of its session and in no other, as
far as the session's binding and the declaration let it; under the same key a write is done once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import sessions
from memoryhub.actors import Actor
from memoryhub.clock import to_wire
from memoryhub.digests import exact_json
from memoryhub.errors import (
    AuthenticationFailed,
    Conflict,
    Gone,
    HubError,
    InvalidRequest,
    PermissionRefused,
    Unprocessable,
)
from memoryhub.models import Session
from memoryhub.rows import find_row
from providers import record_calls, token_calls
from providers.contract import Err, Ok, ProviderError, RecordRef, Scope
from providers.embedding import Vector, find_backend
from providers.guard import Recalled, Written
from providers.limits import WAITING_WRITES_MAX
from providers.models import Binding, ToolCall
from providers.offers import FORGET_MEMORY, SAVE_MEMORY, SEARCH_MEMORY
from providers.pins import find_pinned
from providers.record_answers import Forgotten, Saved, Waiting, forgotten_of, hub_error, saved_of
from providers.record_calls import TOKEN_ENDED, UNCERTAIN, RecordCall, Told
from providers.record_names import seal_digest, seal_name
from providers.record_origins import scope_of_request
from providers.record_session_models import RecalledItem, RecordWrite
from providers.tool_outcomes import Outcome

GIVEN_BY_THE_SESSION = ("thread", "author")
_UNKNOWN = ProviderError("unavailable", "It is not known whether the write happened.")


@dataclass(frozen=True, slots=True)
class _Made:
    """`told` None: another service is to be asked, after the commit."""

    of: RecordCall
    told: Told | None


def save_record(fields: Mapping[str, Any], *, key: str, actor: Actor) -> Saved:
    """`fields`: text, title, tags, occurred_at; the rest of a record is the session's to say.

    Raises: NotFound, InvalidRequest, AuthenticationFailed, PermissionRefused, Unprocessable, Conflict, Gone, Unavailable, ProviderTimeout.
    """
    for name in GIVEN_BY_THE_SESSION:
        if name in fields:
            raise InvalidRequest(f"{name}: The session fills it in by itself; leave it out.")
    arguments = dict(fields)
    if "occurred_at" in arguments:
        arguments["occurred_at"] = to_wire(arguments["occurred_at"])
    _, told = _call(SAVE_MEMORY, arguments, key=key, actor=actor)
    if isinstance(told.answer, Written):
        return saved_of(told.answer)
    return Saved(None, is_new=False, waiting=_require_waiting(told.outcome))


def forget_record(record_id: str, *, key: str, actor: Actor) -> Forgotten:
    """By the id of a record that a search of the session has given. Raises: as `save_record`."""
    _, told = _call(FORGET_MEMORY, {"id": record_id}, key=key, actor=actor)
    if isinstance(told.answer, Written):
        return forgotten_of(told.answer)
    return Forgotten(waiting=_require_waiting(told.outcome))


def search_records(query: str, *, k: int, actor: Actor) -> Recalled:
    """What it gives is kept beside the session's call, as of each search of its model. Raises: as `save_record`."""
    of, told = _call(SEARCH_MEMORY, {"query": query, "k": k}, key=None, actor=actor)
    if isinstance(told.answer, Err):
        raise hub_error(told.answer.error)
    if not isinstance(told.answer, Ok):
        raise _refusal(told.outcome)
    items = RecalledItem.objects.filter(tool_call_id=of.call.id).exclude(text=None)
    kept = set(items.values_list("record_id", flat=True))
    recalled: Recalled = told.answer.value
    return replace(recalled, hits=[hit for hit in recalled.hits if hit.id in kept])


def _call(name: str, arguments: dict[str, Any], *, key: str | None, actor: Actor) -> tuple[RecordCall, Told]:
    vector = None
    if name == SEARCH_MEMORY and find_backend() is not None:
        session = sessions.get_session(actor.actor_id, actor=actor)
        vector = record_calls.find_vector(session, arguments["query"])
    made = _begin(name, arguments, key=key, vector=vector, actor=actor)
    return made.of, made.told or record_calls.finish_elsewhere(made.of, actor=actor)


@atomic(durable=True)
def _begin(
    name: str, arguments: dict[str, Any], *, key: str | None, vector: Vector | None, actor: Actor
) -> _Made:
    session = token_calls.lock_own_session(actor)
    binding = _require_binding(session, writes=name != SEARCH_MEMORY)
    pinned = find_pinned(session.id)
    assert pinned is not None, "a session that binds records has a deployment"
    request = token_calls.find_current_request(session)
    call = token_calls.draft_call(
        request,
        name,
        arguments,
        request_sha256=seal_digest(exact_json([name, arguments])).hex(),
        call_id=None if key is None else _call_id(name, key, scope_of_request(session, request, pinned)),
    )
    by = token_calls.token_actor(session, actor)
    held = find_row(_kept_calls(session).filter(call_id=call.call_id))
    if held is not None:
        of = RecordCall(session, held.model_request, held, arguments, pinned, actor=by, is_again=True)
        return _Made(of, _repeat(of, binding, call.request_sha256))
    of = RecordCall(session, request, call, arguments, pinned, vector, by)
    return _Made(of, record_calls.begin(of, binding))


def _kept_calls(session: Session) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(model_request__session_id=session.id).select_related("model_request")


def _call_id(name: str, key: str, scope: Scope) -> str:
    """Of a write under a key, which is one write in its scope."""
    sealed = seal_name("memoryhub/token-call/v1", name, scope.agent, scope.scope, key)
    return token_calls.CALL_PREFIX + sealed


def _require_binding(session: Session, *, writes: bool) -> Binding:
    """A deployment declares records once, so a session binds them once. Raises: PermissionRefused."""
    bound = token_calls.bindings_of(session, "records")
    binding = next((one for one in bound if one.revoked_at is None), None)
    if binding is None:
        raise _not_bound()
    if writes and not token_calls.lets_write(binding):
        raise _read_only()
    return binding


def _not_bound() -> PermissionRefused:
    return PermissionRefused(
        "This session binds no records, or binds them no more; its application chooses what it binds when it begins it.",
        error_code="records_not_bound",
    )


def _read_only() -> PermissionRefused:
    return PermissionRefused(
        "This session may search its records, and neither save nor forget any.",
        error_code="records_read_only",
    )


def _repeat(of: RecordCall, binding: Binding, request_sha256: str | None) -> Told | None:
    """A step: what stands of a write that was asked for under the same key. Raises: Gone, Unprocessable, Conflict."""
    call = of.call
    if call.erased_at is not None:
        raise Gone("The text of this call was erased.", error_code="erased")
    if call.request_sha256 != request_sha256:
        raise Unprocessable("This Idempotency-Key was used for another write.", error_code="invalid")
    outcome = Outcome(call.output, is_error=bool(call.is_error))
    write = find_row(RecordWrite.objects.filter(tool_call_id=call.id))
    if write is not None:
        return _decided(write, outcome)
    if call.state == "started":  # it is being sent just now, or what is left of it is ended soon
        return Told(outcome, Written(Err(_UNKNOWN), is_new=False))
    if (done := _find_done(outcome)) is not None:
        return Told(outcome, Written(done, is_new=False))
    call.state, call.output, call.is_error, call.finished_at = "started", None, None, None
    call.arguments = of.arguments
    call.save(update_fields=["state", "output", "is_error", "finished_at", "arguments"])
    return record_calls.run(of, binding)


def _find_done(outcome: Outcome) -> Ok[Any] | None:
    """What a write gave that is done for certain."""
    output = outcome.output
    if outcome.is_error or output == UNCERTAIN:
        return None
    if isinstance(output, dict) and "id" in output:
        return Ok(RecordRef(output["id"], output["version"]))
    return Ok(None) if isinstance(output, str) or output == {"status": "saved"} else None


def _decided(write: RecordWrite, outcome: Outcome) -> Told:
    """What became of a write that waited for a person. Raises: Conflict for one that was not approved."""
    if write.state == "waiting":
        return Told(outcome)
    if write.state != "approved":
        raise Conflict(f"This write was decided on: it is {write.state}.", error_code="write_decided")
    known = write.outcome
    if known is None or "status" in known:
        return Told(outcome, Written(Err(_UNKNOWN), is_new=False))
    if "code" in known:
        failed = ProviderError(known["code"], known["message"], sent=False)
        return Told(outcome, Written(Err(failed), is_new=False))
    ref = RecordRef(known["id"], known["version"]) if "id" in known else None
    return Told(outcome, Written(Ok(ref), is_new=False))


def _require_waiting(outcome: Outcome) -> Waiting:
    """Raises: why it was not done."""
    output = outcome.output
    if isinstance(output, dict) and output.get("status") == "pending":
        return Waiting(output["id"], output["message"])
    raise _refusal(outcome)


def _refusal(outcome: Outcome) -> HubError:
    """What a model would be told, as the error of a door."""
    output = outcome.output
    if output is None:
        return Gone("The text of this call was erased.", error_code="erased")
    if isinstance(output, str):
        return Unprocessable(output, error_code="invalid")
    if "error" in output:
        return Unprocessable(output["error"]["message"], error_code="invalid")
    if output["reason"] == "too_many_waiting":
        return InvalidRequest(
            f"{WAITING_WRITES_MAX} writes of this session wait for a person, and no more may.",
            error_code="too_many_waiting",
        )
    if output["reason"] == TOKEN_ENDED:
        return AuthenticationFailed("The token of the session is revoked or has expired.")
    return _not_bound() if output["reason"] == "session_closed" else _read_only()

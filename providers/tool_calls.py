"""A model's calls of its memory tools: one outcome for one call id. Source: contract, sections 6.4, 7.2 and 9.2; for the tools of
records that of the memory provider, section 6.

Every call of a session passes its lock, so a call that is posted twice runs once, and nothing is saved after an end.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models import prefetch_related_objects
from django.db.transaction import atomic

from memoryhub import ids, sessions, wakeups
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.credentials import hold_credential
from memoryhub.digests import exact_json, sha256_hex
from memoryhub.errors import Conflict, Gone, NotFound
from memoryhub.models import Session
from memoryhub.rows import find_row
from providers import document_calls, http_calls, model_requests, record_calls
from providers.bindings import find_live_binding
from providers.document_calls import MEMORY_SAVE, DocumentCall
from providers.embedding import Vector, find_backend
from providers.limits import ARGUMENTS_BYTES_MAX, WAIT_SECONDS_MAX
from providers.models import Binding, ModelRequest, Projection, ToolCall
from providers.offers import (
    PREFIX,
    RECORD_TOOL_NAMES,
    SEARCH_MEMORY,
    UNNAMED,
    Target,
    choose_target,
    known_tools,
    offer_tools,
)
from providers.pins import find_pinned
from providers.record_calls import RecordCall
from providers.record_names import seal_digest
from providers.schemas import RESERVED_ARGUMENT, find_argument_problems
from providers.sessions import session_actor
from providers.tool_outcomes import Outcome, rejected, tool_error


@dataclass(frozen=True, slots=True)
class Pending:
    """The call of a service, which a worker makes, or of a provider of records. `tool`: its declared name."""

    binding: Binding
    tool: str


def call_tool(
    session_id: str,
    request_id: str,
    *,
    call_id: str,
    name: str,
    arguments: dict[str, Any],
    waits: bool,
    actor: Actor,
) -> ToolCall:
    """Run the call, or give the outcome that its id has already.

    A service is called by a worker and waited for, unless `waits` is False or too many wait in this process already: then
    the call may still be started, and is to be asked for again.
    Raises: NotFound; Conflict for other content under the same id (`tool_call_mismatch`) or without a selection; Gone.
    """
    vector = None
    if name == SEARCH_MEMORY and find_backend() is not None:
        vector = _find_vector(session_id, request_id, call_id, arguments, actor)
    call, is_new = _begin_call(session_id, request_id, call_id, name, arguments, vector, actor)
    if call.state == "done":
        return call
    if is_new and name in RECORD_TOOL_NAMES:
        record_calls.finish_elsewhere(_record_call(call.model_request.session, call), actor=actor)
        return get_call(session_id, call.wire_id, actor=actor)
    look = partial(get_call, session_id, call.wire_id, actor=actor)
    seconds = WAIT_SECONDS_MAX if waits else 0
    return wakeups.wait_for(call.wire_id, look, _is_done, seconds=seconds)


def _find_vector(
    session_id: str, request_id: str, call_id: str, arguments: dict[str, Any], actor: Actor
) -> Vector | None:
    """Of the query of a search that has no outcome yet: before the session is locked. Raises: NotFound."""
    session = sessions.get_session(session_id, actor=actor)
    request = model_requests.find_request(session, request_id)
    if ToolCall.objects.filter(model_request_id=request.id, call_id=call_id).exists():
        return None
    return record_calls.find_vector(session, arguments.get("query"))


def _is_done(call: ToolCall) -> bool:
    return call.state != "started"


@atomic(durable=True)
def _begin_call(
    session_id: str,
    request_id: str,
    call_id: str,
    name: str,
    arguments: dict[str, Any],
    vector: Vector | None,
    actor: Actor,
) -> tuple[ToolCall, bool]:
    """The call, and whether it was made now. `vector`: of a search's query."""
    hold_credential(actor)
    session = sessions.lock_session(session_id, actor)
    request = model_requests.find_request(session, request_id)
    request_sha256 = _seal(name, arguments)
    held = find_row(ToolCall.objects.filter(model_request_id=request.id, call_id=call_id))
    if held is not None:
        return _with_items(_repeat(held, request_sha256)), False
    if request.selected is None:
        raise Conflict("The render has selected no memory yet.", error_code="selection_missing")
    call = ToolCall(
        project_id=request.project_id,
        model_request=request,
        call_id=call_id,
        name=name,
        arguments=arguments,
        request_sha256=request_sha256,
        state="done",
    )
    outcome = _run(session, request, name, arguments)
    if isinstance(outcome, Pending) and name in RECORD_TOOL_NAMES:
        return _with_items(_begin_record_call(session, call, outcome, vector)), True
    if isinstance(outcome, Pending):
        return _start(session, call, outcome), True
    call.output, call.is_error, call.resource_id = outcome.output, outcome.is_error, outcome.resource_id
    call.version_ids, call.finished_at = outcome.version_ids, ClockTimestamp()
    if not outcome.keeps_arguments:
        call.arguments = None
    call.save(force_insert=True)
    call.refresh_from_db(fields=["output"])  # as whoever repeats the call gets it, byte for byte
    return call, True


def _seal(name: str, arguments: dict[str, Any]) -> str:
    """Tells the call from another under its id. Nobody can guess a record's text from it, also once that is forgotten."""
    said = exact_json([name, arguments])
    return seal_digest(said).hex() if name in RECORD_TOOL_NAMES else sha256_hex(said)


def _begin_record_call(session: Session, call: ToolCall, pending: Pending, vector: Vector | None) -> ToolCall:
    told = record_calls.begin(replace(_record_call(session, call), vector=vector), pending.binding)
    if told is not None:
        call.refresh_from_db(fields=["output"])
    return call


def _record_call(session: Session, call: ToolCall) -> RecordCall:
    pinned = find_pinned(session.id)
    assert pinned is not None and call.arguments is not None
    return RecordCall(session, call.model_request, call, call.arguments, pinned)


def _with_items(call: ToolCall) -> ToolCall:
    """With what a search gave."""
    if call.name == SEARCH_MEMORY:
        prefetch_related_objects([call], "recalled_items")
    return call


def _start(session: Session, call: ToolCall, pending: Pending) -> ToolCall:
    call.state, call.resource_id = "started", pending.binding.resource.resource_id
    call.save(force_insert=True)
    pinned = find_pinned(session.id)
    assert pinned is not None
    http_calls.add_tool_call(session, call, pending.binding, pinned.manifest, pending.tool)
    return call


def _repeat(call: ToolCall, request_sha256: str) -> ToolCall:
    _require_kept(call)
    if call.request_sha256 != request_sha256:
        raise Conflict(
            "This call id made another call: one with another name or other arguments.",
            error_code="tool_call_mismatch",
        )
    return call


def _run(session: Session, request: ModelRequest, name: str, arguments: dict[str, Any]) -> Outcome | Pending:
    """The checks that every tool shares, in the contract's order, then the tool."""
    bound, selected = model_requests.bound_resources(session), request.selected or []
    of_session = known_tools(bound, [one.resource.id for one in bound]).get(name)
    if of_session is None:
        return tool_error("unknown_tool", f"There is no memory tool {name[:64]}.")
    size = len(exact_json(arguments))
    if size > ARGUMENTS_BYTES_MAX:
        return tool_error(
            "invalid_arguments", f"They have {size} bytes; at most {ARGUMENTS_BYTES_MAX} are allowed."
        )
    rest = {key: value for key, value in arguments.items() if key != RESERVED_ARGUMENT}
    if name in RECORD_TOOL_NAMES:
        rest = arguments  # they have no argument of the hub's
    # Of a tool of the hub's the arguments are checked first (7.2), of a service's its target (9.2).
    hub_tool = next((target for target in of_session.targets.values() if target.kind != "http"), None)
    if hub_tool and (problems := find_argument_problems(hub_tool.input, rest)):
        return _invalid(problems)
    known = known_tools(bound, selected).get(name)
    if known is None:
        return rejected("not_bound", bound=[])
    offered = offer_tools(bound, selected).get(name)
    eligible = list(offered.targets) if offered else []
    named = UNNAMED if name in RECORD_TOOL_NAMES else arguments.get(RESERVED_ARGUMENT, UNNAMED)
    target = choose_target(known, eligible, named)
    if isinstance(target, str):
        return rejected(target, bound=eligible)
    if problems := find_argument_problems(target.input, rest):
        return _invalid(problems)
    binding = find_live_binding(session, target.resource_id)
    if binding is None:
        return rejected("session_closed")
    if target.kind != "document":
        return Pending(binding, name.removeprefix(PREFIX))
    revision = _recalled_revision(request, target) if name == MEMORY_SAVE else None
    call = DocumentCall(session, binding, rest, revision, session_actor(session))
    outcome = document_calls.run(name, call)
    return replace(outcome, resource_id=target.resource_id)


def _invalid(problems: list[dict[str, str]]) -> Outcome:
    return tool_error("invalid_arguments", "The arguments do not fit the tool's schema.", problems=problems)


def _recalled_revision(request: ModelRequest, target: Target) -> str | None:
    projection = Projection.objects.get(model_request_id=request.id, resource_id=target.resource_id)
    return projection.sources[0]["revision"] if projection.sources else None


def get_call(session_id: str, call_id: str, *, actor: Actor) -> ToolCall:
    """By the hub's id. Raises: NotFound; Gone for one whose text was erased."""
    session = sessions.get_session(session_id, actor=actor)
    key = ids.from_wire(ids.TOOL_CALL, call_id)
    held = ToolCall.objects.filter(model_request__session_id=session.id)
    call = None if key is None else find_row(held.filter(id=key))
    if call is None:
        raise NotFound("tool call")
    _require_kept(call)
    return _with_items(call)


def _require_kept(call: ToolCall) -> None:
    if call.erased_at is not None:
        raise Gone("The text of this call was erased.", error_code="erased")

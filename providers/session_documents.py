"""Documents by a session's token: which it binds, and to list, read and replace them as the session's model does by its tools.

Source: contract of document and HTTP memory, sections 4 and 7.2. What a token may name are the resources that its session binds; the
document of a binding is the binding's, and no argument. Outcomes are those that a model is told, and kept as those of its calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.transaction import atomic

from memoryhub import sessions
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import exact_json, sha256_hex
from memoryhub.errors import InvalidRequest
from memoryhub.models import Session
from providers import document_calls, token_calls
from providers.document_calls import MEMORY_LIST, MEMORY_READ, MEMORY_SAVE, DocumentCall
from providers.models import Binding
from providers.pins import find_pinned
from providers.schemas import RESERVED_ARGUMENT
from providers.sessions import BindingState, details_of
from providers.tool_outcomes import Outcome, rejected

DOCUMENT, COLLECTION = "document", "collection"


@dataclass(frozen=True, slots=True)
class BoundDocuments:
    """A binding of documents as it stands. `description`: as the session's deployment declares the resource."""

    state: BindingState
    description: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    """`memory`: the resource that is meant, None where there is no choice. `scopes`: of the bindings that have the tool."""

    tool: str
    memory: str | None
    scopes: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    revision: str | None = None


def list_memories(*, actor: Actor) -> list[BoundDocuments]:
    """By resource id, those that are bound now. Raises: NotFound."""
    session = sessions.get_session(actor.actor_id, actor=actor)
    pinned = find_pinned(session.id)
    if pinned is None:
        return []
    bound = [one for one in details_of(session).bindings if one.binding.scope in (DOCUMENT, COLLECTION)]
    return [
        BoundDocuments(one, pinned.manifest.resources[one.binding.resource.resource_id].description)
        for one in bound
        if one.binding.revoked_at is None
    ]


def list_documents(memory: str | None, *, cursor: str | None, actor: Actor) -> Outcome:
    """Of a collection, without texts. Raises: NotFound, AuthenticationFailed, Conflict."""
    arguments = {} if cursor is None else {"cursor": cursor}
    return _call(_Wanted(MEMORY_LIST, memory, (COLLECTION,), arguments), actor=actor)


def read_document(memory: str | None, *, document_id: str | None, actor: Actor) -> Outcome:
    """`document_id`: of a collection's document. Raises: NotFound, InvalidRequest, AuthenticationFailed, Conflict."""
    arguments = {} if document_id is None else {"id": document_id}
    return _call(_Wanted(MEMORY_READ, memory, (DOCUMENT, COLLECTION), arguments), actor=actor)


def save_document(
    memory: str | None, *, text: str, summary: str | None, expected_revision: str, actor: Actor
) -> Outcome:
    """Replace the whole text of what stands at that revision. Raises: NotFound, AuthenticationFailed, Conflict."""
    arguments = {"text": text} if summary is None else {"text": text, "summary": summary}
    wanted = _Wanted(MEMORY_SAVE, memory, (DOCUMENT,), arguments, expected_revision)
    return _call(wanted, actor=actor)


@atomic(durable=True)
def _call(wanted: _Wanted, *, actor: Actor) -> Outcome:
    session = token_calls.lock_own_session(actor)
    binding, outcome = _run(session, wanted, actor)
    request = token_calls.find_current_request(session)
    named = {} if wanted.memory is None else {RESERVED_ARGUMENT: wanted.memory}
    arguments = wanted.arguments | named
    sealed = sha256_hex(exact_json([wanted.tool, arguments]))
    call = token_calls.draft_call(request, wanted.tool, arguments, request_sha256=sealed)
    call.output, call.is_error, call.version_ids = outcome.output, outcome.is_error, outcome.version_ids
    call.resource_id = None if binding is None else binding.resource.resource_id
    call.finished_at = ClockTimestamp()
    if not outcome.keeps_arguments:
        call.arguments = None
    call.save(force_insert=True)
    return outcome


def _run(session: Session, wanted: _Wanted, actor: Actor) -> tuple[Binding | None, Outcome]:
    """The checks of section 7.2 in their order, then the tool. Raises: InvalidRequest."""
    chosen = _choose(token_calls.bindings_of(session, *wanted.scopes), wanted)
    if isinstance(chosen, Outcome):
        return None, chosen
    if chosen.revoked_at is not None:
        return chosen, rejected("session_closed")
    arguments = dict(wanted.arguments)
    if chosen.scope == DOCUMENT:
        if arguments.get("id", chosen.target_id) != chosen.target_id:
            return chosen, rejected("not_found")
        arguments["id"] = chosen.target_id
    if wanted.tool == MEMORY_READ and "id" not in arguments:
        raise InvalidRequest("id: A collection has many documents: name one, as list_documents gives it.")
    by = token_calls.token_actor(session, actor)
    call = DocumentCall(session, chosen, arguments, wanted.revision, by)
    return chosen, document_calls.run(wanted.tool, call)


def _choose(bound: Sequence[Binding], wanted: _Wanted) -> Binding | Outcome:
    """What a call means; it is never redirected, and one that leaves the choice open is refused."""
    eligible = [one for one in bound if wanted.tool != MEMORY_SAVE or token_calls.lets_write(one)]
    if wanted.memory is None:
        meant = eligible or list(bound)
        named = meant[0] if len(meant) == 1 else None
    else:
        named = next((one for one in bound if one.resource.resource_id == wanted.memory), None)
    names = [one.resource.resource_id for one in eligible]
    if named is None:
        return rejected("not_bound", bound=names)
    return named if named in eligible else rejected("read_only", bound=names)

"""The verbs of a session: create, inspect, end, revoke one binding, delete. Source: contract, sections 4 and 12."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.transaction import atomic

from memoryhub import audit, erasure, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.errors import Conflict, InvalidRequest, NotFound, RevisionConflict
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page
from memoryhub.rows import find_row
from memoryhub.session_events import append_event
from providers import deployments, documents, session_tokens
from providers.bindings import WantedBinding, add_bindings, list_bindings
from providers.declarations import Manifest
from providers.models import Binding, Deployment, ModelRequest, PinnedDeployment
from providers.pins import find_pinned
from providers.principals import Principal
from stores.attachments import WantedStore, attach_stores, find_holders, list_attachments
from stores.memory_stores import get_store
from stores.models import Attachment, Memory
from stores.work import end_work

DEFAULT_ENVIRONMENT = "production"  # contract: section 4, of a bare agent id
NO_DEPLOYMENT = Manifest({}, {}, ())


@dataclass(frozen=True, slots=True)
class WantedSession:
    """What a session is asked for with. `agent`: `agent_id@environment`, an agent's id, or None with stores only.

    `principal`: whose records it means, while its requests name nobody else.
    """

    environment: str | None
    agent: str | None
    deployment_id: str | None
    bindings: Sequence[WantedBinding]
    stores: Sequence[WantedStore]
    title: str
    principal: Principal | None = None


@dataclass(frozen=True, slots=True)
class BindingState:
    """`is_writable`: the binding would let a model write at this moment."""

    binding: Binding
    is_writable: bool


@dataclass(frozen=True, slots=True)
class SessionDetails:
    session: Session
    deployment: Deployment | None
    principal: Principal | None
    bindings: list[BindingState]
    attachments: list[Attachment]


@dataclass(frozen=True, slots=True)
class Opened:
    """`is_new` False: the same request had made it before."""

    details: SessionDetails
    is_new: bool

    @property
    def session(self) -> Session:
        return self.details.session


def create_session(wanted: WantedSession, *, idempotency_key: str | None, actor: Actor) -> Opened:
    """The same request under the same key finds the same session; another one is refused.

    Raises: NotFound, InvalidRequest, Conflict (`deployment_not_promoted`, `idempotency_conflict`).
    """
    try:
        return _create_session(wanted, idempotency_key, actor)
    except IntegrityError:
        if idempotency_key is None:
            raise
        return _create_session(wanted, idempotency_key, actor)  # the same key won a moment ago: find it


@atomic(durable=True)
def _create_session(wanted: WantedSession, idempotency_key: str | None, actor: Actor) -> Opened:
    environment_id, agent_id = choose_place(wanted, actor)
    deployment = choose_deployment(wanted, environment_id, agent_id, actor)
    request_sha256 = _request_sha256(wanted, environment_id, deployment)
    if idempotency_key is not None:
        existing = _find_by_key(idempotency_key, environment_id, actor)
        if existing is not None:
            _require_same(existing, request_sha256)
            return Opened(details_of(existing), is_new=False)
    session = Session(
        project_id=actor.project_id,
        environment_id=environment_id,
        title=wanted.title,
        idempotency_key=idempotency_key,
        request_sha256=request_sha256,
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )
    session.save(force_insert=True)
    manifest = NO_DEPLOYMENT
    if deployment is not None:
        _pin(session, deployment, wanted.principal)
        manifest = deployments.manifest_of(deployment)
    attach_stores(session, wanted.stores, actor=actor)
    add_bindings(session, wanted.bindings, manifest, actor=actor)
    audit.record(
        AuditAction.SESSION_CREATED,
        session.wire_id,
        environment_id=environment_id,
        details={
            "deployment_id": deployment.wire_id if deployment else None,
            "bindings": len(wanted.bindings),
            "memory_stores": len(wanted.stores),
        },
        actor=actor,
    )
    return Opened(details_of(session), is_new=True)


def _pin(session: Session, deployment: Deployment, principal: Principal | None) -> None:
    PinnedDeployment.objects.create(
        session=session,
        project_id=session.project_id,
        deployment=deployment,
        principal=None if principal is None else principal.to_wire(),
    )


@dataclass(frozen=True, slots=True)
class StartedOnDocument:
    opened: Opened
    is_new_document: bool


def start_on_document(
    *,
    environment: str | None,
    resource_id: str,
    document_id: str,
    access: str,
    title: str,
    text: str,
    summary: str,
    idempotency_key: str | None,
    actor: Actor,
) -> StartedOnDocument:
    """Make the document unless it is there, then the session on it: two transactions, both of which may be repeated.

    Raises: NotFound, InvalidRequest, Conflict, RequestTooLarge; RevisionConflict for the id of a deleted document.
    """
    is_new_document = _make_document(
        environment, resource_id, document_id, title=title, text=text, summary=summary, actor=actor
    )
    wanted = WantedSession(
        environment=environment,
        agent=None,
        deployment_id=None,
        bindings=[WantedBinding(resource_id, "document", document_id, access)],
        stores=[],
        title="",
    )
    key = None if idempotency_key is None else f"on-document:{sha256_hex(idempotency_key)}"
    return StartedOnDocument(create_session(wanted, idempotency_key=key, actor=actor), is_new_document)


def _make_document(
    environment: str | None,
    resource_id: str,
    document_id: str,
    *,
    title: str,
    text: str,
    summary: str,
    actor: Actor,
) -> bool:
    """Whether it was made: one that exists is left alone."""
    try:
        documents.create_document(
            environment,
            resource_id,
            document_id,
            title=title,
            text=text,
            summary=summary,
            agent_writes=True,
            actor=actor,
        )
    except RevisionConflict:
        if not documents.has_document(environment, resource_id, document_id, actor=actor):
            raise
        return False
    return True


def choose_place(wanted: WantedSession, actor: Actor) -> tuple[UUID, str | None]:
    """(environment, agent id). An alias names the environment; so does `environment`; they must agree."""
    if wanted.agent is None:
        return tenancy.choose_environment(wanted.environment, actor=actor), None
    agent_id, has_alias, alias = wanted.agent.partition("@")
    named = alias if has_alias else wanted.environment
    if named is None:
        named = None if actor.environment_id is not None else DEFAULT_ENVIRONMENT
    environment_id = tenancy.choose_environment(named, actor=actor)
    also = wanted.environment if has_alias else None
    if also is not None and tenancy.get_environment(also, actor=actor).id != environment_id:
        raise InvalidRequest("environment: It is another one than the agent's alias names.")
    return environment_id, agent_id


def choose_deployment(
    wanted: WantedSession, environment_id: UUID, agent_id: str | None, actor: Actor
) -> Deployment | None:
    if wanted.deployment_id is not None:
        deployment = deployments.get_deployment(wanted.deployment_id, actor=actor)
        if agent_id is not None and deployment.agent_id != agent_id:
            raise InvalidRequest("deployment_id: It is a deployment of another agent.")
        if not deployments.was_promoted(deployment, environment_id):
            raise _not_promoted("The deployment was never promoted in this environment.")
        return deployment
    if agent_id is None and wanted.bindings:
        agent_id = deployments.DEFAULT_AGENT
    if agent_id is None:
        if wanted.principal is not None:
            raise InvalidRequest("principal: Only a session with a deployment binds records of a principal.")
        return None
    active = deployments.find_active(environment_id, agent_id)
    if active is None:
        raise _not_promoted(f"No deployment of the agent {agent_id} is promoted in this environment.")
    return active


def _not_promoted(sentence: str) -> Conflict:
    return Conflict(sentence, error_code="deployment_not_promoted")


def _request_sha256(wanted: WantedSession, environment_id: UUID, deployment: Deployment | None) -> str:
    """Of what the session is, with defaults filled in. A redeploy makes the request of an alias another one."""
    stores = [[one.store_id, one.access, one.instructions] for one in wanted.stores]
    asked: dict[str, Any] = {
        "environment": environment_id.hex,
        "deployment": deployment.id.hex if deployment else None,
        "memory": {one.resource_id: one.canonical() for one in wanted.bindings},
        "stores": stores,
    }
    if wanted.principal is not None:
        asked["principal"] = wanted.principal.to_wire()
    return sha256_hex(canonical_json(asked))


def _find_by_key(idempotency_key: str, environment_id: UUID, actor: Actor) -> Session | None:
    """The one of this environment; else that of another, which is another request under the same key."""
    held = list(sessions.visible_sessions(actor).filter(idempotency_key=idempotency_key).order_by("id"))
    here = [session for session in held if session.environment_id == environment_id]
    return next(iter(here or held), None)


def _require_same(session: Session, request_sha256: str) -> None:
    if session.request_sha256 != request_sha256:
        raise Conflict(
            "This idempotency key made another session: one with another agent, deployment, environment or memory.",
            error_code="idempotency_conflict",
        )


def inspect_session(session_id: str, *, actor: Actor) -> SessionDetails:
    """Raises: NotFound."""
    return details_of(sessions.get_session(session_id, actor=actor))


def details_of(session: Session) -> SessionDetails:
    bindings = list_bindings(session)
    frozen = _frozen_documents(bindings)
    states = [BindingState(one, is_writable(session, one, frozen)) for one in bindings]
    pinned = find_pinned(session.id)
    deployment, principal = (None, None) if pinned is None else (pinned.deployment, pinned.principal)
    return SessionDetails(session, deployment, principal, states, list_attachments(session))


def _frozen_documents(bindings: Sequence[Binding]) -> dict[tuple[UUID, str], bool]:
    """Of the bound documents that exist: whether agents may not write them."""
    bound = [one for one in bindings if one.scope == "document"]
    found = Memory.objects.filter(
        store_id__in={one.resource.store_id for one in bound},
        path_key__in={f"/{one.target_id}".encode() for one in bound},
    ).values_list("store_id", "path", "frozen_at")
    return {(store_id, path): frozen_at is not None for store_id, path, frozen_at in found}


def is_writable(session: Session, binding: Binding, frozen: dict[tuple[UUID, str], bool]) -> bool:
    if session.ended_at is not None or binding.revoked_at is not None or binding.access != "read-write":
        return False
    if binding.scope == "document":
        store = binding.resource.store
        assert store is not None
        return store.frozen_at is None and frozen.get((store.id, f"/{binding.target_id}")) is False
    if binding.scope == "records":
        return bool(binding.resource.provider["memoryWrite"] != "deny")
    return binding.scope == "namespace"


def session_actor(session: Session) -> Actor:
    """Who a model's write is made by."""
    return Actor("session_actor", session.wire_id, session.project_id, session.environment_id, frozenset())


def list_sessions(
    page: ListRequest,
    *,
    environment: str | None,
    is_live: bool | None,
    memory_store_id: str | None,
    actor: Actor,
) -> Page[Session]:
    """Newest first; with `memory_store_id` those that hold that store. Raises: NotFound, InvalidRequest."""
    shown = sessions.visible_sessions(actor)
    if memory_store_id is not None:
        shown = shown.filter(id__in=find_holders(get_store(memory_store_id, actor=actor)))
    return sessions.cut_sessions(shown, page, environment=environment, is_live=is_live, actor=actor)


@atomic(durable=True)
def end_session(session_id: str, *, actor: Actor) -> SessionDetails:
    """Once this has answered no save of the session commits and no call of it begins. Again: unchanged.

    Raises: NotFound.
    """
    session = sessions.lock_session(session_id, actor)
    if session.ended_at is None:
        append_event(session, "session.ended", {})
        session.ended_at = ClockTimestamp()
        session.save(update_fields=["ended_at"])
        Binding.objects.filter(session_id=session.id, revoked_at=None).update(revoked_at=session.ended_at)
        end_work(session)
        session_tokens.revoke_all(session)
        # No recall needs it any more, also not one that was broken off.
        ModelRequest.objects.filter(session_id=session.id).exclude(input_text=None).update(input_text=None)
        audit.record(
            AuditAction.SESSION_ENDED, session.wire_id, environment_id=session.environment_id, actor=actor
        )
    return details_of(session)


@atomic(durable=True)
def revoke_binding(session_id: str, resource_id: str, *, actor: Actor) -> SessionDetails:
    """The session reaches the resource no more. Again: unchanged. Raises: NotFound."""
    session = sessions.lock_session(session_id, actor)
    bound = Binding.objects.filter(session_id=session.id, resource__resource_id=resource_id)
    binding = find_row(bound)
    if binding is None:
        raise NotFound("binding")
    if binding.revoked_at is None:
        binding.revoked_at = ClockTimestamp()
        binding.save(update_fields=["revoked_at"])
        if session.ended_at is None:
            append_event(session, "memory.revoked", {"resource": resource_id})
        audit.record(
            AuditAction.BINDING_REVOKED,
            session.wire_id,
            environment_id=session.environment_id,
            details={"resource": resource_id},
            actor=actor,
        )
    return details_of(session)


@atomic(durable=True)
def delete_session(session_id: str, *, actor: Actor) -> str:
    """Its events, requests and tool calls go with it, and its stores are free; documents stay. Raises: NotFound."""
    session = sessions.lock_session(session_id, actor)
    wire_id = session.wire_id
    end_work(session)
    session_tokens.revoke_all(session)  # before the copies, as what is done with a token has them
    erasure.hold_copies(session.environment_id)  # an erasure goes through the same rows in another order
    Session.objects.filter(id=session.id).delete()  # the database removes what belongs to it
    audit.record(AuditAction.SESSION_DELETED, wire_id, environment_id=session.environment_id, actor=actor)
    return wire_id

"""Deployments: made once, promoted into environments, pinned by sessions. Source: contract, section 3."""

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import canonical_json
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import Environment
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from providers.declarations import DeclaredResource, DocumentProvider, HttpProvider, Manifest, parse_manifest
from providers.models import Binding, Deployment, Promotion, Resource
from stores.memory_stores import add_store
from stores.models import MemoryStore

DEFAULT_AGENT = "default"
MANIFESTS_KEPT = 256  # parsed ones, in each process


@dataclass(frozen=True, slots=True)
class ChangedEndpoint:
    """`sessions_on_old`: live sessions whose pinned deployment still calls the endpoint that the resource had."""

    resource_id: str
    old: str
    new: str
    sessions_on_old: int


@dataclass(frozen=True, slots=True)
class Promoted:
    deployment: Deployment
    environment_id: UUID
    promotion: Promotion
    changed_endpoints: list[ChangedEndpoint] = field(default_factory=list)


def visible_deployments(actor: Actor) -> QuerySet[Deployment]:
    """Those made for the actor's environment or promoted there; a credential of the whole project sees all."""
    deployments = Deployment.objects.filter(project_id=actor.project_id)
    if actor.environment_id is None:
        return deployments
    promoted = Promotion.objects.filter(environment_id=actor.environment_id).values("deployment_id")
    return deployments.filter(Q(environment_id=actor.environment_id) | Q(id__in=promoted))


@atomic(durable=True)
def create_deployment(*, agent_id: str, manifest: Any, actor: Actor) -> Deployment:
    """Raises: InvalidRequest (`invalid_declaration`) with every problem."""
    return add_deployment(
        agent_id, parse_manifest(manifest, listed_origins=settings.EGRESS_PRIVATE_ORIGINS), actor
    )


def add_deployment(agent_id: str, manifest: Manifest, actor: Actor) -> Deployment:
    """The step of `create_deployment`: in the caller's transaction."""
    deployment = Deployment(
        project_id=actor.project_id,
        environment_id=actor.environment_id,
        agent_id=agent_id,
        manifest=manifest.to_manifest(),
        manifest_sha256=manifest.sha256(),
        warnings=manifest.warnings,
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )
    deployment.save(force_insert=True)
    audit.record(
        AuditAction.DEPLOYMENT_CREATED,
        deployment.wire_id,
        environment_id=actor.environment_id,
        details={"agent_id": agent_id},
        actor=actor,
    )
    return deployment


def get_deployment(deployment_id: str, *, actor: Actor) -> Deployment:
    """Raises: NotFound."""
    key = ids.from_wire(ids.DEPLOYMENT, deployment_id)
    deployment = None if key is None else find_row(visible_deployments(actor).filter(id=key))
    if deployment is None:
        raise NotFound("deployment")
    return deployment


def list_deployments(page: ListRequest, *, agent_id: str | None, actor: Actor) -> Page[Deployment]:
    """Newest first. Raises: InvalidRequest for a foreign cursor."""
    deployments = visible_deployments(actor)
    if agent_id is not None:
        deployments = deployments.filter(agent_id=agent_id)
    return cut_newest(deployments, page)


def list_active(environment_id: UUID) -> list[Promotion]:
    """The promotions that are in force in an environment, by agent, with their deployments."""
    active = Promotion.objects.filter(environment_id=environment_id, is_active=True)
    return list(active.select_related("deployment").order_by("agent_id"))


def find_active(environment_id: UUID, agent_id: str) -> Deployment | None:
    active = Promotion.objects.filter(environment_id=environment_id, agent_id=agent_id, is_active=True)
    promotion = find_row(active.select_related("deployment"))
    return None if promotion is None else promotion.deployment


def was_promoted(deployment: Deployment, environment_id: UUID) -> bool:
    return Promotion.objects.filter(environment_id=environment_id, deployment_id=deployment.id).exists()


def manifest_of(deployment: Deployment) -> Manifest:
    """As it was accepted, also when an operator lists its origins no more: then they are not called."""
    return _parse_accepted(canonical_json(deployment.manifest))


@lru_cache(maxsize=MANIFESTS_KEPT)
def _parse_accepted(canonical: bytes) -> Manifest:
    """Kept, since it never changes and every request of a session reads it."""
    manifest = json.loads(canonical)
    origins = {connection["origin"] for connection in manifest["connections"]}
    return parse_manifest(manifest, listed_origins=origins)


def promote_deployment(
    deployment_id: str, *, environment: str | None, acknowledged_endpoints: list[str], actor: Actor
) -> Promoted:
    """Make a deployment the one that an environment runs for its agent. In two transactions, which may be repeated:
    the limits first, which bind older sessions too, then the code.

    Raises: NotFound, InvalidRequest, Conflict (`provider_kind_changed`, `endpoint_change_unacknowledged`).
    """
    deployment = get_deployment(deployment_id, actor=actor)
    environment_id = tenancy.choose_environment(environment, actor=actor)
    changed = apply_limits(deployment, environment_id, acknowledged_endpoints, actor=actor)
    promotion = activate(deployment, environment_id, changed, actor=actor)
    return Promoted(deployment, environment_id, promotion, changed)


@atomic(durable=True)
def apply_limits(
    deployment: Deployment, environment_id: UUID, acknowledged_endpoints: list[str], *, actor: Actor
) -> list[ChangedEndpoint]:
    """The first half of a promotion: every declared resource has its row, its kind and its current limits."""
    return write_resources(manifest_of(deployment), environment_id, acknowledged_endpoints, actor)


@atomic(durable=True)
def activate(
    deployment: Deployment, environment_id: UUID, changed: list[ChangedEndpoint], *, actor: Actor
) -> Promotion:
    """The second half: new sessions of the agent get this deployment. Again: unchanged."""
    return set_active(deployment, environment_id, changed, actor)


def write_resources(
    manifest: Manifest, environment_id: UUID, acknowledged_endpoints: list[str], actor: Actor
) -> list[ChangedEndpoint]:
    """A step: two promotions into one environment wait for each other."""
    Environment.objects.select_for_update(no_key=True).get(id=environment_id)
    held = {
        resource.resource_id: resource
        for resource in Resource.objects.filter(
            environment_id=environment_id, resource_id__in=manifest.resources
        ).select_related("store")
    }
    _require_kinds(manifest, held)
    changed = _list_changed_endpoints(manifest, held)
    _require_acknowledged(changed, acknowledged_endpoints)
    for declared in manifest.resources.values():
        resource = held.get(declared.id)
        if resource is None:
            _add_resource(declared, manifest, environment_id, actor)
        else:
            _update_resource(resource, declared, manifest)
    return changed


def _require_kinds(manifest: Manifest, held: dict[str, Resource]) -> None:
    for declared in manifest.resources.values():
        resource = held.get(declared.id)
        if resource is not None and resource.kind != declared.provider.kind:
            raise Conflict(
                f"The resource {declared.id} is of the kind {resource.kind} in this environment, for ever: declare the"
                " other kind under a new id.",
                error_code="provider_kind_changed",
                resource=declared.id,
            )


def provider_facts(declared: DeclaredResource, manifest: Manifest) -> dict[str, Any]:
    """What the hub keeps of a declaration: the provider, and of an HTTP one the origin that its connection names."""
    facts = declared.provider.to_manifest()
    if isinstance(declared.provider, HttpProvider):
        facts["origin"] = manifest.connections[declared.provider.connection].origin
    return facts


def _endpoint(provider: dict[str, Any]) -> str:
    return f"{provider['origin']}{provider['path']}"


def _list_changed_endpoints(manifest: Manifest, held: dict[str, Resource]) -> list[ChangedEndpoint]:
    changed = []
    for declared in manifest.resources.values():
        resource = held.get(declared.id)
        if resource is None or not isinstance(declared.provider, HttpProvider):
            continue
        old, new = _endpoint(resource.provider), _endpoint(provider_facts(declared, manifest))
        if old != new:
            changed.append(ChangedEndpoint(declared.id, old, new, _count_sessions_on(resource, old)))
    return changed


def _count_sessions_on(resource: Resource, endpoint: str) -> int:
    """Live sessions bound to the resource whose pinned deployment calls the endpoint."""
    bound = Binding.objects.filter(resource=resource, revoked_at=None, session__ended_at=None)
    pinned = Counter(bound.values_list("session__pinned__deployment_id", flat=True))
    deployments = Deployment.objects.filter(id__in=pinned)
    return sum(
        pinned[deployment.id]
        for deployment in deployments
        if _endpoint_in(manifest_of(deployment), resource.resource_id) == endpoint
    )


def _endpoint_in(manifest: Manifest, resource_id: str) -> str | None:
    declared = manifest.resources.get(resource_id)
    if declared is None or not isinstance(declared.provider, HttpProvider):
        return None
    return _endpoint(provider_facts(declared, manifest))


def _require_acknowledged(changed: list[ChangedEndpoint], acknowledged_endpoints: list[str]) -> None:
    missing = [one for one in changed if one.resource_id not in acknowledged_endpoints]
    if missing:
        names = ", ".join(one.resource_id for one in missing)
        raise Conflict(
            f"This promotion moves {names} to another endpoint, and no data moves with it: name the resource in"
            " acknowledge_endpoint_change to go on.",
            error_code="endpoint_change_unacknowledged",
            changes=[endpoint_change_facts(one) for one in missing],
        )


def endpoint_change_facts(changed: ChangedEndpoint) -> dict[str, Any]:
    return {
        "resource": changed.resource_id,
        "old": changed.old,
        "new": changed.new,
        "sessions_on_old": changed.sessions_on_old,
    }


def _add_resource(declared: DeclaredResource, manifest: Manifest, environment_id: UUID, actor: Actor) -> None:
    store = None
    if isinstance(declared.provider, DocumentProvider):
        store = _add_document_store(declared, declared.provider.bytes_max, environment_id, actor)
    Resource.objects.create(
        project_id=actor.project_id,
        environment_id=environment_id,
        resource_id=declared.id,
        kind=declared.provider.kind,
        description=declared.description,
        provider=provider_facts(declared, manifest),
        store=store,
    )


def _add_document_store(
    declared: DeclaredResource, bytes_max: int, environment_id: UUID, actor: Actor
) -> MemoryStore:
    store = add_store(
        environment_id,
        name=declared.id,
        description=f"Documents of the resource {declared.id}.",
        metadata={},
        actor=actor,
    )
    store.resource_id, store.content_bytes_max = declared.id, bytes_max
    store.save(update_fields=["resource_id", "content_bytes_max"])
    return store


def _update_resource(resource: Resource, declared: DeclaredResource, manifest: Manifest) -> None:
    facts = provider_facts(declared, manifest)
    if (resource.provider, resource.description) == (facts, declared.description):
        return
    resource.provider, resource.description, resource.updated_at = (
        facts,
        declared.description,
        ClockTimestamp(),
    )
    resource.save(update_fields=["provider", "description", "updated_at"])
    if resource.store is not None:
        assert isinstance(declared.provider, DocumentProvider)
        resource.store.content_bytes_max = declared.provider.bytes_max
        resource.store.save(update_fields=["content_bytes_max"])


def set_active(
    deployment: Deployment, environment_id: UUID, changed: list[ChangedEndpoint], actor: Actor
) -> Promotion:
    """A step: the environment is locked, so that one promotion of an agent is in force at any time."""
    Environment.objects.select_for_update(no_key=True).get(id=environment_id)
    in_force = Promotion.objects.filter(
        environment_id=environment_id, agent_id=deployment.agent_id, is_active=True
    )
    promotion = find_row(in_force)
    if promotion is not None and promotion.deployment_id == deployment.id and not changed:
        return promotion
    in_force.update(is_active=False)
    promotion = Promotion.objects.create(
        project_id=actor.project_id,
        environment_id=environment_id,
        deployment=deployment,
        agent_id=deployment.agent_id,
        is_active=True,
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )
    audit.record(
        AuditAction.DEPLOYMENT_PROMOTED,
        deployment.wire_id,
        environment_id=environment_id,
        details={
            "agent_id": deployment.agent_id,
            "changed_endpoints": [endpoint_change_facts(one) for one in changed],
        },
        actor=actor,
    )
    return promotion

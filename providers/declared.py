"""The inventory of an environment: every resource it ever had, whether a deployment still declares it, what it holds; and
the declaration of one resource by itself.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.db.transaction import atomic

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.models import Environment
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from providers.declarations import parse_manifest
from providers.deployments import (
    DEFAULT_AGENT,
    add_deployment,
    find_active,
    list_active,
    set_active,
    write_resources,
)
from providers.documents import visible_resources
from providers.models import Deployment, Resource
from stores.models import Memory


@dataclass(frozen=True, slots=True)
class DeclaredResource:
    """`is_declared`: by an active deployment of the environment. `documents_count`: None of another kind."""

    resource: Resource
    is_declared: bool
    documents_count: int | None


def list_resources(environment: str, page: ListRequest, *, actor: Actor) -> Page[DeclaredResource]:
    """By id, retired ones too. Raises: NotFound, InvalidRequest for a foreign cursor."""
    environment_id = tenancy.get_environment(environment, actor=actor).id
    resources = visible_resources(actor).filter(environment_id=environment_id)
    position = page.position()
    if position is not None:
        resources = resources.filter(resource_id__gt=position[0])
    rows = list(resources.order_by("resource_id")[: page.limit + 1])
    cut = cut_page(rows, page, lambda resource: [resource.resource_id])
    return Page(_describe(cut.rows), cut.next_page)


def describe_resource(resource: Resource) -> DeclaredResource:
    return _describe([resource])[0]


def _describe(resources: list[Resource]) -> list[DeclaredResource]:
    """All of one environment."""
    if not resources:
        return []
    active = list_active(resources[0].environment_id)
    declared = {one["id"] for promotion in active for one in promotion.deployment.manifest["memory"]}
    held = Memory.objects.filter(store_id__in=[one.store_id for one in resources if one.store_id])
    counts = dict(held.values_list("store_id").annotate(count=Count("id")))
    return [
        DeclaredResource(
            one, one.resource_id in declared, None if one.store_id is None else counts.get(one.store_id, 0)
        )
        for one in resources
    ]


@atomic(durable=True)
def declare_resource(
    *,
    environment: str | None,
    resource: Any,
    connection: Any | None,
    acknowledge_endpoint_change: bool,
    expected_sha256: str | None = None,
    actor: Actor,
) -> DeclaredResource:
    """Declare one resource without a manifest: the default agent gets a deployment that has it too, promoted at once.

    Raises: NotFound, InvalidRequest, Conflict, also when the resource's declaration is not the one with `expected_sha256`.
    """
    environment_id = tenancy.choose_environment(environment, actor=actor)
    Environment.objects.select_for_update(no_key=True).get(id=environment_id)
    manifest = parse_manifest(
        _extended(find_active(environment_id, DEFAULT_AGENT), resource, connection),
        listed_origins=settings.EGRESS_PRIVATE_ORIGINS,
    )
    id_ = resource["id"].strip()
    if expected_sha256 is not None:
        _require_unchanged(environment_id, id_, expected_sha256)
    acknowledged = [id_] if acknowledge_endpoint_change else []
    changed = write_resources(manifest, environment_id, acknowledged, actor)
    active = find_active(environment_id, DEFAULT_AGENT)
    if active is None or active.manifest_sha256 != manifest.sha256():
        active = add_deployment(DEFAULT_AGENT, manifest, actor)
    set_active(active, environment_id, changed, actor)
    made = Resource.objects.select_related("store").get(environment_id=environment_id, resource_id=id_)
    return describe_resource(made)


def _require_unchanged(environment_id: UUID, resource_id: str, expected_sha256: str) -> None:
    held = find_row(Resource.objects.filter(environment_id=environment_id, resource_id=resource_id))
    if held is None or declaration_sha256(held) != expected_sha256:
        raise Conflict(
            "Somebody else changed the declaration since it was read.", error_code="resource_changed"
        )


def _extended(active: Deployment | None, resource: Any, connection: Any | None) -> dict[str, Any]:
    """The active manifest with the resource, and the connection, put in the place of those of the same id."""
    base = {"connections": [], "memory": [], "ordinaryTools": []} if active is None else active.manifest
    if not isinstance(resource, dict):
        raise InvalidRequest("resource: It must be an object.")
    added = [] if connection is None else [connection]
    return {
        "connections": [*_others(base["connections"], connection), *added],
        "memory": [*_others(base["memory"], resource), resource],
        "ordinaryTools": base["ordinaryTools"],
    }


def _others(declared: list[dict[str, Any]], replacing: Any) -> list[dict[str, Any]]:
    id_ = replacing.get("id") if isinstance(replacing, dict) else None
    name = id_.strip() if isinstance(id_, str) else None
    return [one for one in declared if one["id"] != name]


def list_declaring(resource: Resource) -> list[Deployment]:
    """The active deployments that declare a resource, by agent."""
    active = list_active(resource.environment_id)
    return [
        one.deployment
        for one in active
        if any(declared["id"] == resource.resource_id for declared in one.deployment.manifest["memory"])
    ]


def declaration_of(resource: Resource) -> dict[str, Any]:
    """`{"resource", "connection"?}` as `POST /v1/memory_resources` takes it: as it is in force, or was last."""
    provider = {name: value for name, value in resource.provider.items() if name != "origin"}
    shown: dict[str, Any] = {
        "resource": {
            "id": resource.resource_id,
            "description": resource.description,
            "provider": provider,
        }
    }
    connection = _connection_of(resource)
    return shown if connection is None else shown | {"connection": connection}


def _connection_of(resource: Resource) -> dict[str, Any] | None:
    """Of the default agent's deployment first, which a declaration of one resource changes."""
    if resource.kind != "http":
        return None
    named = resource.provider["connection"]
    declaring = sorted(list_declaring(resource), key=lambda one: one.agent_id != DEFAULT_AGENT)
    for deployment in declaring:
        for connection in deployment.manifest["connections"]:
            if connection["id"] == named:
                return dict(connection)
    return {"id": named, "origin": resource.provider["origin"], "methods": ["POST"]}


def declaration_sha256(resource: Resource) -> str:
    """Of what is declared, so that a change is made for what was shown."""
    return sha256_hex(canonical_json(declaration_of(resource)))

"""The inventory of an environment: every resource it ever had, whether a deployment still declares it, what it holds."""

from dataclasses import dataclass

from django.db.models import Count

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.pagination import ListRequest, Page, cut_page
from providers.deployments import list_active
from providers.documents import visible_resources
from providers.models import Resource
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


def count_documents(resource: Resource) -> int | None:
    return describe_resource(resource).documents_count

"""What a model would be given, without a session: nothing is written, and no other service is asked.

Every part is made by what a session's model request uses, on rows that are not saved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memoryhub.actors import Actor
from memoryhub.digests import canonical_json
from memoryhub.models import Session
from memoryhub.pagination import ListRequest
from providers import deployments, documents, sessions
from providers.bindings import WantedBinding, check_bindings, draft_binding
from providers.model_requests import declared_bindings, draft_projection
from providers.models import Deployment, ModelRequest, Projection, Resource
from providers.offers import OfferedTool, offer_tools
from providers.recall import recall_all
from providers.sessions import NO_DEPLOYMENT, WantedSession
from stores.attachments import draft_attachments, system_context

RESOURCES_SHOWN_MAX = 16
DOCUMENTS_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Trial:
    """`asked`: the bound resources of other services, whose text comes with the request and is not asked for here."""

    system_context: str
    projections: list[Projection]
    tools: list[OfferedTool]
    asked: list[Resource]

    def size_bytes(self) -> int:
        texts = [self.system_context, *(one.text for one in self.projections)]
        return sum(len(text.encode()) for text in texts) + sum(tool_size_bytes(tool) for tool in self.tools)


def tool_facts(tool: OfferedTool) -> dict[str, Any]:
    """As an application hands it to a model."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def tool_size_bytes(tool: OfferedTool) -> int:
    return len(canonical_json(tool_facts(tool)))


def try_memory(wanted: WantedSession, *, actor: Actor) -> Trial:
    """Raises: NotFound, InvalidRequest, Conflict as the start of a session; RecallFailed as its first request."""
    environment_id, agent_id = sessions.choose_place(wanted, actor)
    deployment = sessions.choose_deployment(wanted, environment_id, agent_id, actor)
    manifest = NO_DEPLOYMENT if deployment is None else deployments.manifest_of(deployment)
    session = Session(project_id=actor.project_id, environment_id=environment_id)
    attachments = draft_attachments(session, wanted.stores, actor=actor)
    resources = check_bindings(environment_id, wanted.bindings, manifest)
    bindings = [draft_binding(session, one, resources[one.resource_id]) for one in wanted.bindings]
    request = ModelRequest(project_id=actor.project_id, session=session)
    recalled = recall_all(session, [one for one in bindings if one.scope != "namespace"], {})
    offered = offer_tools(declared_bindings(manifest, bindings), resources)
    return Trial(
        system_context(attachments) or "",
        [draft_projection(request, one) for one in recalled],
        list(offered.values()),
        _asked(wanted.bindings, resources),
    )


def _asked(bindings: Sequence[WantedBinding], resources: dict[str, Resource]) -> list[Resource]:
    return [resources[one.resource_id] for one in bindings if one.scope == "namespace"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A declared resource that may be bound. `documents`: [(id, title)], the newest first, some at most."""

    resource_id: str
    description: str
    kind: str
    documents: list[tuple[str, str]]


def list_choices(
    deployment: Deployment, environment_id: UUID, *, first_resource_id: str, first_document_id: str
) -> list[Choice]:
    """What a deployment declares, RESOURCES_SHOWN_MAX at most: the first resource and its first document lead."""
    declared = [one["id"] for one in deployment.manifest["memory"]]
    held = Resource.objects.filter(environment_id=environment_id, resource_id__in=declared)
    rows = sorted(
        held.select_related("store"), key=lambda one: (one.resource_id != first_resource_id, one.resource_id)
    )
    return [
        _choice(one, first_document_id if one.resource_id == first_resource_id else "")
        for one in rows[:RESOURCES_SHOWN_MAX]
    ]


def _choice(resource: Resource, first_document_id: str) -> Choice:
    found: dict[str, str] = {}
    if resource.store is not None:
        newest = documents.cut_documents(
            resource.store, ListRequest("choices", {}, DOCUMENTS_SHOWN_MAX, None)
        )
        first = documents.find_documents([(resource.store, first_document_id)]) if first_document_id else {}
        found = {one.id: one.card.title for one in first.values()}
        for memory in newest.rows:
            found.setdefault(documents.document_id_of(memory), documents.card_of(memory).title)
    return Choice(resource.resource_id, resource.description, resource.kind, list(found.items()))

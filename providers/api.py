"""The REST door of declared memory: deployments, resources, namespaces."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from providers import declared, deployments, documents, namespaces
from providers.resource_serializers import (
    CreateDeploymentBody,
    DeclareResourceBody,
    DeploymentShape,
    ListDeploymentsQuery,
    NamespaceShape,
    PromoteBody,
    PromotionShape,
    ResourceShape,
    deployment_wire,
    namespace_wire,
    promotion_wire,
    resource_wire,
)
from providers.serializers import EnvironmentPageQuery, EnvironmentQuery, list_request
from providers.views import ProjectMemoryView

type Values = dict[str, Any]


class Deployments(HubView):
    @operation(
        "deployments.create",
        "Create a deployment",
        body=CreateDeploymentBody,
        answer=DeploymentShape,
        status=201,
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        return deployment_wire(deployments.create_deployment(**body, actor=actor))

    @operation(
        "deployments.list",
        "List deployments",
        query=ListDeploymentsQuery,
        answer=DeploymentShape,
        lists=True,
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        agent_id = query.get("agent_id")
        reach = {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
        wanted = list_request("deployments", query, {"agent_id": agent_id} | reach)
        return deployments.list_deployments(wanted, agent_id=agent_id, actor=actor).as_wire(deployment_wire)


class DeploymentView(HubView):
    def require_visible(self, actor: Actor) -> None:
        deployments.get_deployment(self.kwargs["deployment_id"], actor=actor)


class Deployment(DeploymentView):
    @operation("deployments.get", "Get a deployment", answer=DeploymentShape)
    def get(self, deployment_id: str, *, actor: Actor) -> Values:
        return deployment_wire(deployments.get_deployment(deployment_id, actor=actor))


class DeploymentPromotion(DeploymentView):
    @operation(
        "deployments.promote",
        "Make a deployment the one that an environment runs",
        body=PromoteBody,
        answer=PromotionShape,
    )
    def post(self, deployment_id: str, *, body: Values, actor: Actor) -> Values:
        promoted = deployments.promote_deployment(
            deployment_id,
            environment=body.get("environment"),
            acknowledged_endpoints=body.get("acknowledge_endpoint_change", []),
            actor=actor,
        )
        return promotion_wire(promoted)


class DeclaredResources(HubView):
    @operation(
        "memory_resources.declare",
        "Declare one resource, without a manifest",
        body=DeclareResourceBody,
        answer=ResourceShape,
        status=201,
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        one = declared.declare_resource(
            environment=body.get("environment"),
            resource=body["resource"],
            connection=body.get("connection"),
            acknowledge_endpoint_change=body.get("acknowledge_endpoint_change", False),
            actor=actor,
        )
        return resource_wire(one.resource, is_declared=one.is_declared, documents=one.documents_count)


class Resources(ProjectMemoryView):
    @operation(
        "memory_resources.list",
        "List an environment's memory resources",
        query=EnvironmentPageQuery,
        answer=ResourceShape,
        lists=True,
    )
    def get(self, project_id: str, *, query: Values, actor: Actor) -> Values:
        environment = query["environment"]
        wanted = list_request("memory_resources", query, {"project": project_id, "environment": environment})
        page = declared.list_resources(environment, wanted, actor=actor)
        return page.as_wire(
            lambda one: resource_wire(
                one.resource, is_declared=one.is_declared, documents=one.documents_count
            )
        )


class Resource(ProjectMemoryView):
    @operation("memory_resources.get", "Get a memory resource", query=EnvironmentQuery, answer=ResourceShape)
    def get(self, project_id: str, resource_id: str, *, query: Values, actor: Actor) -> Values:
        one = declared.describe_resource(
            documents.get_resource(query["environment"], resource_id, actor=actor)
        )
        return resource_wire(one.resource, is_declared=one.is_declared, documents=one.documents_count)


class Namespaces(ProjectMemoryView):
    @operation(
        "namespaces.list",
        "List the namespaces of a resource",
        query=EnvironmentPageQuery,
        answer=NamespaceShape,
        lists=True,
    )
    def get(self, project_id: str, resource_id: str, *, query: Values, actor: Actor) -> Values:
        resource = documents.get_resource(query["environment"], resource_id, actor=actor)
        wanted = list_request("namespaces", query, {"resource": resource.id.hex})
        page = namespaces.list_namespaces(resource, wanted)
        return page.as_wire(lambda one: namespace_wire(one, resource))

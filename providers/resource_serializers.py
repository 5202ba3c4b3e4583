"""The shapes of deployments, resources and namespaces: what a request may hold, and each answer as one dict."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import to_wire
from memoryhub.fields import Flag, JsonObject, Pattern, StrictSerializer, Text
from memoryhub.shapes import PageQuery
from providers.deployments import Promoted, endpoint_change_facts
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.models import Deployment, Namespace, Resource
from providers.serializers import (
    environment_name,
)


class CreateDeploymentBody(StrictSerializer):
    agent_id = Pattern(r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z", length_max=RESOURCE_ID_LENGTH_MAX)
    manifest = JsonObject()


class ListDeploymentsQuery(PageQuery):
    agent_id = Text(required=False, length_max=RESOURCE_ID_LENGTH_MAX)


class PromoteBody(StrictSerializer):
    may_be_absent = True
    environment = environment_name(required=False)
    acknowledge_endpoint_change = serializers.ListField(
        child=Text(length_max=RESOURCE_ID_LENGTH_MAX), max_length=256, required=False
    )


class DeploymentShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["deployment"])
    agent_id = serializers.CharField()
    manifest = serializers.DictField()
    manifest_sha256 = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())


def deployment_wire(deployment: Deployment) -> dict[str, Any]:
    return {
        "id": deployment.wire_id,
        "type": "deployment",
        "agent_id": deployment.agent_id,
        "manifest": deployment.manifest,
        "manifest_sha256": deployment.manifest_sha256,
        "warnings": deployment.warnings,
        "created_at": to_wire(deployment.created_at),
        "created_by": actor_wire(deployment.created_by_type, deployment.created_by_id),
    }


class PromotionShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["promotion"])
    deployment_id = serializers.CharField()
    agent_id = serializers.CharField()
    environment_id = serializers.CharField()
    changed_endpoints = serializers.ListField(child=serializers.DictField())
    created_at = serializers.DateTimeField()


def promotion_wire(promoted: Promoted) -> dict[str, Any]:
    return {
        "type": "promotion",
        "deployment_id": promoted.deployment.wire_id,
        "agent_id": promoted.deployment.agent_id,
        "environment_id": ids.to_wire(ids.ENVIRONMENT, promoted.environment_id),
        "changed_endpoints": [endpoint_change_facts(one) for one in promoted.changed_endpoints],
        "created_at": to_wire(promoted.promotion.created_at),
    }


class DeclareResourceBody(StrictSerializer):
    environment = environment_name(required=False)
    resource = JsonObject()
    connection = JsonObject(required=False)
    acknowledge_endpoint_change = Flag(required=False)


class ResourceShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_resource"])
    environment_id = serializers.CharField()
    kind = serializers.ChoiceField(choices=["document", "http", "records"])
    description = serializers.CharField()
    provider = serializers.DictField()
    declared = serializers.BooleanField()
    documents = serializers.IntegerField(allow_null=True)
    memory_store_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


def resource_wire(resource: Resource, *, is_declared: bool, documents: int | None) -> dict[str, Any]:
    """`documents`: how many are not deleted; None of a resource of another kind."""
    store_id = resource.store_id
    return {
        "id": resource.resource_id,
        "type": "memory_resource",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, resource.environment_id),
        "kind": resource.kind,
        "description": resource.description,
        "provider": _provider_wire(resource.provider),
        "declared": is_declared,
        "documents": documents,
        "memory_store_id": None if store_id is None else ids.to_wire(ids.MEMORY_STORE, store_id),
        "created_at": to_wire(resource.created_at),
        "updated_at": to_wire(resource.updated_at),
    }


def _provider_wire(provider: dict[str, Any]) -> dict[str, Any]:
    """Without the schemas and descriptions of its tools; headers are never kept here."""
    shown = {key: value for key, value in provider.items() if key != "tools"}
    if "tools" in provider:
        shown["tools"] = [
            {key: tool[key] for key in ("name", "access", "idempotent")} for tool in provider["tools"]
        ]
    return shown


class NamespaceShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["namespace"])
    resource = serializers.CharField()
    partition = serializers.CharField()
    created_at = serializers.DateTimeField()


def namespace_wire(namespace: Namespace, resource: Resource) -> dict[str, Any]:
    return {
        "id": namespace.namespace_id,
        "type": "namespace",
        "resource": resource.resource_id,
        "partition": namespace.partition,
        "created_at": to_wire(namespace.created_at),
    }

"""The shapes of endpoints, their credentials, and the partitions and records that hosts keep in them."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Integer, StrictSerializer, Text
from memoryhub.shapes import PageQuery
from providers.endpoint_declarations import declaration_of, find_provider_name
from providers.endpoint_models import OWN, PROVIDER, Endpoint, EndpointCredential, ExternalItem
from providers.external_partitions import PartitionDetails
from providers.limits import FACT_LENGTH_MAX, RESOURCE_BYTES_MAX
from providers.serializers import environment_name

NAME_LENGTH_MAX = 64
RETENTION_DAYS_MAX = 3_650
BACKINGS = [OWN, PROVIDER]


class CreateEndpointBody(StrictSerializer):
    """`backing`: `own` when left out."""

    environment = environment_name(required=False)
    name = Text(length_min=1, length_max=NAME_LENGTH_MAX, plain=True)
    backing = Choice(choices=BACKINGS, required=False)
    bytes_max = Integer(required=False, min_value=1, max_value=RESOURCE_BYTES_MAX)
    retention_days = Integer(required=False, allow_null=True, min_value=1, max_value=RETENTION_DAYS_MAX)


class UpdateEndpointBody(StrictSerializer):
    name = Text(length_min=1, length_max=NAME_LENGTH_MAX, plain=True, required=False)
    bytes_max = Integer(required=False, min_value=1, max_value=RESOURCE_BYTES_MAX)
    retention_days = Integer(required=False, allow_null=True, min_value=1, max_value=RETENTION_DAYS_MAX)


class ListEndpointsQuery(PageQuery):
    environment = environment_name(required=False)


class ExpectedNameQuery(StrictSerializer):
    expected_name = Text(length_min=1, length_max=NAME_LENGTH_MAX)


class EndpointShape(serializers.Serializer[Any]):
    """`declaration`: ready for the calling side, which puts a credential into the secret that it names.

    `provider`: the memory provider that keeps the records now; null where they are the endpoint's own.
    """

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["endpoint"])
    environment_id = serializers.CharField()
    name = serializers.CharField()
    backing = serializers.ChoiceField(choices=BACKINGS)
    provider = serializers.CharField(allow_null=True)
    bytes_max = serializers.IntegerField()
    retention_days = serializers.IntegerField(allow_null=True)
    declaration = serializers.DictField()
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())


def endpoint_wire(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.wire_id,
        "type": "endpoint",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, endpoint.environment_id),
        "name": endpoint.name,
        "backing": endpoint.backing,
        "provider": find_provider_name(endpoint),
        "bytes_max": endpoint.bytes_max,
        "retention_days": endpoint.retention_days,
        "declaration": declaration_of(endpoint),
        "created_at": to_wire(endpoint.created_at),
        "created_by": actor_wire(endpoint.created_by_type, endpoint.created_by_id),
    }


class CreateCredentialBody(StrictSerializer):
    name = Text(length_min=1, length_max=NAME_LENGTH_MAX, plain=True)
    scope = Choice(choices=["memory", "ingest"], required=False)


class CredentialShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["endpoint_credential"])
    name = serializers.CharField()
    scope = serializers.ChoiceField(choices=["memory", "ingest"])
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class IssuedCredentialShape(CredentialShape):
    """`token` is shown this once."""

    token = serializers.CharField()


def credential_wire(credential: EndpointCredential) -> dict[str, Any]:
    return {
        "id": credential.wire_id,
        "type": "endpoint_credential",
        "name": credential.name,
        "scope": credential.scope,
        "created_at": to_wire(credential.created_at),
        "last_used_at": optional_to_wire(credential.last_used_at),
        "revoked_at": optional_to_wire(credential.revoked_at),
    }


class PartitionShape(serializers.Serializer[Any]):
    """`scope_id`: of the records that a memory provider keeps, once there are some; `characters` are not counted then.

    `erasing_at`: since when it is being deleted.
    """

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["external_partition"])
    partition = serializers.CharField()
    revision = serializers.IntegerField()
    records = serializers.IntegerField()
    characters = serializers.IntegerField(allow_null=True)
    scope_id = serializers.CharField(allow_null=True)
    frozen_at = serializers.DateTimeField(allow_null=True)
    erasing_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


def partition_wire(details: PartitionDetails) -> dict[str, Any]:
    partition = details.partition
    return {
        "id": partition.wire_id,
        "type": "external_partition",
        "partition": partition.partition,
        "revision": partition.revision,
        "records": details.records,
        "characters": details.characters,
        "scope_id": None if details.scope is None else details.scope.scope.wire_id,
        "frozen_at": optional_to_wire(partition.frozen_at),
        "erasing_at": optional_to_wire(partition.erasing_at),
        "created_at": to_wire(partition.created_at),
        "changed_at": to_wire(partition.changed_at),
    }


class UpdateRecordBody(StrictSerializer):
    """`expected_revision`: the one that was read."""

    text = Text(length_min=1, length_max=FACT_LENGTH_MAX)
    expected_revision = Integer(min_value=0)


class ItemShape(serializers.Serializer[Any]):
    """An item of a conversation, which no recall shows."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["external_item"])
    role = serializers.ChoiceField(choices=["user", "assistant", "system", "tool"])
    text = serializers.CharField()
    created_at = serializers.DateTimeField()


def item_wire(item: ExternalItem) -> dict[str, Any]:
    return {
        "id": item.wire_id,
        "type": "external_item",
        "role": item.role,
        "text": item.text,
        "created_at": to_wire(item.created_at),
    }


class RecordShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["external_record"])
    text = serializers.CharField()
    revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()

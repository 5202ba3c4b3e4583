"""The shapes of secrets: what a request may hold, and the answer, which never has a value."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from memoryhub import ids, secrets
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Pattern, StrictSerializer, Text
from memoryhub.models import Secret as SecretRow
from memoryhub.origins import parse_origin
from memoryhub.shapes import PageQuery
from providers.limits import RESOURCE_ID_LENGTH_MAX
from providers.serializers import ENVIRONMENT_LENGTH_MAX


class Origin(Text):
    """`https://host` or `https://host:port`, in lower case."""

    def to_internal_value(self, data: Any) -> str:
        origin, problem = parse_origin(
            super().to_internal_value(data), listed=settings.EGRESS_PRIVATE_ORIGINS
        )
        if problem is not None:
            raise serializers.ValidationError(problem)
        return origin


class SecretValue(Text):
    """What stands in a header: bytes that HTTP can carry."""

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if not value.isascii() or any(ord(one) < 0x20 or ord(one) == 0x7F for one in value):
            raise serializers.ValidationError("This must be printable ASCII.")
        return value


class PutSecretBody(StrictSerializer):
    environment = Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, required=False)
    name = Pattern(r"^[A-Z][A-Z0-9_]{0,127}\Z")
    agent_id = Text(length_min=1, length_max=RESOURCE_ID_LENGTH_MAX, required=False)
    value = SecretValue(length_min=1, length_max=secrets.VALUE_BYTES_MAX)
    allowed_origins = serializers.ListField(
        child=Origin(length_max=300), min_length=1, max_length=secrets.ORIGINS_MAX
    )


class ListSecretsQuery(PageQuery):
    environment = Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, required=False)


class SecretShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["secret"])
    environment_id = serializers.CharField()
    name = serializers.CharField()
    agent_id = serializers.CharField(allow_null=True)
    allowed_origins = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


def secret_wire(secret: SecretRow) -> dict[str, Any]:
    return {
        "id": secret.wire_id,
        "type": "secret",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, secret.environment_id),
        "name": secret.name,
        "agent_id": secret.agent_id or None,
        "allowed_origins": secret.allowed_origins,
        "created_at": to_wire(secret.created_at),
        "changed_at": to_wire(secret.changed_at),
        "last_used_at": optional_to_wire(secret.last_used_at),
    }

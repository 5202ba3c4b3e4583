"""Shapes that every room's API shares."""

from typing import Any

from rest_framework import serializers

from memoryhub.fields import Integer, StrictSerializer, Text
from memoryhub.pagination import LIST_LIMIT_MAX


class PageQuery(StrictSerializer):
    """What every list takes."""

    limit = Integer(required=False, min_value=1, max_value=LIST_LIMIT_MAX)
    page = Text(required=False)


class DeletedShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.CharField()


def deleted_wire(wire_id: str, kind: str) -> dict[str, str]:
    return {"id": wire_id, "type": kind}

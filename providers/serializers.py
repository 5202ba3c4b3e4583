"""The shapes that every door of this room shares."""

from typing import Any

from memoryhub.fields import StrictSerializer, Text
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.shapes import PageQuery

ENVIRONMENT_LENGTH_MAX = 64


def environment_name(**options: Any) -> Text:
    return Text(length_min=1, length_max=ENVIRONMENT_LENGTH_MAX, **options)


def list_request(kind: str, query: dict[str, Any], filters: dict[str, Any]) -> ListRequest:
    return ListRequest(kind, filters, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page"))


class EnvironmentQuery(StrictSerializer):
    environment = environment_name()


class EnvironmentPageQuery(PageQuery):
    environment = environment_name()

"""The OpenAPI document: made from the doors' own marks and shapes, so that it cannot say anything else."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from memoryhub.fields import StrictSerializer
from memoryhub.openapi_links import add_links
from memoryhub.operations import Operation

ERROR_STATUSES = {
    400: "invalid_request_error: a value, a limit or the state of the thing forbids it.",
    401: "authentication_error: no key, or one that is unknown, revoked or expired.",
    403: "permission_error: the credential may not do this.",
    404: "not_found_error: it does not exist, or the credential may not know of it.",
    405: "invalid_request_error: the method is not allowed here.",
    409: "A conflict: somebody else's change came first. Its error.type says which.",
    410: "gone_error: its text was erased.",
    412: "A precondition of a header does not hold.",
    413: "request_too_large: the body or the content is over its limit.",
    422: "unprocessable_error: well formed, and what it asks for cannot be kept or proven.",
    428: "precondition_required_error: the change must say which state it was made for.",
    429: "rate_limit_error: too many requests; Retry-After says when to come back.",
    500: "api_error: a bug; the request id finds it in the log.",
    502: "recall_failed_error: a memory could not be recalled, so nothing may be inferred.",
    503: "api_error: the database did not answer; the outcome may be unknown.",
    504: "timeout_error: a memory provider did not answer in its time.",
}


NO_CONTENT = 204


class ErrorDetailShape(serializers.Serializer[Any]):
    type = serializers.CharField()
    message = serializers.CharField(required=False)
    conflicting_memory_id = serializers.CharField(required=False)
    conflicting_path = serializers.CharField(required=False)
    details = serializers.DictField(required=False)


class ErrorShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["error"])
    error = ErrorDetailShape()
    request_id = serializers.CharField(allow_null=True)


class OperationSchema(AutoSchema):
    """Reads the `Door` that `memoryhub.api.operation` left on the view's method."""

    @property
    def door(self) -> Any:
        return getattr(self.view, self.method.lower()).door

    def get_operation_id(self) -> str:
        """The operation's name; where one URL has it by two methods, the later one carries its method."""
        name = str(self.door.operation.name)
        first = next(method for method in self.view.http_method_names if self._operation_name(method) == name)
        return name if first == self.method.lower() else f"{name}.{self.method.lower()}"

    def _operation_name(self, method: str) -> str | None:
        door = getattr(getattr(self.view, method, None), "door", None)
        return door.operation.name if door else None

    def _get_serializer_name(self, serializer: Any, direction: str, bypass_extensions: bool = False) -> str:
        return str(super()._get_serializer_name(serializer, direction, bypass_extensions)).replace(
            "Shape", ""
        )

    def get_summary(self) -> str:
        return str(self.door.summary)

    def get_description(self) -> str:  # type: ignore[override]
        operation: Operation = self.door.operation
        reach = " A credential of the whole project." if operation.whole_project else ""
        return f"Scopes: {', '.join(sorted(operation.scopes))}.{reach}"

    def get_tags(self) -> list[str]:
        return [self.door.operation.name.partition(".")[0]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"bearer": []}, {"apiKey": []}]

    def get_override_parameters(self) -> list[Any]:
        if self.door.query is None:
            return []
        return [
            OpenApiParameter(
                name=getattr(field, "query_name", None) or name,
                type=_in_query(field, self._map_serializer_field(field, "request")),
                required=field.required,
                location=OpenApiParameter.QUERY,
            )
            for name, field in self.door.query().fields.items()
        ]

    def get_request_serializer(self) -> Any:
        return self.door.body

    def _get_request_body(self, direction: str = "request") -> Any:
        if self.door.raw_body is not None:
            # JSON that is read by its own strict reader is an object all the same.
            is_json = self.door.raw_body == "application/json"
            schema = {"type": "object"} if is_json else {"type": "string", "format": "binary"}
            raw = {self.door.raw_body: {"schema": schema}}
            typed = super()._get_request_body(direction) if self.door.body is not None else {"content": {}}
            return {"content": {**typed["content"], **raw}, "required": True}
        if self.door.body is None:
            return None
        body = super()._get_request_body(direction)
        return {**body, "required": not self.door.body.may_be_absent} if body else body

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Any:
        """A request's shape says that it refuses unknown fields, and which nulls it takes for left out; an answer's, that it may be null."""
        schema = super()._map_basic_serializer(serializer, direction)
        if getattr(serializer, "may_be_null", False):
            return {"anyOf": [schema, {"type": "null"}]}
        if not isinstance(serializer, StrictSerializer):
            return schema
        schema["additionalProperties"] = False
        if not type(serializer).__dict__.get("__doc__"):
            schema.pop("description", None)  # it is that of the base class
        if serializer.null_is_absent:
            properties = schema.get("properties", {})
            required = schema.get("required", ())
            for name in properties.keys() - set(required):
                properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
        return schema

    def get_response_serializers(self) -> Any:
        errors = {
            status: OpenApiResponse(ErrorShape, description=meaning)
            for status, meaning in ERROR_STATUSES.items()
        }
        statuses = [self.door.status, *self.door.also]
        success: dict[Any, Any] = {
            (status, kind): self._success(kind)
            for status in statuses
            if status != NO_CONTENT
            for kind in self.door.answer_types
        }
        if NO_CONTENT in statuses:
            success[NO_CONTENT] = OpenApiResponse(None, description=self.door.summary)
        return {**success, **errors}

    def _success(self, media_type: str) -> Any:
        door = self.door
        if media_type != "application/json":
            return OpenApiResponse({"type": "string", "format": "binary"}, description=door.summary)
        if door.answer is None:
            return OpenApiResponse({"type": "object"}, description=door.summary)
        if door.lists:
            return OpenApiResponse(_page_of(door.answer), description=door.summary)
        return OpenApiResponse(door.answer, description=door.summary)

    def map_renderers(self, attribute: str) -> list[str]:
        return ["application/json"]


def _in_query(field: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """An empty query value counts as absent, unless the field says otherwise: so it fits every schema."""
    if getattr(field, "empty_is_a_value", False) or schema == {"type": "string"}:
        return schema
    return {"anyOf": [schema, {"const": ""}]}


@cache
def _page_of(item: Any) -> Any:
    many = item(many=True) if isinstance(item, type) else item
    name = f"{item.__name__}Page" if isinstance(item, type) else f"{item.component_name}Page"
    return inline_serializer(
        name,
        fields={
            "data": many,
            "has_more": serializers.BooleanField(),
            "next_page": serializers.CharField(allow_null=True),
        },
    )


@cache
def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    schema["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    }
    add_links(schema)
    _drop_marks(schema)
    return schema


def _drop_marks(node: Any) -> None:
    """The generator's marks for its own later steps."""
    if isinstance(node, dict):
        node.pop("x-spec-enum-id", None)
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _drop_marks(inner)


@cache
def document_yaml() -> bytes:
    return bytes(OpenApiYamlRenderer().render(document(), renderer_context={}))

"""JSON Schemas of what a tool takes and gives, made from the shapes that read and write it, so that they cannot differ.

Source: JSON Schema 2020-12, which the Model Context Protocol means.
"""

from typing import Any

from rest_framework import serializers

from memoryhub.fields import Integer, Json, Sha256, StrictSerializer, Text

type Schema = dict[str, Any]

# The first that fits is taken, so exact classes stand above wide ones.
_TYPES: dict[type[serializers.Field[Any, Any, Any, Any]], Schema] = {
    serializers.CharField: {"type": "string"},
    serializers.IntegerField: {"type": "integer"},
    serializers.FloatField: {"type": "number"},
    serializers.BooleanField: {"type": "boolean"},
    serializers.DateTimeField: {"type": "string", "format": "date-time"},
}


def object_schema(shape: type[serializers.Serializer[Any]]) -> Schema:
    """What fits the shape. Only a request's shape refuses other names: an answer may gain some later."""
    fields = shape().fields
    schema: Schema = {
        "type": "object",
        "properties": {name: _field_schema(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
    }
    if issubclass(shape, StrictSerializer):
        schema["additionalProperties"] = False
    return schema


def _field_schema(field: Any) -> Schema:
    schema = _bare_schema(field)
    if field.help_text:
        schema["description"] = str(field.help_text)
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return schema


def _bare_schema(field: Any) -> Schema:
    if isinstance(field, Json):
        return dict(field.schema)
    if isinstance(field, serializers.ListSerializer):
        item: Any = type(field.child)
        return {"type": "array", "items": object_schema(item)}
    if isinstance(field, serializers.Serializer):
        return object_schema(type(field))
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    kind = next((schema for kind, schema in _TYPES.items() if isinstance(field, kind)), None)
    assert kind is not None, f"no schema is known of {type(field).__name__}"
    return {**kind, **_bounds(field)}


def _bounds(field: Any) -> Schema:
    if isinstance(field, Sha256):
        return {"pattern": "^[0-9a-f]{64}$"}
    if isinstance(field, Text):
        return _given(minLength=field.min_length, maxLength=field.max_length)
    if isinstance(field, Integer):
        return _given(minimum=field.min_value, maximum=field.max_value)
    return {}


def _given(**bounds: int | None) -> Schema:
    return {name: bound for name, bound in bounds.items() if bound is not None}

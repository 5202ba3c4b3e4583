"""The operations of the OpenAPI document, for tests that must hold for every one of them, also for one added tomorrow."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from memoryhub.openapi import document
from memoryhub.operations import OPERATIONS, Operation

# What waits in line, and is done at once for none but who waits for it.
ANSWERED_LATER = {"authorities.advance", "authorities.adopt", "host_calls.resend", "nominations.decide"}
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class DocumentedOperation:
    """`name` is the operation id; an alias of another method carries the method after it (`memories.update.patch`)."""

    name: str
    method: str
    path: str
    description: dict[str, Any]

    @property
    def rights(self) -> Operation:
        """Its row in the table of rights."""
        return OPERATIONS[".".join(self.name.split(".")[:2])]

    @property
    def status(self) -> int:
        """What success answers; of a POST that may be repeated, what it answers the first time."""
        responses = self.description["responses"]
        if self.name in ANSWERED_LATER:
            return 202
        found = [int(status) for status in responses if status.startswith("2") and status != "202"]
        return max(found) if self.method == "POST" else min(found)

    def parameters(self, place: str) -> list[str]:
        return [item["name"] for item in self.description.get("parameters", ()) if item["in"] == place]

    @property
    def query_schemas(self) -> dict[str, dict[str, Any]]:
        found = self.description.get("parameters", ())
        return {item["name"]: resolve(item["schema"]) for item in found if item["in"] == "query"}

    @property
    def media_types(self) -> list[str]:
        """Of the request's body; empty when it takes none."""
        return list(self.description.get("requestBody", {}).get("content", ()))

    @property
    def takes_json(self) -> bool:
        return "application/json" in self.media_types

    @cached_property
    def body_schema(self) -> dict[str, Any]:
        """The JSON body's schema; empty when there is none."""
        return (
            resolve(self.description["requestBody"]["content"]["application/json"]["schema"])
            if self.takes_json
            else {}
        )

    @property
    def body_strings(self) -> Iterator[str]:
        """The dotted names of all text properties of the JSON body; `[]` stands for the items of a list."""
        return _strings(self.body_schema, "")

    def url(self, path: dict[str, str]) -> str:
        return self.path.format(**path)


def documented_operations() -> list[DocumentedOperation]:
    return [
        DocumentedOperation(operation["operationId"], method.upper(), path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


EVERY_OPERATION = pytest.mark.parametrize(
    "operation", documented_operations(), ids=lambda operation: operation.name
)


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a reference; a nullable one (`oneOf`, `anyOf`, `allOf`) as its first real alternative."""
    while "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for word in ("allOf", "oneOf", "anyOf"):
        for alternative in schema.get(word, ()):
            if alternative.get("type") != "null" and "NullEnum" not in alternative.get("$ref", ""):
                return resolve(alternative)
    return schema


def _strings(schema: dict[str, Any], name: str) -> Iterator[str]:
    schema = resolve(schema)
    types = schema.get("type")
    if types == "array":
        yield from _strings(schema["items"], f"{name}[]")
    elif "properties" in schema:
        for inner, inner_schema in schema["properties"].items():
            yield from _strings(inner_schema, f"{name}.{inner}" if name else inner)
    elif "string" in ([types] if isinstance(types, str) else types or ()) and "enum" not in schema:
        yield name

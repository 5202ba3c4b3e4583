"""The tools that a model is offered: their names, their schemas, which resource a call means. Pure.

Source: contract of document and HTTP memory, sections 7.2 and 9. A tool of several resources is offered once; its argument
`memory` picks one of them.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memoryhub.digests import canonical_json
from providers.declarations import DeclaredResource, HttpProvider
from providers.schemas import RESERVED_ARGUMENT

PREFIX = "memory_"
# How `stored` and `accepted` read, on every tool of a service that writes; contract: 2.3 and 10.4.
VISIBILITY_SENTENCE = (
    "A result with status stored means that the next recall can see the change; accepted means that the service has"
    " queued it and recall may show it later."
)

UNNAMED = object()  # a call without the argument `memory`; null is a value

type Access = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class DocumentTool:
    """`scope`: the binding that offers it."""

    name: str
    description: str
    access: Access
    scope: str
    input: dict[str, Any]


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"required": required} if required else schema


DOCUMENT_ID_PATTERN = "^[A-Za-z0-9_-]{1,128}$"
DOCUMENT_TOOLS = (
    DocumentTool(
        name="save",
        description=(
            "Replace the whole text of this memory. Give all of it, not only what changed. A summary that is left out stays"
            " as it is. The result says saved, conflict with the text that stands now, or why it was rejected."
        ),
        access="write",
        scope="document",
        input=_closed({"text": {"type": "string"}, "summary": {"type": "string"}}, ["text"]),
    ),
    DocumentTool(
        name="list",
        description="List the documents of this memory, newest first, without their texts; go on with nextCursor.",
        access="read",
        scope="collection",
        input=_closed({"cursor": {"type": "string"}}, []),
    ),
    DocumentTool(
        name="read",
        description="Read one document of this memory by its id.",
        access="read",
        scope="collection",
        input=_closed({"id": {"type": "string", "pattern": DOCUMENT_ID_PATTERN}}, ["id"]),
    ),
)


@dataclass(frozen=True, slots=True)
class BoundResource:
    """`scope`: document, collection or namespace. `is_writable`: the binding's access is read-write."""

    resource: DeclaredResource
    scope: str
    is_writable: bool


@dataclass(frozen=True, slots=True)
class Target:
    """One resource that a tool reaches. `input` is the declared schema, without `memory`."""

    resource_id: str
    resource_description: str
    description: str
    access: Access
    idempotent: bool
    input: dict[str, Any]
    is_document: bool

    def line(self) -> str:
        said = f"{self.resource_id}: {self.resource_description} — {self.description}"
        return said if self.is_document or self.access == "read" else f"{said} {VISIBILITY_SENTENCE}"

    def traits(self) -> str:
        if self.access == "read":
            return "reads"
        return "writes; repeating a call changes nothing more" if self.idempotent else "writes"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """`targets`: the eligible resources by id, in order."""

    name: str
    targets: Mapping[str, Target]

    @property
    def description(self) -> str:
        differ = len({target.traits() for target in self.targets.values()}) > 1
        return "\n".join(
            f"{target.line()} ({target.traits()})" if differ else target.line()
            for target in self.targets.values()
        )

    @property
    def input_schema(self) -> dict[str, Any]:
        declared = next(iter(self.targets.values())).input
        return inject_memory(declared, list(self.targets))


def offer_tools(bound: Iterable[BoundResource], selected: Iterable[str]) -> dict[str, OfferedTool]:
    """By the name that the model sees; only what the selected resources' bindings allow."""
    return _gather(bound, selected, by_access=True)


def known_tools(bound: Iterable[BoundResource], selected: Iterable[str]) -> dict[str, OfferedTool]:
    """The same, whatever the bindings allow: what a call may name and be told that it may not."""
    return _gather(bound, selected, by_access=False)


def _gather(
    bound: Iterable[BoundResource], selected: Iterable[str], *, by_access: bool
) -> dict[str, OfferedTool]:
    chosen = set(selected)
    eligible = [
        (f"{PREFIX}{name}", target)
        for one in sorted(bound, key=lambda one: one.resource.id)
        if one.resource.id in chosen
        for name, target in _targets(one)
        if not by_access or target.access == "read" or one.is_writable
    ]
    names = sorted({name for name, _ in eligible})
    return {
        name: OfferedTool(name, {target.resource_id: target for of, target in eligible if of == name})
        for name in names
    }


def _targets(bound: BoundResource) -> list[tuple[str, Target]]:
    resource = bound.resource
    if isinstance(resource.provider, HttpProvider):
        return [
            (
                tool.name,
                Target(
                    resource.id,
                    resource.description,
                    tool.description,
                    "write" if tool.access == "write" else "read",
                    tool.idempotent,
                    tool.input,
                    is_document=False,
                ),
            )
            for tool in resource.provider.tools
        ]
    return [
        (
            tool.name,
            Target(
                resource.id,
                resource.description,
                tool.description,
                tool.access,
                idempotent=False,
                input=tool.input,
                is_document=True,
            ),
        )
        for tool in DOCUMENT_TOOLS
        if tool.scope == bound.scope
    ]


def inject_memory(declared: Mapping[str, Any], resource_ids: list[str]) -> dict[str, Any]:
    """The schema that the model sees: the declared one with `memory`, which is required when there is a choice."""
    choice = {
        "type": "string",
        "enum": sorted(resource_ids),
        "description": "The memory that this call means.",
    }
    schema = dict(declared) | {"properties": {**declared.get("properties", {}), RESERVED_ARGUMENT: choice}}
    if len(resource_ids) > 1:
        schema["required"] = [*declared.get("required", []), RESERVED_ARGUMENT]
    if "maxProperties" in declared:
        schema["maxProperties"] = declared["maxProperties"] + 1
    if "propertyNames" in declared:
        schema["propertyNames"] = {"anyOf": [declared["propertyNames"], {"const": RESERVED_ARGUMENT}]}
    return schema


def find_collision(resources: Iterable[DeclaredResource], ordinary_tools: Iterable[str]) -> str | None:
    """Why these resources may not be bound together, as a sentence; whatever the access of their bindings.

    Source: contract, section 9.3. A document resource keeps all three of its names, whatever its scope.
    """
    schemas: dict[str, tuple[bytes, str]] = {}
    for resource in sorted(resources, key=lambda one: one.id):
        for name, schema in _declared_inputs(resource):
            canonical = canonical_json(schema)
            first, holder = schemas.setdefault(name, (canonical, resource.id))
            if first != canonical:
                return (
                    f"The tool {PREFIX}{name} of {resource.id} takes other arguments than that of {holder}."
                )
    for tool in ordinary_tools:
        if tool.removeprefix(PREFIX) in schemas and tool.startswith(PREFIX):
            holder = schemas[tool.removeprefix(PREFIX)][1]
            return f"The deployment has a tool of its own with the name {tool}, which {holder} offers."
    return None


def _declared_inputs(resource: DeclaredResource) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(resource.provider, HttpProvider):
        return [(tool.name, tool.input) for tool in resource.provider.tools]
    return [(tool.name, tool.input) for tool in DOCUMENT_TOOLS]


type Refusal = Literal["not_bound", "read_only"]


def choose_target(known: OfferedTool, eligible: Collection[str], named: Any) -> Target | Refusal:
    """The resource that a call means. `named`: its argument `memory`, or UNNAMED without one.

    A call is never redirected: what is not eligible is refused, and a call that leaves the choice open too.
    """
    if named is UNNAMED:
        open_choice = eligible or known.targets
        named = next(iter(open_choice)) if len(open_choice) == 1 else None
    target = known.targets.get(named) if isinstance(named, str) else None
    if target is None:
        return "not_bound"
    return target if target.resource_id in eligible else "read_only"

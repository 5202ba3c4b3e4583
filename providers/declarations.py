"""What a deployment declares: memory resources, the connections they use, the names of the agent's own tools. Pure.

Source: contract of document and HTTP memory, section 2. A manifest is read to its end, so that every problem is told at
once; its canonical form has defaults filled in, and two manifests are the same when their canonical bytes are.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.origins import find_path_problem
from providers.connections import Connection, HeaderValue, read_connection
from providers.findings import Findings, Place
from providers.limits import (
    CONNECTIONS_MAX,
    DESCRIPTION_LENGTH_MAX,
    ORDINARY_TOOLS_MAX,
    RESOURCE_BYTES_DEFAULT,
    RESOURCE_BYTES_MAX,
    RESOURCE_ID_LENGTH_MAX,
    RESOURCES_MAX,
    TOOLS_MAX,
)
from providers.schemas import read_schema

PATH_DEFAULT = "/memory"
WRITE_POLICIES = ("deny", "ask", "allow_principal", "allow")  # from the strictest
WRITE_POLICY_DEFAULT = "ask"
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_TOOL_NAME = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)
_ORDINARY_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}", re.ASCII)
# Words by which a description says when a write can be seen.
_TELLS_VISIBILITY = re.compile(r"stored|accepted|visible|recall|immediate|later|queue", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentProvider:
    bytes_max: int

    kind = "document"

    def to_manifest(self) -> dict[str, Any]:
        return {"kind": "document", "maxBytes": self.bytes_max}


@dataclass(frozen=True, slots=True)
class HttpTool:
    """`name` is the declared one, without `memory_`. `input` is the declared schema."""

    name: str
    description: str
    access: str
    idempotent: bool
    input: dict[str, Any]

    def to_manifest(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "access": self.access,
            "idempotent": self.idempotent,
            "input": self.input,
        }


@dataclass(frozen=True, slots=True)
class HttpProvider:
    connection: str
    path: str
    bytes_max: int
    tools: tuple[HttpTool, ...]

    kind = "http"

    def to_manifest(self) -> dict[str, Any]:
        return {
            "kind": "http",
            "connection": self.connection,
            "path": self.path,
            "maxBytes": self.bytes_max,
            "tools": [tool.to_manifest() for tool in self.tools],
        }


@dataclass(frozen=True, slots=True)
class RecordsProvider:
    """`memory_write`: what becomes of a model's writes, one of WRITE_POLICIES."""

    memory_write: str

    kind = "records"

    def to_manifest(self) -> dict[str, Any]:
        return {"kind": "records", "memoryWrite": self.memory_write}


type Provider = DocumentProvider | HttpProvider | RecordsProvider


@dataclass(frozen=True, slots=True)
class DeclaredResource:
    id: str
    description: str
    provider: Provider

    def to_manifest(self) -> dict[str, Any]:
        return {"id": self.id, "description": self.description, "provider": self.provider.to_manifest()}


@dataclass(frozen=True, slots=True)
class Manifest:
    """`warnings`: sentences for whoever deploys; nothing is refused for them."""

    connections: dict[str, Connection]
    resources: dict[str, DeclaredResource]
    ordinary_tools: tuple[str, ...]
    warnings: list[str] = field(default_factory=list, compare=False)

    def to_manifest(self) -> dict[str, Any]:
        """The canonical form: defaults written out, lists in the order of their ids."""
        return {
            "connections": [_connection_form(one) for _, one in sorted(self.connections.items())],
            "memory": [one.to_manifest() for _, one in sorted(self.resources.items())],
            "ordinaryTools": sorted(self.ordinary_tools),
        }

    def sha256(self) -> str:
        return sha256_hex(canonical_json(self.to_manifest()))


def _connection_form(connection: Connection) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": connection.id,
        "origin": connection.origin,
        "methods": list(connection.methods),
        "headers": {name: _header_form(value) for name, value in connection.headers.items()},
    }
    return form if connection.path_prefix is None else form | {"pathPrefix": connection.path_prefix}


def _header_form(value: HeaderValue) -> Any:
    if value.secret is None:
        return value.prefix
    return {"secret": value.secret, "prefix": value.prefix, "suffix": value.suffix}


def parse_manifest(value: Any, *, listed_origins: Container[str] = ()) -> Manifest:
    """`listed_origins`: those that an operator lets be other than public.

    Raises: InvalidRequest (`invalid_declaration`) with `problems`: a JSON Pointer and a sentence each.
    """
    findings = Findings(listed_origins)
    top = findings.read_object(value, Place(), keys=frozenset({"connections", "memory", "ordinaryTools"}))
    connections = _read_connections(top.get("connections", []), Place() / "connections", findings)
    resources = _read_resources(top.get("memory", []), Place() / "memory", connections, findings)
    ordinary = _read_ordinary_tools(top.get("ordinaryTools", []), Place() / "ordinaryTools", findings)
    findings.require_none()
    return Manifest(connections, resources, ordinary, _list_warnings(resources))


def _read_connections(value: Any, place: Place, findings: Findings) -> dict[str, Connection]:
    connections: dict[str, Connection] = {}
    for index, given in enumerate(findings.read_list(value, place, items_max=CONNECTIONS_MAX)):
        id_ = _read_id(given, place / index, findings)
        connection = read_connection(given, place / index, id_, findings)
        if id_ in connections:
            findings.add(place / index / "id", f"The connection {id_} is declared twice.")
        connections[id_] = connection
    return connections


def _read_id(given: Any, place: Place, findings: Findings) -> str:
    value = given.get("id") if isinstance(given, dict) else None
    if not isinstance(given, dict):
        return ""  # said where the object is read
    id_ = value.strip() if isinstance(value, str) else ""
    if not _ID.fullmatch(id_) or len(id_) > RESOURCE_ID_LENGTH_MAX:
        findings.add(place / "id", "An id is 1 to 128 of a to z, 0 to 9, and single hyphens inside.")
    return id_


def _read_resources(
    value: Any, place: Place, connections: dict[str, Connection], findings: Findings
) -> dict[str, DeclaredResource]:
    resources: dict[str, DeclaredResource] = {}
    for index, given in enumerate(findings.read_list(value, place, items_max=RESOURCES_MAX)):
        resource = _read_resource(given, place / index, connections, findings)
        earlier = resources.setdefault(resource.id, resource)
        if earlier.provider != resource.provider:
            findings.add(
                place / index, f"The resource {resource.id} is declared twice, with another provider."
            )
    of_records = [one.id for one in resources.values() if isinstance(one.provider, RecordsProvider)]
    if len(of_records) > 1:
        findings.add(
            place,
            "A deployment declares one resource of the kind records at most: an agent has one memory of each principal.",
        )
    return resources


def _read_resource(
    value: Any, place: Place, connections: dict[str, Connection], findings: Findings
) -> DeclaredResource:
    given = findings.read_object(value, place, keys=frozenset({"id", "description", "provider"}))
    id_ = _read_id(value, place, findings)
    description = findings.read_text(
        given.get("description"), place / "description", length_max=DESCRIPTION_LENGTH_MAX
    )
    provider = _read_provider(
        given.get("provider", {"kind": "document"}), place / "provider", connections, findings
    )
    return DeclaredResource(id_, description, provider)


def _read_provider(
    value: Any, place: Place, connections: dict[str, Connection], findings: Findings
) -> Provider:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "http":
        return _read_http(value, place, connections, findings)
    if kind == "records":
        return _read_records(value, place, findings)
    if isinstance(value, dict) and kind != "document":
        findings.add(place / "kind", "It must be document, http or records.")
    given = findings.read_object(value, place, keys=frozenset({"kind", "maxBytes"}))
    return DocumentProvider(_read_bytes_max(given, place, findings))


def _read_records(value: Any, place: Place, findings: Findings) -> RecordsProvider:
    given = findings.read_object(value, place, keys=frozenset({"kind", "memoryWrite"}))
    policy = given.get("memoryWrite", WRITE_POLICY_DEFAULT)
    if policy not in WRITE_POLICIES:
        findings.add(place / "memoryWrite", f"It must be one of {', '.join(WRITE_POLICIES)}.")
    return RecordsProvider(str(policy))


def _read_bytes_max(given: Any, place: Place, findings: Findings) -> int:
    value = given.get("maxBytes", RESOURCE_BYTES_DEFAULT)
    return findings.read_integer(value, place / "maxBytes", minimum=1, maximum=RESOURCE_BYTES_MAX)


def _read_http(
    value: Any, place: Place, connections: dict[str, Connection], findings: Findings
) -> HttpProvider:
    keys = frozenset({"kind", "connection", "path", "maxBytes", "tools"})
    given = findings.read_object(value, place, keys=keys)
    path = given.get("path", PATH_DEFAULT)
    problem = find_path_problem(path)
    named = given.get("connection")
    connection = connections.get(named) if isinstance(named, str) else None
    if problem:
        findings.add(place / "path", problem)
    if connection is None:
        findings.add(place / "connection", "It must be the id of a connection of the same declaration.")
    else:
        if "POST" not in connection.methods:
            findings.add(place / "connection", f"The connection {connection.id} must allow the method POST.")
        if not problem and not connection.admits_path(path):
            findings.add(
                place / "path", f"It must lie below the connection's path prefix, {connection.path_prefix}."
            )
    return HttpProvider(
        connection=connection.id if connection else "",
        path=path if isinstance(path, str) else "",
        bytes_max=_read_bytes_max(given, place, findings),
        tools=_read_tools(given.get("tools", []), place / "tools", findings),
    )


def _read_tools(value: Any, place: Place, findings: Findings) -> tuple[HttpTool, ...]:
    tools = [
        _read_tool(given, place / index, findings)
        for index, given in enumerate(findings.read_list(value, place, items_max=TOOLS_MAX))
    ]
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        if tool.name in seen:
            findings.add(place / index / "name", f"The tool {tool.name} is declared twice.")
        seen.add(tool.name)
    return tuple(tools)


def _read_tool(value: Any, place: Place, findings: Findings) -> HttpTool:
    keys = frozenset({"name", "description", "access", "idempotent", "input"})
    given = findings.read_object(value, place, keys=keys)
    name = given["name"].strip() if isinstance(given.get("name"), str) else ""
    if not _TOOL_NAME.fullmatch(name):
        findings.add(place / "name", "A name is 1 to 32 of a to z, 0 to 9 and _.")
    if given.get("access") not in ("read", "write"):
        findings.add(place / "access", "It must be read or write.")
    idempotent = given.get("idempotent", False)
    if not isinstance(idempotent, bool):
        findings.add(place / "idempotent", "It must be true or false.")
    return HttpTool(
        name=name,
        description=findings.read_text(
            given.get("description"), place / "description", length_max=DESCRIPTION_LENGTH_MAX
        ),
        access=str(given.get("access")),
        idempotent=idempotent is True,
        input=read_schema(given.get("input"), place / "input", findings),
    )


def _read_ordinary_tools(value: Any, place: Place, findings: Findings) -> tuple[str, ...]:
    names = findings.read_list(value, place, items_max=ORDINARY_TOOLS_MAX)
    for index, name in enumerate(names):
        if not isinstance(name, str) or not _ORDINARY_NAME.fullmatch(name):
            findings.add(place / index, "It must be the name of a tool.")
    return tuple(sorted({name for name in names if isinstance(name, str)}))


def _list_warnings(resources: dict[str, DeclaredResource]) -> list[str]:
    """Write tools whose description does not say when what they write can be seen."""
    return [
        f"The tool {tool.name} of {resource.id} does not say when its effect can be seen by the next recall."
        for resource in resources.values()
        if isinstance(resource.provider, HttpProvider)
        for tool in resource.provider.tools
        if tool.access == "write" and not _TELLS_VISIBILITY.search(tool.description)
    ]

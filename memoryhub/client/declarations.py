"""Declarations as data: what a deployment's manifest says of its memory. The hub checks them when it is created."""

from typing import Any

type Declaration = dict[str, Any]


def document_memory(*, max_bytes: int | None = None) -> Declaration:
    """Documents that the hub keeps. `max_bytes`: of a document's text, 8,192 when not given."""
    return {"kind": "document"} | _given(maxBytes=max_bytes)


def http_memory(
    connection: str,
    *,
    path: str | None = None,
    max_bytes: int | None = None,
    tools: list[Declaration] | None = None,
) -> Declaration:
    """Memory of another service. Each recall sends it the text of the current input.

    `connection`: the id of one of the same manifest. `max_bytes`: of the text that a recall may return.
    """
    return {"kind": "http", "connection": connection} | _given(path=path, maxBytes=max_bytes, tools=tools)


def records_memory(*, memory_write: str | None = None) -> Declaration:
    """What an agent learnt of each of its users, by the tools save_memory, search_memory and forget_memory.

    `memory_write`: deny, ask (when not given), allow_principal or allow.
    """
    return {"kind": "records"} | _given(memoryWrite=memory_write)


def define_memory(id_: str, description: str, provider: Declaration | None = None) -> Declaration:
    """A resource; documents with defaults when no provider is given. The description is shown to models."""
    return {"id": id_, "description": description} | _given(provider=provider)


def define_tool(
    name: str, description: str, *, access: str, input_schema: Declaration, idempotent: bool = False
) -> Declaration:
    """A tool of an HTTP resource; models see `memory_<name>`. `access`: read or write.

    `idempotent`: the service applies a write once however often it gets the same operation id.
    """
    return {
        "name": name,
        "description": description,
        "access": access,
        "idempotent": idempotent,
        "input": input_schema,
    }


def define_connection(
    id_: str,
    origin: str,
    *,
    methods: list[str] | None = None,
    path_prefix: str | None = None,
    headers: dict[str, str | Declaration] | None = None,
) -> Declaration:
    """Where an HTTP resource is reached. Headers that carry a credential take `bearer` or `use_secret`."""
    declared = {"id": id_, "origin": origin, "methods": ["POST"] if methods is None else methods}
    return declared | _given(pathPrefix=path_prefix, headers=headers)


def use_secret(name: str, *, prefix: str = "", suffix: str = "") -> Declaration:
    """The value of a header, taken from a secret when the call is made."""
    return {"secret": name, "prefix": prefix, "suffix": suffix}


def bearer(secret_name: str) -> Declaration:
    """`Authorization: Bearer …` from a secret."""
    return use_secret(secret_name, prefix="Bearer ")


def define_manifest(
    *memory: Declaration,
    connections: list[Declaration] | None = None,
    ordinary_tools: list[str] | None = None,
) -> Declaration:
    """A deployment's manifest. `ordinary_tools`: the names of the agent's other tools, so that none collides."""
    return {"memory": list(memory), "connections": connections or [], "ordinaryTools": ordinary_tools or []}


def _given(**values: Any) -> Declaration:
    return {name: value for name, value in values.items() if value is not None}

"""Manifests to begin from: each test changes one thing in one."""

from copy import deepcopy
from typing import Any

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}


def tool(name: str = "remember", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Keep a fact; recall sees it.",
        "access": "write",
        "input": SCHEMA,
    } | more


def connection(**more: Any) -> dict[str, Any]:
    return {"id": "kb", "origin": "https://memory.example.com", "methods": ["POST"]} | more


def http_resource(id_: str = "knowledge", **more: Any) -> dict[str, Any]:
    provider = {"kind": "http", "connection": "kb", "tools": [tool()]} | more
    return {"id": id_, "description": "What is known.", "provider": provider}


def document_resource(id_: str = "playbook", **provider: Any) -> dict[str, Any]:
    resource: dict[str, Any] = {"id": id_, "description": "How we work."}
    return resource | ({"provider": {"kind": "document"} | provider} if provider else {})


def manifest(*resources: dict[str, Any], connections: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return deepcopy(
        {"connections": [connection()] if connections is None else connections, "memory": list(resources)}
    )

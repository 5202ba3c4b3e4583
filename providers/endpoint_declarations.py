"""What the calling side of an endpoint declares, ready to be pasted there: its connection, and the resource with the tools that there are.

Source: contract of document and HTTP memory, sections 13 and 13.4.
"""

from typing import Any

from django.conf import settings

from providers import endpoint_records, endpoint_tools
from providers.endpoint_models import Endpoint
from providers.provider_choice import provider_of


def declaration_of(endpoint: Endpoint) -> dict[str, Any]:
    """With a secret's name in the place of the credential."""
    return {
        "connection": {
            "id": "memoryhub",
            "origin": settings.BASE_URL,
            "methods": ["POST"],
            "pathPrefix": "/oc-memory",
            "headers": {"Authorization": {"secret": "MEMORYHUB_TOKEN", "prefix": "Bearer "}},
        },
        "resource": {
            "id": "knowledge",
            "description": "What is known. Each recall sends the text of the current input to this service.",
            "provider": {
                "kind": "http",
                "connection": "memoryhub",
                "path": f"/oc-memory/{endpoint.wire_id}",
                "maxBytes": endpoint.bytes_max,
                "tools": _tools_of(endpoint),
            },
        },
    }


def _tools_of(endpoint: Endpoint) -> list[dict[str, Any]]:
    """Writes here are done once however often they are sent; those of a provider where it says so itself."""
    if not endpoint.has_provider:
        return [tool.to_declaration(repeats=True) for tool in endpoint_tools.TOOLS.values()]
    repeats = endpoint_records.repeats_safely(provider_of(endpoint.environment_id))
    return [tool.to_declaration(repeats=repeats) for tool in endpoint_records.TOOLS.values()]


def find_provider_name(endpoint: Endpoint) -> str | None:
    """Of the memory provider that keeps its records now; None where they are its own."""
    return provider_of(endpoint.environment_id).name if endpoint.has_provider else None

"""Links of the OpenAPI document: where the ids that an answer gives go next. Source: OpenAPI 3.1, Link Object."""

from typing import Any

# Operation -> parameters of URLs that its answer knows the value of.
GIVEN: dict[str, dict[str, str]] = {
    "projects.create": {"project_id": "$response.body#/id"},
    "environments.create": {"environment_id": "$response.body#/id"},
    "invitations.create": {"invitation_id": "$response.body#/id"},
    "api_keys.create": {"key_id": "$response.body#/id"},
    "memory_stores.create": {"store_id": "$response.body#/id"},
    "memories.create": {
        "store_id": "$request.path.store_id",
        "memory_id": "$response.body#/id",
        "version_id": "$response.body#/memory_version_id",
    },
    "deployments.create": {"deployment_id": "$response.body#/id"},
    "secrets.put": {"secret_id": "$response.body#/id"},
    "sessions.create": {"session_id": "$response.body#/id"},
    "model_requests.create": {
        "session_id": "$request.path.session_id",
        "request_id": "$response.body#/id",
    },
    "tool_calls.create": {
        "session_id": "$request.path.session_id",
        "tool_call_id": "$response.body#/id",
    },
}


def add_links(document: dict[str, Any]) -> None:
    """Link each operation of `GIVEN` to those whose URL needs no other ids, and needs at least one of the new ones."""
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    for operation in operations:
        given = GIVEN.get(operation["operationId"])
        if given is not None:
            new = {name for name, value in given.items() if value.startswith("$response")}
            links = {
                target["operationId"]: {
                    "operationId": target["operationId"],
                    "parameters": {name: given[name] for name in sorted(needed)},
                }
                for target in operations
                if (needed := _url_parameters(target)) <= given.keys() and needed & new
            }
            for status, response in operation["responses"].items():
                if status.startswith("2"):
                    response["links"] = links


def _url_parameters(operation: dict[str, Any]) -> set[str]:
    return {item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"}

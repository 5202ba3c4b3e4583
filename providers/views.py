"""What every URL below a session or a resource shares: what the actor may not see answers 404 before anything else."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from memoryhub import ids, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.api import Door, HubView
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.strict_json import StrictJSONError, check_text
from providers import (
    cancellations,
    documents,
    endpoints,
    external_partitions,
    model_requests,
    session_tokens,
    tool_calls,
)

IDEMPOTENCY_KEY_LENGTH_MAX = 256  # contract: section 4


class KeyedView(HubView):
    """A URL whose POST may be repeated under an `Idempotency-Key`."""

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        arguments = super()._arguments(request, door)
        return arguments | ({"idempotency_key": _read_key(request)} if request.method == "POST" else {})


def _read_key(request: HttpRequest) -> str | None:
    """Raises: InvalidRequest."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    try:
        check_text(key)
    except StrictJSONError as error:
        raise InvalidRequest("Idempotency-Key: It holds a character that cannot be kept.") from error
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_LENGTH_MAX:
        raise InvalidRequest(f"Idempotency-Key: It must have 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} characters.")
    return key


class SessionView(HubView):
    def require_visible(self, actor: Actor) -> None:
        session = sessions.get_session(self.kwargs["session_id"], actor=actor)
        if "request_id" in self.kwargs:
            model_requests.find_request(session, self.kwargs["request_id"])
        if "token_id" in self.kwargs:
            session_tokens.find_token(session, self.kwargs["token_id"])
        if "tool_call_id" in self.kwargs:
            tool_calls.get_call(session.wire_id, self.kwargs["tool_call_id"], actor=actor)
        if "operation_id" in self.kwargs:
            cancellations.find_operation(session, self.kwargs["operation_id"])


class EndpointView(HubView):
    """A URL below `/v1/endpoints/{endpoint_id}`."""

    def require_visible(self, actor: Actor) -> None:
        endpoint = endpoints.get_endpoint(self.kwargs["endpoint_id"], actor=actor)
        if "credential_id" in self.kwargs:
            endpoints.find_credential(endpoint, self.kwargs["credential_id"])
        if "partition_id" in self.kwargs:
            partition = external_partitions.get_partition(
                endpoint.wire_id, self.kwargs["partition_id"], actor=actor
            )
            if "record_id" in self.kwargs:
                external_partitions.find_record(partition, self.kwargs["record_id"])
            if "item_id" in self.kwargs:
                external_partitions.find_item(partition, self.kwargs["item_id"])


class ProjectMemoryView(HubView):
    """A URL below `/v1/projects/{project_id}/memory`, whose query names the environment."""

    def require_place(self, actor: Actor) -> None:
        if ids.from_wire(ids.PROJECT, self.kwargs["project_id"]) != actor.project_id:
            raise NotFound("project")

    def require_visible(self, actor: Actor) -> None:
        tenancy.get_project_by_id(self.kwargs["project_id"], actor=actor)
        environment = self.request.GET.get("environment")
        if not environment:
            return
        tenancy.get_environment(environment, actor=actor)
        if "resource_id" in self.kwargs:
            self.require_resource(environment, actor)

    def require_resource(self, environment: str, actor: Actor) -> None:
        resource_id = self.kwargs["resource_id"]
        if "document_id" not in self.kwargs:
            documents.get_resource(environment, resource_id, actor=actor)
        elif self.request.method != "PUT":
            documents.get_document(environment, resource_id, self.kwargs["document_id"], actor=actor)
        else:
            documents.get_document_store(environment, resource_id, actor=actor)


def no_content() -> HttpResponse:
    response = HttpResponse(status=204)
    del response["Content-Type"]
    return response


def read_revision(value: str | None) -> str | None:
    """The revision of `If-Match: "revision"`. Raises: InvalidRequest for `*`, a weak tag or a list."""
    if value is None:
        return None
    tag = value.strip()
    if not (len(tag) > 2 and tag.startswith('"') and tag.endswith('"') and '"' not in tag[1:-1]):
        raise InvalidRequest('If-Match: This must be one "revision" in double quotes.')
    return tag[1:-1]

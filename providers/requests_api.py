"""The REST door of the request cycle: recall, selection, tool calls. Source: contract, section 6."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from memoryhub.actors import Actor
from memoryhub.api import Door, operation
from memoryhub.problems import json_response
from memoryhub.shapes import PageQuery
from providers import cancellations, model_requests, tool_calls
from providers.http_serializers import HttpOperationShape, http_operation_wire
from providers.model_requests import Accepted
from providers.principals import read_principal
from providers.serializers import list_request
from providers.session_serializers import (
    ModelRequestItemShape,
    ModelRequestShape,
    OfferedToolsShape,
    OpenRequestBody,
    SelectBody,
    ToolCallBody,
    ToolCallShape,
    model_request_wire,
    request_facts,
    selection_wire,
    tool_call_wire,
)
from providers.views import SessionView

type Values = dict[str, Any]


class PreferView(SessionView):
    """A URL whose POST waits for services, unless `Prefer: respond-async` asks not to (RFC 7240, section 4.1)."""

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        arguments = super()._arguments(request, door)
        if request.method != "POST":
            return arguments
        preferred = {part.strip().lower() for part in request.headers.get("Prefer", "").split(",")}
        return arguments | {"waits": "respond-async" not in preferred}


def _answer(body: Values, status: int, url: str) -> HttpResponse:
    """With the URL to ask again at, when it is not done."""
    response = json_response(body, status=status)
    if status == 202:
        response["Location"] = url
    return response


def _status_of(accepted: Accepted) -> int:
    if accepted.request.state == "recalling":
        return 202
    return 201 if accepted.is_new else 200


class ModelRequests(PreferView):
    @operation(
        "model_requests.create",
        "Recall everything that the session binds",
        body=OpenRequestBody,
        answer=ModelRequestShape,
        status=201,
        also=(200, 202),
    )
    def post(self, session_id: str, *, body: Values, waits: bool, actor: Actor) -> HttpResponse:
        given = body.get("input", {})
        accepted = model_requests.open_request(
            session_id,
            client_request_id=body["client_request_id"],
            input_text=given.get("text"),
            principal=read_principal(body.get("principal")),
            has_untrusted=given.get("untrusted", False),
            waits=waits,
            actor=actor,
        )
        url = f"/v1/sessions/{session_id}/model-requests/{accepted.request.wire_id}"
        return _answer(model_request_wire(accepted), _status_of(accepted), url)

    @operation(
        "model_requests.list",
        "List a session's model requests",
        query=PageQuery,
        answer=ModelRequestItemShape,
        lists=True,
    )
    def get(self, session_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("model_requests", query, {"session": session_id})
        return model_requests.list_requests(session_id, wanted, actor=actor).as_wire(request_facts)


class ModelRequest(SessionView):
    @operation("model_requests.get", "Get a model request as it was kept", answer=ModelRequestShape)
    def get(self, session_id: str, request_id: str, *, actor: Actor) -> Values:
        return model_request_wire(model_requests.get_accepted(session_id, request_id, actor=actor))


class ModelRequestCancel(SessionView):
    @operation(
        "model_requests.cancel",
        "Cancel what a model request has under way at other services",
        answer=ModelRequestItemShape,
    )
    def post(self, session_id: str, request_id: str, *, actor: Actor) -> Values:
        return request_facts(cancellations.cancel_request(session_id, request_id, actor=actor))


class Selection(SessionView):
    @operation(
        "model_requests.select",
        "Fix which memories the render uses",
        body=SelectBody,
        answer=OfferedToolsShape,
    )
    def put(self, session_id: str, request_id: str, *, body: Values, actor: Actor) -> Values:
        tools = model_requests.select_memory(session_id, request_id, use=body["use"], actor=actor)
        return selection_wire(body["use"], tools)


class ToolCalls(PreferView):
    @operation(
        "tool_calls.create",
        "Run a model's tool call, once",
        body=ToolCallBody,
        answer=ToolCallShape,
        also=(202,),
    )
    def post(
        self, session_id: str, request_id: str, *, body: Values, waits: bool, actor: Actor
    ) -> HttpResponse:
        call = tool_calls.call_tool(session_id, request_id, **body, waits=waits, actor=actor)
        url = f"/v1/sessions/{session_id}/tool-calls/{call.wire_id}"
        return _answer(tool_call_wire(call), 200 if call.state == "done" else 202, url)


class ToolCall(SessionView):
    @operation("tool_calls.get", "Get a tool call with its outcome", answer=ToolCallShape)
    def get(self, session_id: str, tool_call_id: str, *, actor: Actor) -> Values:
        return tool_call_wire(tool_calls.get_call(session_id, tool_call_id, actor=actor))


class HttpOperations(SessionView):
    @operation(
        "http_operations.list",
        "List a session's calls of other services, with every attempt",
        query=PageQuery,
        answer=HttpOperationShape,
        lists=True,
    )
    def get(self, session_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("http_operations", query, {"session": session_id})
        page = cancellations.list_operations(session_id, wanted, actor=actor)
        return page.as_wire(http_operation_wire)


class HttpOperationCancel(SessionView):
    @operation("http_operations.cancel", "Cancel a call of another service", answer=HttpOperationShape)
    def post(self, session_id: str, operation_id: str, *, actor: Actor) -> Values:
        return http_operation_wire(cancellations.cancel_operation(session_id, operation_id, actor=actor))

"""Sessions: what an agent may reach, what a model is given of it, and what it saves."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import (
    Event,
    HttpOperation,
    IssuedSessionToken,
    ModelRequest,
    ModelRequestItem,
    Principal,
    Session,
    SessionItem,
    Tool,
    ToolOutcome,
)

ROOT = "/v1/sessions"
POLL_SECONDS = 0.5

type Tools = list[Tool]
type Names = list[str]


class Sessions:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        *,
        environment: str | None = None,
        agent_id: str | None = None,
        deployment_id: str | None = None,
        memory: dict[str, dict[str, str]] | None = None,
        stores: list[dict[str, Any]] | None = None,
        title: str = "",
        principal: Principal | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """`memory`: resource id -> `{"scope", "id"?, "access"?}`. `stores`: `[{"memory_store_id", "access"?, …}]`.

        `principal`: `{"issuer", "subject"}`, whose records it means: an end user that your application has verified.

        Without a key a call that got no answer is repeated under one of its own, and makes one session.
        """
        body = {
            "environment": environment,
            "agent_id": agent_id,
            "deployment_id": deployment_id,
            "memory": memory or {},
            "resources": [{"type": "memory_store"} | store for store in stores or []],
            "title": title,
            "principal": principal,
        }
        return self._post(ROOT, body, idempotency_key)

    def start_on_document(
        self,
        resource_id: str,
        document_id: str,
        *,
        title: str | None = None,
        text: str = "",
        summary: str = "",
        access: str = "read-write",
        environment: str | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """A session on one document, which is made when it is not there yet."""
        body = {
            "environment": environment,
            "resource": resource_id,
            "document_id": document_id,
            "title": title,
            "text": text,
            "summary": summary,
            "access": access,
        }
        return self._post(f"{ROOT}:on-document", body, idempotency_key)

    def _post(self, path: str, body: dict[str, Any], idempotency_key: str | None) -> Session:
        given = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return cast(Session, self._transport.call("POST", path, given, headers=headers, repeatable=True))

    def get(self, session_id: str) -> Session:
        return cast(Session, self._transport.call("GET", f"{ROOT}/{session_id}"))

    def list(
        self, *, environment: str | None = None, state: str | None = None, memory_store_id: str | None = None
    ) -> Iterator[SessionItem]:
        """Newest first. `state`: live or ended."""
        query = {"environment": environment, "state": state, "memory_store_id": memory_store_id}
        return self._transport.pages(ROOT, query=query)

    def end(self, session_id: str) -> Session:
        """Nothing of it is saved once this has returned."""
        return cast(Session, self._transport.call("POST", f"{ROOT}/{session_id}/end", repeatable=True))

    def revoke(self, session_id: str, resource_id: str) -> Session:
        """The session reaches the resource no more."""
        path = f"{ROOT}/{session_id}/bindings/{quote(resource_id, safe='')}/revoke"
        return cast(Session, self._transport.call("POST", path, repeatable=True))

    def create_token(self, session_id: str, *, expires_in_seconds: int = 3_600) -> IssuedSessionToken:
        """For what runs the session: it reaches the stores that the session attaches, until the session ends."""
        body = {"expires_in_seconds": expires_in_seconds}
        return cast(IssuedSessionToken, self._transport.call("POST", f"{ROOT}/{session_id}/tokens", body))

    def revoke_token(self, session_id: str, token_id: str) -> None:
        path = f"{ROOT}/{session_id}/tokens/{quote(token_id, safe='')}/revoke"
        self._transport.call("POST", path, repeatable=True)

    def delete(self, session_id: str) -> None:
        self._transport.call("DELETE", f"{ROOT}/{session_id}")

    def open_request(
        self,
        session_id: str,
        client_request_id: str,
        *,
        input_text: str | None = None,
        principal: Principal | None = None,
        untrusted: bool = False,
    ) -> ModelRequest:
        """Recall everything that is bound. The same id again gives what was recalled the first time.

        `input_text` is sent to the services of the session's HTTP memories: give None to send nothing of the input.
        `principal`: whose input it is, where that is not the session's. `untrusted`: the model is given what others said too.
        Raises: HubRefused with status 502 when a memory could not be recalled: do not run inference then.
        """
        given: dict[str, Any] = {"text": input_text} | ({"untrusted": True} if untrusted else {})
        body: dict[str, Any] = {"client_request_id": client_request_id, "input": given}
        if principal is not None:
            body["principal"] = principal
        path = f"{ROOT}/{session_id}/model-requests"
        return cast(ModelRequest, self._until(path, body, "recalling"))

    def _until(self, path: str, body: dict[str, Any], unfinished: str) -> dict[str, Any]:
        """The same call again while the hub is still at it: it does nothing twice."""
        while True:
            answer = self._transport.call("POST", path, body, repeatable=True)
            if answer.get("state") != unfinished:
                return cast(dict[str, Any], answer)
            time.sleep(POLL_SECONDS)

    def select(self, session_id: str, request_id: str, use: Names) -> Tools:
        """Fix which memories the render uses; the tools to offer to the model."""
        path = f"{ROOT}/{session_id}/model-requests/{request_id}/selection"
        return cast(Tools, self._transport.call("PUT", path, {"use": use}, repeatable=True)["tools"])

    def call_tool(
        self, session_id: str, request_id: str, *, call_id: str, name: str, arguments: dict[str, Any]
    ) -> ToolOutcome:
        """Run a model's call; the same `call_id` again gives the same outcome and runs nothing."""
        path = f"{ROOT}/{session_id}/model-requests/{request_id}/tool-calls"
        body = {"call_id": call_id, "name": name, "arguments": arguments}
        return cast(ToolOutcome, self._until(path, body, "started"))

    def get_request(self, session_id: str, request_id: str) -> ModelRequest:
        """As it was kept. Raises: HubRefused with status 410 when a text in it was erased."""
        path = f"{ROOT}/{session_id}/model-requests/{request_id}"
        return cast(ModelRequest, self._transport.call("GET", path))

    def cancel_request(self, session_id: str, request_id: str) -> ModelRequestItem:
        """Leave whatever it has under way at other services; what they have accepted is not undone."""
        path = f"{ROOT}/{session_id}/model-requests/{quote(request_id, safe='')}/cancel"
        return cast(ModelRequestItem, self._transport.call("POST", path, repeatable=True))

    def list_operations(self, session_id: str) -> Iterator[HttpOperation]:
        """Calls of other services with every attempt, newest first."""
        return self._transport.pages(f"{ROOT}/{session_id}/http-operations")

    def cancel_operation(self, session_id: str, operation_id: str) -> HttpOperation:
        """Leave one call; what the service has accepted is not undone."""
        path = f"{ROOT}/{session_id}/http-operations/{quote(operation_id, safe='')}/cancel"
        return cast(HttpOperation, self._transport.call("POST", path, repeatable=True))

    def list_requests(self, session_id: str) -> Iterator[ModelRequestItem]:
        """Newest first."""
        return self._transport.pages(f"{ROOT}/{session_id}/model-requests")

    def get_call(self, session_id: str, tool_call_id: str) -> ToolOutcome:
        """By the hub's id. Raises: HubRefused with status 410 when a text in it was erased."""
        path = f"{ROOT}/{session_id}/tool-calls/{quote(tool_call_id, safe='')}"
        return cast(ToolOutcome, self._transport.call("GET", path))

    def add_event(self, session_id: str, event_type: str, data: dict[str, Any]) -> Event:
        """Sent once: a second one would be another event."""
        body = {"type": event_type, "data": data}
        return cast(Event, self._transport.call("POST", f"{ROOT}/{session_id}/events", body))

    def list_events(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Those with a greater number, in order."""
        while True:
            page = self._transport.call("GET", f"{ROOT}/{session_id}/events", query={"after": after})
            yield from page["data"]
            if not page["has_more"]:
                return
            after = page["next_after"]

    def stream_events(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Events as they happen, to the end of the session or of the stream; go on after the last number."""
        for line in self._transport.lines(f"{ROOT}/{session_id}/events/stream", query={"after": after}):
            if line.startswith("data: "):
                yield cast(Event, json.loads(line.removeprefix("data: ")))

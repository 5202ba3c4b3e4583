"""The HTTP side: credentials, names, sizes and forms, before the protocol reads a byte."""

import json
import socket
from typing import Any

import pytest

from memoryhub import keys
from memoryhub.embedded.processes import wait_until
from memoryhub.mcp_door import BODY_BYTES_MAX
from tests.mcp.conftest import Desk
from tests.mcp.live import LiveMcp, call_body

LIST = call_body("list_memory_stores", {})


def refused(answer: Any, status: int, error_type: str, code: str | None = None) -> dict[str, Any]:
    """The error of the envelope of REST."""
    assert answer.status == status, answer.content
    assert answer.headers["content-type"] == "application/json"
    body = answer.body
    assert body["type"] == "error" and body["request_id"] == answer.headers["request-id"]
    error: dict[str, Any] = body["error"]
    assert error["type"] == error_type and error.get("details", {}).get("error_code") == code
    return error


# Credentials.


def test_no_credential_an_unknown_and_a_malformed_one_are_refused_as_by_rest(desk: Desk) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": f"Basic {desk.agent().key}"},
        {"Authorization": f"Bearer mh_{'0' * 32}_{'x' * 43}"},
        {"Authorization": f"Bearer {desk.agent().key}", "X-Api-Key": desk.agent().key},
    ):
        answer = desk.server.post(LIST, None, **headers)
        error = refused(answer, 401, "authentication_error")
        assert answer.headers["www-authenticate"] == "Bearer"
        if headers:
            rest = desk.call("GET", "/v1/memory_stores", headers=headers)
            assert error == rest.body["error"]


def test_both_headers_are_taken(desk: Desk) -> None:
    key = desk.agent().key
    assert desk.server.post(LIST, key).status == 200
    assert desk.server.post(LIST, None, **{"X-Api-Key": key}).status == 200
    assert desk.server.post(LIST, key, **{"X-Api-Key": key}).status == 200


@pytest.mark.parametrize("scope", ["admin", "host", "review", "worker", "read"])
def test_only_an_agents_key_is_let_in(desk: Desk, scope: str) -> None:
    answer = desk.server.post(LIST, desk.tenant.new_key(scope))
    refused(answer, 403, "permission_error", "mcp_needs_agent")


def test_a_revoked_key_is_refused_from_the_answer_on(desk: Desk) -> None:
    issued = keys.create_key(
        environment="development", name="gone", scopes=["agent"], stores={}, actor=desk.tenant.actor
    )
    assert desk.server.post(LIST, issued.secret).status == 200
    keys.revoke_key(issued.key.wire_id, actor=desk.tenant.actor)
    error = refused(desk.server.post(LIST, issued.secret), 401, "authentication_error")
    assert error["message"] == "The API key is revoked."


def test_a_client_may_ask_for_no_other_way_in(server: LiveMcp) -> None:
    """A 404 tells a client that there is no sign-in by OAuth."""
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/",
        "/v1",
    ):
        refused(server.ask("GET", path), 404, "not_found_error")


# Names.


def test_a_name_that_is_not_the_hubs_is_refused(desk: Desk) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost@evil.example"):
        refused(desk.server.post(LIST, desk.agent().key, Host=host), 400, "invalid_request_error")
    assert desk.server.post(LIST, desk.agent().key, Host=f"localhost:{desk.server.port}").status == 200


def test_a_page_of_another_origin_is_refused_before_its_credential_is_looked_at(desk: Desk) -> None:
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{desk.server.port}.evil.example", ""):
        for key in (None, desk.agent().key):
            answer = desk.server.post(LIST, key, Origin=origin)
            refused(answer, 403, "permission_error", "mcp_origin_refused")
            assert "access-control-allow-origin" not in answer.headers
        assert desk.server.ask("OPTIONS", "/mcp", headers={"Origin": origin}).status == 403


def test_a_page_of_a_known_origin_may_ask_and_read(desk: Desk) -> None:
    origin = desk.server.url.removesuffix("/mcp")
    asked = desk.server.ask("OPTIONS", "/mcp", headers={"Origin": origin})
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, origin)
    assert "authorization" in asked.headers["access-control-allow-headers"]
    answer = desk.server.post(LIST, desk.agent().key, Origin=origin)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, origin)


# Methods, sizes and forms.


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_nothing_but_post_is_taken(desk: Desk, method: str) -> None:
    answer = desk.server.ask(method, "/mcp", key=desk.agent().key)
    refused(answer, 405, "invalid_request_error")
    assert answer.headers["allow"] == "POST"
    refused(desk.server.ask(method, "/mcp"), 401, "authentication_error")


def test_a_body_over_the_limit_is_refused_announced_or_not(desk: Desk) -> None:
    key = desk.agent().key
    announced = {"Content-Length": str(BODY_BYTES_MAX + 1)}
    answer = desk.server.ask("POST", "/mcp", b"", key, announced)
    refused(answer, 413, "request_too_large", "body_too_large")
    with socket.create_connection(("127.0.0.1", desk.server.port), timeout=30) as raw:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        raw.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"%x\r\n%s\r\n" % (1_048_576, b" " * 1_048_576)
        try:
            for _ in range(11):
                raw.sendall(chunk)
        except OSError:
            pass  # it hung up, as it may
        assert b" 413 " in raw.recv(4_096).partition(b"\r\n")[0]


def test_a_tool_takes_no_more_than_rest(desk: Desk) -> None:
    arguments = {"memory_store_id": desk.store_id, "path": "/a", "content": "x" * 1_048_576}
    result = desk.agent().post("create_memory_file", arguments)["result"]
    error = json.loads(result["content"][0]["text"])["error"]
    assert result["isError"] and error["details"]["error_code"] == "body_too_large"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\u0000"}',
        b"[" * 200 + b"]" * 200,
        b'{"a": 123456789012345678901234567890}',
    ],
)
def test_a_body_that_is_no_strict_json_is_an_error_of_the_protocol(desk: Desk, raw: bytes) -> None:
    answer = desk.server.ask("POST", "/mcp", raw, desk.agent().key)
    assert (answer.status, answer.body["error"]["code"]) == (400, -32700)
    assert answer.body["id"] is None


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28", "nonsense"])
@pytest.mark.parametrize("body", [1, [], [LIST], {}, {"jsonrpc": "1.0"}, {"jsonrpc": "2.0", "id": 1}])
def test_a_message_of_another_form_is_refused(desk: Desk, revision: str, body: Any) -> None:
    answer = desk.server.post(body, desk.agent().key, **{"MCP-Protocol-Version": revision})
    assert answer.status == 400 and answer.body["error"]["code"] < 0, answer.content
    assert "Traceback" not in answer.content.decode()


def test_a_method_that_is_not_there_and_another_content_type_are_refused(desk: Desk) -> None:
    key = desk.agent().key
    unknown = desk.server.post({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, key)
    assert unknown.body["error"]["code"] == -32601
    answer = desk.server.post(LIST, key, **{"Content-Type": "text/plain"})
    refused(answer, 400, "invalid_request_error")


def test_arguments_of_wrong_types_are_refused_by_the_tool(desk: Desk) -> None:
    agent = desk.agent()
    right = {"memory_store_id": desk.store_id, "path": "/a.md", "content": "x"}
    for wrong in (
        {"content": 1},
        {"content": ["x"]},
        {"path": {"a": 1}},
        {"path": None},
        {"memory_store_id": 7},
        {"unknown": "x"},
        {"environment": "production"},
    ):
        result = agent.post("create_memory_file", {**right, **wrong})["result"]
        error = json.loads(result["content"][0]["text"])["error"]
        assert result["isError"] and error["type"] in ("invalid_request_error", "not_found_error"), wrong
    for arguments in ([1], "x", 7):
        answer = desk.server.post(call_body("create_memory_file", arguments), agent.key)
        assert answer.body["error"]["code"] == -32602, answer.content
    assert agent.give("list_memory_files", memory_store_id=desk.store_id)["files"] == []


# What is asked of the process.


def test_its_state_and_its_metrics_are_told(desk: Desk) -> None:
    desk.agent().give("list_memory_stores")
    desk.agent().refuse("read_memory_file", memory_store_id=desk.store_id, path="/none.md")
    assert desk.server.ask("GET", "/healthz", headers={"Host": "10.1.2.3"}).body == {"status": "ok"}
    ready = desk.server.ask("GET", "/readyz")
    assert ready.status == 200 and ready.body["status"] in ("ready", "degraded")
    assert desk.server.ask("HEAD", "/readyz").content == b""
    metrics = desk.server.ask("GET", "/metrics").content.decode()
    assert 'memoryhub_requests_total{operation="mcp.list_memory_stores",status="200"}' in metrics
    assert 'memoryhub_requests_total{operation="mcp.read_memory_file",status="404"}' in metrics
    refused(desk.server.ask("POST", "/healthz"), 405, "invalid_request_error")


def test_the_log_has_each_request_once_and_nothing_of_its_content(desk: Desk) -> None:
    agent = desk.agent()
    arguments = {"memory_store_id": desk.store_id, "path": "/SECRET-PATH.md", "content": "SECRET-TEXT"}
    agent.give("create_memory_file", **arguments)
    agent.post("create_memory_file", {**arguments, "SECRET-NAME": 1})
    agent.post("SECRET-TOOL", {"x": "SECRET-TEXT"})
    answer = desk.server.post({"jsonrpc": "2.0", "id": 1, "method": "SECRET-METHOD"}, agent.key)
    request_id = answer.headers["request-id"]

    def noted() -> list[dict[str, Any]]:
        return [line for line in desk.server.lines() if line.get("request_id") == request_id]

    assert wait_until(lambda: noted() != [], 10), "it is noted once it is answered"
    lines = noted()
    assert [(line["event"], line["operation"]) for line in lines] == [("request", "mcp")]
    text = desk.server.log.read_text()
    assert "SECRET-" not in text and agent.key not in text and "mh_" not in text

"""A real MCP process on this run's database, and clients of it: the SDK's own over a socket, and bare HTTP."""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from memoryhub.embedded import processes
from memoryhub.parts import READY_FILE, Program
from tests.answers import Answer

START_SECONDS_MAX = 90.0


class LiveMcp:
    """It ends with the process that started it, or by `stop`."""

    def __init__(self, folder: Path, *, database_url: str, settings: Mapping[str, str] | None = None) -> None:
        self.log = folder / "mcp.log"
        self.ready_file = folder / "mcp.ready"
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "DATABASE_URL": database_url,
            "MEMORYHUB_MCP_LISTEN_FD": str(self.listener.fileno()),
            "MEMORYHUB_MCP_PORT": str(self.port),
            READY_FILE: str(self.ready_file),
            **(settings or {}),
        }
        self.program = Program(
            [sys.executable, "-m", "memoryhub.mcp"],
            environment=environment,
            log=self.log,
            stop_seconds=15,
            descriptors=[self.listener.fileno()],
        )

    def start(self) -> None:
        """Return when it serves. Raises: AssertionError with the log's end."""
        self.program.start()
        started = processes.wait_until(
            lambda: self.ready_file.exists() or self.program.pid() is None, START_SECONDS_MAX
        )
        if not started or self.program.pid() is None:
            raise AssertionError(f"the MCP server did not start:\n{self.log.read_text()[-4_000:]}")

    def stop(self) -> None:
        self.listener.close()
        self.program.stop()

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        return ask(self.port, method, path, body, key, headers)

    def post(self, body: Any, key: str | None = None, **headers: str) -> Answer:
        return self.ask("POST", "/mcp", json.dumps(body).encode(), key, headers)


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes = b"",
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own."""
    named = {"Content-Type": "application/json"}
    if key is not None:
        named["Authorization"] = f"Bearer {key}"
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body=body, headers={**named, **(headers or {})})
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def call_body(name: str, arguments: Any, *, request_id: int = 1) -> dict[str, Any]:
    """A tool call as JSON-RPC."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


@asynccontextmanager
async def connect(url: str, key: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's client. `mode`: which revision of the protocol it speaks."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


class Agent:
    """An agent with one key, whose every call is a connection of its own."""

    def __init__(self, url: str, key: str, *, mode: str = "auto") -> None:
        self.url, self.key, self.mode = url, key, mode

    def run[Result](self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        async def connected() -> Result:
            async with connect(self.url, self.key, mode=self.mode) as client:
                return await work(client)

        return anyio.run(connected)

    def tools(self) -> dict[str, Any]:
        """By name, as the client has read them."""

        async def work(client: Client) -> dict[str, Any]:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

        return self.run(work)

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        return self.run(lambda client: client.call_tool(name, arguments))

    def post(self, name: str, arguments: Any) -> dict[str, Any]:
        """The JSON-RPC answer to a call, without a client."""
        port = urlsplit(self.url).port
        assert port is not None
        body = json.dumps(call_body(name, arguments)).encode()
        given: dict[str, Any] = json.loads(ask(port, "POST", "/mcp", body, self.key).content)
        return given

    def give(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What the tool gives; it must succeed."""
        result = self.call(name, **arguments)
        assert not result.is_error, result.content
        given = result.structured_content
        assert given is not None
        return given

    def refuse(self, name: str, **arguments: Any) -> dict[str, Any]:
        """`error` of the envelope; the call must be refused."""
        result = self.call(name, **arguments)
        assert result.is_error, result.content
        assert "Traceback" not in text_of(result)
        error: dict[str, Any] = json.loads(text_of(result))["error"]
        return error


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    return str(getattr(content, "text", ""))

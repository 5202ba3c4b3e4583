"""The HTTP side of the MCP server: `/mcp`, and what is asked of a process that runs.

Before the protocol reads a byte, in this order: the names in Host and Origin, the credential and its throttle, method,
size and form of the body. Refusals are the envelopes of REST. The credential is looked up for every request, so a
revoked key is refused from the answer on.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import structlog
from django.conf import settings
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryhub import ids, keys, metrics, readiness, strict_json
from memoryhub.actors import Actor
from memoryhub.api import presented_key
from memoryhub.embedded import host_of
from memoryhub.errors import InvalidRequest, MethodNotAllowed, NotFound, PermissionRefused
from memoryhub.mcp_server import EXCHANGE, Exchange
from memoryhub.mcp_threads import Threads
from memoryhub.problems import answer_exception, body_too_large, json_response
from memoryhub.request_context import set_request_id
from memoryhub.throttles import count_request

PATH = "/mcp"
BODY_BYTES_MAX = 9_437_184  # the largest request of any tool, and what surrounds it
BODY_SECONDS_MAX = 30
NESTING_MAX = 136  # what an authority's record may have, and what surrounds it
PARSED_AT_ONCE_BYTES_MAX = 65_536  # a larger body is read in a thread
PROBES = {"/healthz", "/readyz", "/metrics"}  # asked by load balancers, which know no name
METHODS_KNOWN = {"initialize", "ping", "server/discover", "tools/list", "tools/call"}
log = structlog.get_logger("memoryhub.requests")


@dataclass(frozen=True, slots=True)
class Names:
    """By which names the server may be called, and from pages of which origins. No origin: no browser, so any may."""

    hosts: list[str]
    origins: frozenset[str]

    def check(self, headers: Mapping[str, str]) -> None:
        """Else any page could reach it by a name of its own that leads here. Raises: InvalidRequest, PermissionRefused."""
        domain, _ = split_domain_port(headers.get("host", ""))
        if not validate_host(domain, self.hosts):
            raise InvalidRequest("The Host header names a host that this hub does not answer for.")
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins:
            raise PermissionRefused(
                "Pages of this origin may not use the MCP server; its owner can allow it.",
                error_code="mcp_origin_refused",
            )


def read_names() -> Names:
    """From the settings."""
    hosts = [*settings.ALLOWED_HOSTS, host_of(settings.MCP_URL, "MEMORYHUB_MCP_URL")]
    return Names(hosts, frozenset({_origin(settings.MCP_URL), *settings.MCP_ALLOWED_ORIGINS}))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Door:
    """An ASGI application around that of the protocol."""

    def __init__(self, protocol: ASGIApp, threads: Threads, names: Names) -> None:
        self.protocol = protocol
        self.threads = threads
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request_id = ids.to_wire(ids.REQUEST, ids.new_id())
        set_request_id(request_id)
        started = time.perf_counter()
        headers = _headers(scope)
        answer = Answer(send, request_id, method=scope["method"], origin=headers.get("origin"))
        try:
            await self._serve(scope, headers, receive, answer)
        except Exception as error:  # noqa: BLE001 - the door's one net: answer_exception reports what it cannot name
            refusal = answer_exception(error)
            if answer.status is None:
                await answer.give(refusal)
        _note(scope, answer, time.perf_counter() - started)

    async def _serve(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, answer: "Answer"
    ) -> None:
        if scope["path"] in PROBES:
            await answer.give(await self._probe(scope))
            return
        self.names.check(headers)
        answer.allow_origin()
        if scope["path"] != PATH:
            raise NotFound("resource")
        if scope["method"] == "OPTIONS":  # a browser asks before it sends a credential
            await answer.give(_preflight())
            return
        exchange = scope[EXCHANGE] = Exchange(await self.threads.run(lambda: _authenticate(headers)))
        if scope["method"] != "POST":
            raise MethodNotAllowed(scope["method"], ["POST"])
        raw = await _read_body(headers, receive)
        exchange.body_bytes = len(raw)
        if (refusal := await self._read_message(raw, exchange)) is not None:
            await answer.give(refusal)
            return
        scope = {
            **scope,
            "headers": [*_passed_on(scope), (b"accept", b"application/json, text/event-stream")],
        }
        await self.protocol(scope, _replay(raw, receive), answer.send)

    async def _probe(self, scope: Scope) -> HttpResponse:
        """Is it alive, however much it has to do; is it ready and if not why; its metrics."""
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed(scope["method"], ["GET", "HEAD"])
        if scope["path"] == "/healthz":
            return json_response({"status": "ok"})
        if scope["path"] == "/readyz":
            is_ready, facts = await self.threads.run(readiness.describe)
            return json_response(facts, status=200 if is_ready else 503)
        return HttpResponse(metrics.render(), content_type="text/plain; version=0.0.4; charset=utf-8")

    async def _read_message(self, raw: bytes, exchange: Exchange) -> HttpResponse | None:
        """The answer to a body that is not one strict JSON value; None for one that the protocol may read."""
        try:
            if len(raw) > PARSED_AT_ONCE_BYTES_MAX:
                message = await self.threads.run(lambda: strict_json.parse(raw, nesting_max=NESTING_MAX))
            else:
                message = strict_json.parse(raw, nesting_max=NESTING_MAX)
        except strict_json.StrictJSONError as error:
            problem = {"code": -32700, "message": str(error)}
            return json_response({"jsonrpc": "2.0", "id": None, "error": problem}, status=400)
        method = message.get("method") if isinstance(message, dict) else None
        exchange.operation = f"mcp.{method}" if method in METHODS_KNOWN else "mcp"
        return None


def _headers(scope: Scope) -> Mapping[str, str]:
    """One that came twice is joined, so that it names no credential."""
    headers = Headers(scope=scope)
    return Headers({name: ",".join(headers.getlist(name)) for name in headers})


def _passed_on(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The credential stays here; whoever asks is answered in JSON, whatever it would accept."""
    kept_here = {b"authorization", b"x-api-key", b"accept"}
    return [(name, value) for name, value in scope["headers"] if name not in kept_here]


def _authenticate(headers: Mapping[str, str]) -> Actor:
    """In a thread. Raises: AuthenticationFailed, RateLimited, PermissionRefused."""
    actor = keys.authenticate_key(presented_key(headers))
    count_request(actor.credential_id, requests_max=settings.KEY_REQUESTS_PER_MINUTE_MAX)
    if not actor.is_agent:
        raise PermissionRefused(
            "MCP takes an agent's key, which reaches what its owner named and nothing else; make one for this agent.",
            error_code="mcp_needs_agent",
        )
    return actor


async def _read_body(headers: Mapping[str, str], receive: Receive) -> bytes:
    """Raises: InvalidRequest, RequestTooLarge."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise InvalidRequest("Content-Type must be application/json.")
    announced = headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > BODY_BYTES_MAX:
        raise body_too_large(BODY_BYTES_MAX)
    try:
        with anyio.fail_after(BODY_SECONDS_MAX):
            return await _collect(receive)
    except TimeoutError as error:
        raise InvalidRequest(f"The body did not arrive within {BODY_SECONDS_MAX} s.") from error


async def _collect(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise InvalidRequest("The body could not be read to its end.")
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise body_too_large(BODY_BYTES_MAX)
        if not message.get("more_body", False):
            return bytes(body)


def _replay(raw: bytes, receive: Receive) -> Receive:
    """The body again, and then whatever comes: that the other side has gone."""
    waiting: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def _preflight() -> HttpResponse:
    return HttpResponse(
        status=204,
        headers={
            "Access-Control-Allow-Methods": "POST",
            "Access-Control-Allow-Headers": "authorization, content-type, x-api-key, mcp-protocol-version, mcp-method, mcp-name",
            "Access-Control-Max-Age": "600",
        },
    )


class Answer:
    """One answer on its way, with what every answer of this door carries."""

    def __init__(self, send: Send, request_id: str, *, method: str, origin: str | None) -> None:
        self._send = send
        self._method = method
        self._extra = [
            (b"request-id", request_id.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        self._origin = origin
        self.status: int | None = None

    def allow_origin(self) -> None:
        """A page of the origin that asked may read the answer; it was checked."""
        if self._origin is not None:
            self._extra += [
                (b"access-control-allow-origin", self._origin.encode()),
                (b"access-control-expose-headers", b"request-id, www-authenticate"),
                (b"vary", b"origin"),
            ]

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", []), *self._extra]}
        await self._send(message)

    async def give(self, response: HttpResponse) -> None:
        content = response.content
        headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
        if response.status_code != 204:
            headers.append((b"content-length", str(len(content)).encode()))
        await self.send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        body = b"" if self._method == "HEAD" else content
        await self.send({"type": "http.response.body", "body": body})


def _note(scope: Scope, answer: Answer, seconds: float) -> None:
    """The log line and the metrics; of a tool that refused they tell its own status."""
    exchange: Exchange | None = scope.get(EXCHANGE)
    operation = exchange.operation if exchange else scope["path"][1:] if scope["path"] in PROBES else "other"
    status = (exchange.status if exchange else None) or answer.status or 499
    metrics.count_answer(operation, status, seconds)
    log.info(
        "request",
        method=scope["method"],
        operation=operation,
        status=status,
        ms=round(seconds * 1000, 1),
    )

"""The only outgoing HTTP client: one request to a named origin, under one deadline, to an address that was checked.

Source: contract of document and HTTP memory, sections 10.6 and 14. Every answer of the resolver must be allowed, and one
of those very addresses is dialled, so that a name cannot mean another machine between the check and the call; TLS and the
Host header keep the name. There are no redirects, proxies, cookies, kept connections or settings of the environment.

    EgressError
     ├── EgressBlocked       the policy refuses the address; nothing was sent
     ├── TransportFailed     no answer, or none to its end
     ├── AnswerTooLarge      its head or its body is larger than the protocol allows
     └── DeadlineReached     whatever it was doing
"""

import asyncio
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

import httpcore2
from django.conf import settings

from memoryhub import __version__
from memoryhub.private_origins import may_be_dialled

ANSWER_BYTES_MAX = 65_536  # contract: 10.6
ANSWER_HEAD_BYTES_MAX = 32_768  # contract: 14.1
CONNECT_SECONDS_MAX = 3.0  # contract: 11.1 CONNECT, of TCP and TLS together

_SWITCHING = b"HTTP/1.1 101"  # the library takes what nobody asked for as a broken protocol
_PORTS = {"https": 443, "http": 80}
type Method = Literal["POST", "GET", "DELETE"]
_FIXED_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": f"MemoryHub/{__version__}",
    "Connection": "close",
}


class EgressError(Exception):
    """`address`: what was dialled, None before."""

    def __init__(self, reason: str, address: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.address = address


class EgressBlocked(EgressError): ...


class TransportFailed(EgressError): ...


class AnswerTooLarge(EgressError):
    """`reply`: its head, without a body."""

    def __init__(self, reason: str, reply: "Reply") -> None:
        super().__init__(reason, reply.address)
        self.reply = reply


class DeadlineReached(EgressError): ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`path`: quoted, with its query. `headers` hold secrets: they are shown nowhere. An empty body of a GET or DELETE is none."""

    origin: str
    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    method: Method = "POST"


@dataclass(frozen=True, slots=True)
class Reply:
    """`headers`: names in lower case. `body` is empty for a redirect, which is not read."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    address: str | None


async def send(outgoing: Outgoing, *, seconds: float, answer_bytes_max: int = ANSWER_BYTES_MAX) -> Reply:
    """Raises: EgressError. Cancelling the task closes the connection."""
    backend = _CheckedBackend(outgoing.origin)
    try:
        async with asyncio.timeout(seconds):
            return await _exchange(outgoing, backend, answer_bytes_max)
    except TimeoutError as error:
        raise DeadlineReached("deadline", backend.address) from error
    except EgressError as error:
        error.address = backend.address
        raise
    except _TRANSPORT_ERRORS as error:
        if backend.begun.startswith(
            _SWITCHING
        ):  # no failure of the way: it is the last word, and a wrong one
            return Reply(101, {}, b"", backend.address)
        raise TransportFailed(type(error).__name__, backend.address) from error


# Everything that the HTTP library and the sockets below it raise; h11's protocol errors come as the library's own.
_TRANSPORT_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    OSError,
)


async def _exchange(outgoing: Outgoing, backend: "_CheckedBackend", answer_bytes_max: int) -> Reply:
    url, host = _target(outgoing)
    fixed = _FIXED_HEADERS | {"Host": host}
    if outgoing.body or outgoing.method == "POST":
        fixed |= {"Content-Type": "application/json", "Content-Length": str(len(outgoing.body))}
    names = {name.lower() for name in fixed}
    sent = {name: value for name, value in outgoing.headers.items() if name.lower() not in names} | fixed
    request = httpcore2.Request(
        outgoing.method,
        url,
        headers=[(name.encode(), value.encode()) for name, value in sent.items()],
        content=outgoing.body,
        extensions={"timeout": {"connect": CONNECT_SECONDS_MAX}},
    )
    connection = httpcore2.AsyncHTTPConnection(
        origin=url.origin, ssl_context=tls_context(), network_backend=backend, http2=False
    )
    async with aclosing(connection):
        response = await connection.handle_async_request(request)
        try:
            return await _read(response, backend.address, answer_bytes_max)
        finally:
            await response.aclose()


def _target(outgoing: Outgoing) -> tuple[httpcore2.URL, str]:
    """(where to, the Host header): by the origin and the path that were given, and nothing else."""
    parts = urlsplit(outgoing.origin)
    assert parts.hostname is not None and parts.scheme in _PORTS
    url = httpcore2.URL(
        scheme=parts.scheme.encode(),
        host=parts.hostname.encode(),
        port=parts.port or _PORTS[parts.scheme],
        target=outgoing.path.encode(),
    )
    return url, parts.netloc


async def _read(response: httpcore2.Response, address: str | None, answer_bytes_max: int) -> Reply:
    """Raises: AnswerTooLarge at the first byte too many, whatever Content-Length says."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    head = Reply(response.status, headers, b"", address)
    if sum(len(name) + len(value) + 4 for name, value in response.headers) > ANSWER_HEAD_BYTES_MAX:
        raise AnswerTooLarge("head", head)
    body = bytearray()
    if not 300 <= response.status < 400:
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > answer_bytes_max:
                raise AnswerTooLarge("body", head)
    return replace(head, body=bytes(body))


@cache
def tls_context() -> ssl.SSLContext:
    """Certificates and names are checked; TLS 1.2 at least. Made once, since it reads the machine's authorities."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name itself, checks every answer, and dials one of them by its number."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.address: str | None = None
        self.begun = b""  # how the answer begins

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises: EgressBlocked, and the library's own."""
        addresses = [host] if _is_address(host) and "%" not in host else await _resolve(host, port)
        require_allowed(self.origin, addresses)
        ends_at = time.monotonic() + CONNECT_SECONDS_MAX
        *others, last = addresses
        for address in others:
            try:
                return await self._dial(address, port, ends_at)
            except httpcore2.ConnectError:  # its other addresses are as good
                continue
        return await self._dial(last, port, ends_at)

    async def _dial(self, address: str, port: int, ends_at: float) -> httpcore2.AsyncNetworkStream:
        self.address = address
        stream = await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=_left(ends_at))
        return _BoundedStream(stream, ends_at, self)


def _left(ends_at: float) -> float:
    return max(ends_at - time.monotonic(), 0.0)


class _BoundedStream(httpcore2.AsyncNetworkStream):
    """The handshake of TLS ends with the time for connecting; how the answer begins is kept."""

    def __init__(
        self, stream: httpcore2.AsyncNetworkStream, ends_at: float, backend: _CheckedBackend
    ) -> None:
        self._stream = stream
        self._ends_at = ends_at
        self._backend = backend

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received = await self._stream.read(max_bytes, timeout)
        if len(self._backend.begun) < len(_SWITCHING):
            self._backend.begun += received[: len(_SWITCHING)]
        return received

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, _left(self._ends_at))
        return _BoundedStream(secured, self._ends_at, self._backend)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def require_allowed(origin: str, addresses: list[str]) -> None:
    """Raises: EgressBlocked unless every one of the addresses may be dialled."""
    listed = settings.EGRESS_PRIVATE_ORIGINS.get(origin)
    scheme, _, host = origin.partition("://")
    if listed is None and (scheme != "https" or _is_address(urlsplit(origin).hostname or host)):
        raise EgressBlocked("origin")
    if not addresses or not all(may_be_dialled(ipaddress.ip_address(one), listed) for one in addresses):
        raise EgressBlocked("address")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _resolve(host: str, port: int) -> list[str]:
    """In a thread of its own, which nobody waits for when the time is over: a resolver cannot be cancelled.

    Raises: OSError.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def work() -> None:
        try:
            addresses, problem = lookup(host, port), None
        except (OSError, UnicodeError) as error:
            addresses, problem = [], error
        try:
            loop.call_soon_threadsafe(_settle, answer, addresses, problem)
        except RuntimeError:  # the loop has ended with the call
            return

    threading.Thread(target=work, name="resolve", daemon=True).start()
    return await answer


def _settle(answer: "asyncio.Future[list[str]]", addresses: list[str], problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(addresses)
    else:
        answer.set_exception(OSError(type(problem).__name__))


def lookup(host: str, port: int) -> list[str]:
    """Every address of a name, each once, in the resolver's order. Raises: OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found))

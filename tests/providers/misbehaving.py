"""An endpoint that misbehaves on purpose, over real sockets: each request takes the next behaviour of its script.

Unscripted it answers every recall with a text and every tool with `stored`.
"""

import gzip
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

LISTEN_BACKLOG = 128
GONE_SECONDS_MAX = 15.0


@dataclass
class Exchange:
    """One request as it came, and the socket to misbehave on. `left_at`: when the client was seen to leave."""

    connection: socket.socket
    at: float
    line: str
    headers: dict[str, str]
    body: bytes
    left_at: float | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def send(self, raw: bytes) -> bool:
        try:
            self.connection.sendall(raw)
        except OSError:
            self.left_at = self.left_at or time.monotonic()
            return False
        return True

    def wait(self, seconds: float) -> bool:
        """False as soon as the client has closed the connection."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if ready and not self._peek():
                self.left_at = time.monotonic()
                return False
        return True

    def _peek(self) -> bytes:
        try:
            return self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return b""

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


type Behaviour = Callable[[Exchange], None]


def answer(status: int, body: bytes, **headers: str) -> bytes:
    named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def raw(content: bytes) -> Behaviour:
    return lambda exchange: exchange.send(content) and None


def body(value: Any, status: int = 200, **headers: str) -> Behaviour:
    return raw(answer(status, json.dumps(value).encode(), **headers))


def error(status: int, code: str = "scripted", details: Any = None, **headers: str) -> Behaviour:
    shown = {"code": code, "message": "As scripted."} | ({} if details is None else {"details": details})
    return body({"error": shown}, status, **headers)


def normal(exchange: Exchange) -> None:
    exchange.send(answer(200, json.dumps(normal_body(exchange.json)).encode()))


def normal_body(request: dict[str, Any]) -> dict[str, Any]:
    if request["operation"] == "recall":
        return {"text": "Known.", "sources": [{"id": "s1"}], "cursor": "c-1"}
    return {"result": {"status": "stored"}}


def after(seconds: float, then: Behaviour = normal) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        if exchange.wait(seconds):
            then(exchange)

    return behave


def once(event: threading.Event, then: Behaviour = normal) -> Behaviour:
    """Answer when the event is set, if the client waits for it."""

    def behave(exchange: Exchange) -> None:
        end = time.monotonic() + GONE_SECONDS_MAX
        while not event.is_set() and time.monotonic() < end:
            if not exchange.wait(0.02):
                return
        then(exchange)

    return behave


def hang(exchange: Exchange) -> None:
    exchange.wait(GONE_SECONDS_MAX)


def drop(exchange: Exchange) -> None:
    """Close before the answer; the `finally` of the server does it."""


def reset(exchange: Exchange) -> None:
    exchange.reset()


def drop_inside(exchange: Exchange) -> None:
    exchange.send(answer(200, json.dumps(normal_body(exchange.json)).encode())[:-5])


def drip_head(exchange: Exchange) -> None:
    _drip(exchange, answer(200, json.dumps(normal_body(exchange.json)).encode()))


def drip_body(exchange: Exchange) -> None:
    content = json.dumps(normal_body(exchange.json)).encode() + b" " * 4_000
    whole = answer(200, content)
    head = len(whole) - len(content)
    exchange.send(whole[:head])
    _drip(exchange, whole[head:])


def _drip(exchange: Exchange, content: bytes) -> None:
    for one in content:
        if not exchange.send(bytes([one])) or not exchange.wait(0.1):
            return


def gzip_bomb(exchange: Exchange) -> None:
    content = gzip.compress(json.dumps({"text": "x" * 5_000_000, "sources": [], "result": 1}).encode())
    exchange.send(answer(200, content, Content_Encoding="gzip"))


def claims_more(exchange: Exchange) -> None:
    content = json.dumps(normal_body(exchange.json)).encode()
    exchange.send(answer(200, content, Content_Length=str(len(content) + 100)))


def claims_less(exchange: Exchange) -> None:
    content = json.dumps(normal_body(exchange.json)).encode()
    exchange.send(answer(200, content, Content_Length=str(len(content) - 5)))


def claims_huge(exchange: Exchange) -> None:
    exchange.send(answer(200, b" " * 70_000, Content_Length=str(2**46)))


def chunked(exchange: Exchange) -> None:
    content = json.dumps(normal_body(exchange.json)).encode()
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, bytes([one])) for one in content)
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n")


def informs_first(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
    normal(exchange)


def encoded(coding: str) -> Behaviour:
    """Whatever the bytes are: the coding alone is what was not asked for."""
    return lambda exchange: (
        exchange.send(answer(200, json.dumps(normal_body(exchange.json)).encode(), Content_Encoding=coding))
        and None
    )


def untyped(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(normal_body(exchange.json)).encode())


class Endpoint:
    """`script`: what the next requests meet, in order; after it everything is normal."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=LISTEN_BACKLOG)
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.script: list[Behaviour] = []
        self.always: Behaviour = normal
        self.exchanges: list[Exchange] = []
        self.connected = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # else whoever waits in accept keeps it open
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connected += 1
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        exchange = None
        try:
            exchange = _read(connection)
            if exchange is None:
                return
            with self._lock:
                self.exchanges.append(exchange)
                behave = self.script.pop(0) if self.script else self.always
            behave(exchange)
        finally:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
            if exchange is not None:
                exchange.ended.set()


def _read(connection: socket.socket) -> Exchange | None:
    with suppress(OSError):
        received = b""
        while b"\r\n\r\n" not in received:
            chunk = connection.recv(65_536)
            if not chunk:
                return None
            received += chunk
        head, _, content = received.partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in fields)}
        while len(content) < int(headers.get("content-length", "0")):
            content += connection.recv(65_536)
        return Exchange(connection, time.monotonic(), line, headers, content)
    return None


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    try:
        yield made
    finally:
        made.close()

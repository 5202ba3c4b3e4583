"""A small server over a real socket: the queue of an environment's work and one session. Everything else goes on to a hub."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "work-token"


@dataclass
class FakeQueue:
    """`calls`: each call of the queue and the first of each kind of another, in order."""

    hub_port: int
    hub_key: str
    session: dict[str, Any]
    calls: list[str] = field(default_factory=list)
    beats: list[str] = field(default_factory=list)
    waiting: int = 1
    secret: str | None = (
        base64.urlsafe_b64encode(json.dumps({"sessions_token": TOKEN}).encode()).decode().rstrip("=")
    )
    beat_status: int = 200
    state: str = "active"
    ttl_seconds: float = 2
    slow_upload_seconds: float = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, call: str, *, once: bool = False) -> None:
        with self.lock:
            if not once or call not in self.calls:
                self.calls.append(call)

    def answer_work(self, method: str, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        verb = path.rpartition("/")[2]
        if verb != "poll":
            self.note(verb, once=verb == "heartbeat")
        if verb == "poll":
            self.waiting, is_there = max(0, self.waiting - 1), self.waiting > 0
            item = {"id": "work_1", "data": {"type": "session", "id": "sesn_1"}, "secret": self.secret}
            return 200, item if is_there else None
        if verb == "heartbeat":
            return self.answer_beat(query["expected_last_heartbeat"][0])
        return 200, {"id": "work_1", "secret": None}

    def answer_beat(self, expected: str) -> tuple[int, Any]:
        last = self.beats[-1] if self.beats else "NO_HEARTBEAT"
        if self.beat_status != 200 or expected != last:
            details = {"error_code": "heartbeat_precondition_failed", "current_state": self.state}
            error = {"type": "precondition_failed_error", "message": "The lease is lost.", "details": details}
            return self.beat_status if self.beat_status != 200 else 412, {"error": error}
        self.beats.append(f"beat-{len(self.beats)}")
        return 200, {
            "type": "work_heartbeat",
            "last_heartbeat": self.beats[-1],
            "lease_extended": self.state == "active",
            "state": self.state,
            "ttl_seconds": self.ttl_seconds,
        }


@contextmanager
def serving(queue: FakeQueue) -> Iterator[FakeQueue]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(queue))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    queue.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield queue
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(queue: FakeQueue) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = urlsplit(self.path)
            if "/work/" in parts.path:
                self._send(*queue.answer_work(self.command, parts.path, parse_qs(parts.query)))
            elif parts.path.startswith("/v1/sessions/"):
                queue.note("session")
                assert self.headers["Authorization"] == f"Bearer {TOKEN}"
                self._send(200, queue.session)
            else:
                self._forward(body)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815

        def _forward(self, body: bytes) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            queue.note("download" if self.command == "GET" else "upload", once=self.command == "GET")
            if self.command == "POST" and queue.slow_upload_seconds:
                threading.Event().wait(queue.slow_upload_seconds)
            connection = HTTPConnection("127.0.0.1", queue.hub_port, timeout=20)
            headers = {"Authorization": f"Bearer {queue.hub_key}", "Content-Type": "application/json"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self._send(answer.status, json.loads(answer.read()))
            connection.close()

        def _send(self, status: int, body: Any) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler

"""A server of one empty store that takes its time over each write. `python -m tests.mount.slow_server SECONDS` prints its port.

After a line on its standard input it prints how many writes it answered.
"""

import hashlib
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seconds = 0.0
    saved: set[str] = set()
    lock = Lock()

    def do_GET(self) -> None:
        if self.path.endswith("/memory_stores/memstore_1"):
            self._send({"id": "memstore_1", "name": "Notes"})
        elif "/changes" in self.path:
            self._send({"data": [], "has_more": False, "last_sequence": 1})
        else:
            self._send({"data": [], "next_page": None})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(self.seconds)
        with self.lock:
            self.saved.add(body["path"])
            number = len(self.saved)
        digest = hashlib.sha256(body["content"].encode()).hexdigest()
        self._send({"id": f"mem_{number}", "path": body["path"], "content_sha256": digest})

    def _send(self, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


if __name__ == "__main__":
    Handler.seconds = float(sys.argv[1])
    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.readline()
    print(len(Handler.saved), flush=True)

"""gunicorn's threaded worker, with the hub's own answer to what gunicorn cannot parse.

gunicorn quotes the bad bytes in a page of HTML; here nothing of a request comes back. It waits for ever for a reader that takes
nothing; here such a reader is hung up on, since it holds a thread.
"""

import errno
import socket
import struct
from typing import Any

from django.http import HttpRequest
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.csp import ContentSecurityPolicyMiddleware
from django.middleware.security import SecurityMiddleware
from gunicorn import util
from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.workers.gthread import ThreadWorker

from memoryhub.environ import read_integer
from memoryhub.errors import InvalidRequest
from memoryhub.problems import answer_error
from memoryhub.process_end import ending

STATUSES: dict[type[Exception], tuple[int, str]] = {
    LimitRequestLine: (414, "URI Too Long"),
    ExpectationFailed: (417, "Expectation Failed"),
    LimitRequestHeaders: (431, "Request Header Fields Too Large"),
    UnsupportedTransferCoding: (501, "Not Implemented"),
}
# What gives every other answer its headers.
GUARDS = (SecurityMiddleware, ContentSecurityPolicyMiddleware, XFrameOptionsMiddleware)
OUR_FAULT = (InvalidResponseHeader, InvalidResponseHeaderName)
# For so long the other side may take nothing of an answer.
SEND_SECONDS = read_integer("MEMORYHUB_SEND_SECONDS", 30, minimum=1, maximum=3_600)
_SEND_TIMEOUT = struct.pack("ll", SEND_SECONDS, 0)  # a timeval: seconds, microseconds


class WebWorker(ThreadWorker):  # type: ignore[misc]
    def handle_exit(self, sig: int, frame: Any) -> None:
        """Asked to end: streams would otherwise be waited for."""
        ending.set()
        super().handle_exit(sig, frame)

    def handle_request(self, req: Any, conn: Any) -> bool:
        """The kernel's timeout counts from the last byte that was taken; Python's would count from the first one sent."""
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_TIMEOUT)
        try:
            return bool(super().handle_request(req, conn))
        except BlockingIOError as error:
            self.log.warning("an answer was not read for %s seconds", SEND_SECONDS)
            raise ConnectionResetError(errno.ECONNRESET, "the other side reads nothing") from error

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer a request that never reached the application. Anything but bad syntax is gunicorn's to report."""
        if not isinstance(exc, ParseException) or isinstance(exc, OUR_FAULT):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("request refused: %s", type(exc).__name__)
        try:
            util.write_nonblock(client, refusal(exc))
        except OSError:  # the other side has gone
            self.log.debug("the refusal was not sent")


def refusal(error: ParseException) -> bytes:
    """The bytes of the answer."""
    status, reason = STATUSES.get(type(error), (400, "Bad Request"))
    answer = answer_error(InvalidRequest("The request is malformed."))
    for middleware in GUARDS:
        middleware(lambda request: answer).process_response(HttpRequest(), answer)
    lines = [
        f"HTTP/1.1 {status} {reason}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in answer.items()),
        f"Content-Length: {len(answer.content)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + answer.content

"""Big requests are refused before they cost anything: at the limit, and one past."""

import json
import socket

import pytest

from memoryhub.settings import REQUEST_BODY_BYTES_MAX
from providers.limits import BODY_BYTES_MAX
from tests.authorization.attempts import attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import OWNER
from tests.documented import DocumentedOperation, documented_operations
from tests.live import LiveHub
from tests.world import Caller, Tenant

JSON_OPERATIONS = [operation for operation in documented_operations() if operation.takes_json]


def limit_of(operation: DocumentedOperation) -> int:
    """Of a document's changes it is another one."""
    is_documents = operation.name in ("memory_documents.put", "memory_documents.update")
    return BODY_BYTES_MAX if is_documents else REQUEST_BODY_BYTES_MAX


def padded(body: dict[str, object], size: int) -> bytes:
    """A JSON body of exactly so many bytes: the blanks are allowed."""
    raw = json.dumps(body).encode()
    return raw + b" " * (size - len(raw))


# Objects that are read by the strict reader of reviewed memory have bounds of their own: tests/authority/test_doors.py.
BOUNDED = [operation for operation in JSON_OPERATIONS if operation.body_schema.get("properties")]


@pytest.mark.parametrize("operation", BOUNDED, ids=lambda operation: operation.name)
def test_a_body_one_past_the_limit_is_refused(plots: Plots, operation: DocumentedOperation) -> None:
    attempt, call = attempt_on(operation, plots.mine), plots.mine.callers[OWNER.kind]
    past = padded(attempt.seed.body, limit_of(operation) + 1)
    refused = attempt.sending(raw=past).made_by(call)
    assert (refused.status, refused.error_type, refused.error_code) == (
        413,
        "request_too_large",
        "body_too_large",
    )


@pytest.mark.parametrize("operation", JSON_OPERATIONS, ids=lambda operation: operation.name)
def test_a_body_at_the_limit_is_read(plots: Plots, operation: DocumentedOperation) -> None:
    attempt, call = attempt_on(operation, plots.mine), plots.mine.callers[OWNER.kind]
    assert (
        attempt.sending(raw=padded(attempt.seed.body, limit_of(operation))).made_by(call).status
        == operation.status
    )


def test_the_largest_memory_fits_in_a_body_however_it_is_spelled(call: Caller, store_id: str) -> None:
    content = "\u00e9" * 51_200  # 102,400 bytes; 307,200 when every letter is an escape
    raw = json.dumps({"path": "/a", "content": content}, ensure_ascii=True).encode()
    assert call("POST", f"/v1/memory_stores/{store_id}/memories", raw=raw).status == 200


def test_many_items_and_deep_lists_are_refused_quickly(call: Caller) -> None:
    scopes = call("POST", "/v1/api_keys", {"name": "x", "scopes": ["read"] * 10_000})
    assert scopes.status == 400
    stores = [{"memory_store_id": "x"}] * 10_000
    assert call("POST", "/v1/api_keys", {"name": "x", "scopes": ["agent"], "stores": stores}).status in (
        400,
        404,
    )


# --- over a real socket ---


def exchange(live: LiveHub, head: str, *chunks: bytes) -> bytes:
    """The answer to a request written by hand; b"" when the hub only closed."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as connection:
        try:
            connection.sendall(head.encode("latin-1"))
            for chunk in chunks:
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it answered before the end, and closed
        received = b""
        try:
            while piece := connection.recv(65_536):
                received += piece
        except ConnectionResetError:
            pass
    return received


def status_of(received: bytes) -> int:
    return int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/1.1 ") else 0


def head(method: str, target: str, tenant: Tenant, *more: str) -> str:
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {tenant.key}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, *more, "", ""])


def test_a_query_of_a_mebibyte_is_refused(live: LiveHub, live_tenant: Tenant) -> None:
    target = "/v1/memory_stores?created_at[gte]=" + "x" * 1_048_576
    assert 400 <= status_of(exchange(live, head("GET", target, live_tenant))) < 500


def chunk(size: int) -> bytes:
    return f"{size:x}\r\n".encode() + b" " * size + b"\r\n"


JSON_CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")


def test_a_chunked_body_is_read_up_to_the_limit(live: LiveHub, live_tenant: Tenant) -> None:
    body = b'{"name":"chunked"}'
    piece = f"{len(body):x}\r\n".encode() + body + b"\r\n"
    received = exchange(
        live, head("POST", "/v1/memory_stores", live_tenant, *JSON_CHUNKED), piece, chunk(1_000), b"0\r\n\r\n"
    )
    assert status_of(received) == 200, received
    past = [chunk(65_536)] * 16
    received = exchange(
        live, head("POST", "/v1/memory_stores", live_tenant, *JSON_CHUNKED), piece, *past, b"0\r\n\r\n"
    )
    assert status_of(received) == 413, received


def test_a_length_that_promises_too_much_is_refused_before_the_body(
    live: LiveHub, live_tenant: Tenant
) -> None:
    more = ("Content-Type: application/json", f"Content-Length: {64 << 40}")
    received = exchange(live, head("POST", "/v1/memory_stores", live_tenant, *more))
    assert status_of(received) == 413, received


def test_a_body_that_is_cut_off_is_not_taken_for_a_whole_one(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    store_id = call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    target = f"/v1/memory_stores/{store_id}/files/a.md"
    more = ("Content-Type: text/plain", "Content-Length: 100")
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as connection:
        connection.sendall(head("PUT", target, live_tenant, *more).encode() + b"only the beginning")
        connection.shutdown(socket.SHUT_WR)
        received = connection.recv(65_536)
    assert status_of(received) == 400, received
    assert call("GET", target).status == 404


def resident_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


GROWTH_KIB_MAX = 20 * 1_024


def test_big_requests_cost_little_memory(live: LiveHub, live_tenant: Tenant) -> None:
    body = b'{"name":"big"}'
    piece = f"{len(body):x}\r\n".encode() + body + b"\r\n"
    for _ in range(4):  # what a process takes once, it keeps
        exchange(live, head("POST", "/v1/memory_stores", live_tenant, *JSON_CHUNKED), piece, b"0\r\n\r\n")
    before = {pid: resident_kib(pid) for pid in live.worker_pids()}
    assert before
    for _ in range(8):
        exchange(
            live, head("POST", "/v1/memory_stores", live_tenant, *JSON_CHUNKED), piece, *[chunk(65_536)] * 160
        )
    growth = {pid: resident_kib(pid) - before[pid] for pid in live.worker_pids() if pid in before}
    assert growth and max(growth.values()) <= GROWTH_KIB_MAX, growth

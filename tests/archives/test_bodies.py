"""Archives over a real connection: with a length, in chunks, too large either way, and cut off."""

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.conf import settings

from tests.archives.written import TAR, Draft
from tests.live import LiveHub
from tests.world import Tenant

PIECE = 700


def send(live: LiveHub, key: str, body: Any, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", live.port, timeout=20)
    sent = {"Authorization": f"Bearer {key}", "Content-Type": TAR, **headers}
    try:
        connection.request("POST", "/v1/memory_stores/import", body, sent)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def pieces(archive: bytes) -> Iterator[bytes]:
    for start in range(0, len(archive), PIECE):
        yield archive[start : start + PIECE]


def make_archive() -> bytes:
    draft = Draft()
    draft.add_head("/a.md", b"x" * 50_000)
    return draft.write()


def test_an_archive_arrives_with_a_length_and_in_chunks(live: LiveHub, live_tenant: Tenant) -> None:
    with_length = send(live, live_tenant.key, make_archive())
    in_chunks = send(live, live_tenant.key, pieces(make_archive()))
    assert (with_length[0], in_chunks[0]) == (200, 200), (with_length, in_chunks)
    assert with_length[1]["counts"] == in_chunks[1]["counts"]


def test_a_body_that_is_announced_too_large_is_refused_unread(live: LiveHub, live_tenant: Tenant) -> None:
    size = str(settings.ARCHIVE_BYTES_MAX + 1)
    status, body = send(live, live_tenant.key, b"x", **{"Content-Length": size})
    assert (status, body["error"]["details"]["error_code"]) == (413, "body_too_large")


def test_a_body_that_ends_early_is_refused(live: LiveHub, live_tenant: Tenant) -> None:
    archive = make_archive()
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as connection:
        head = (
            f"POST /v1/memory_stores/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {TAR}\r\n"
            f"Authorization: Bearer {live_tenant.key}\r\nContent-Length: {len(archive)}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode() + archive[:-PIECE])
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert f"The body ended after {len(archive) - PIECE} of {len(archive)} bytes.".encode() in answer


def test_a_download_leaves_no_file_behind(live: LiveHub, live_tenant: Tenant) -> None:
    store_id = send(live, live_tenant.key, make_archive())[1]["memory_store"]["id"]
    run = Path(settings.DATA_DIR) / "run"
    before = {path for path in run.iterdir() if path.is_file()}
    connection = HTTPConnection("127.0.0.1", live.port, timeout=20)
    connection.request(
        "GET", f"/v1/memory_stores/{store_id}/export", headers={"Authorization": f"Bearer {live_tenant.key}"}
    )
    answer = connection.getresponse()
    assert answer.status == 200
    assert len(answer.read()) == int(answer.headers["content-length"])
    connection.close()
    assert {path for path in run.iterdir() if path.is_file()} == before

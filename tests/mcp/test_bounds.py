"""What is bounded: threads and waiters for them, the time of a body, the calls of a key."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from django.conf import LazySettings
from django.db import connections

from memoryhub import mcp_door, mcp_threads
from memoryhub.errors import InvalidRequest, RateLimited, Unavailable
from memoryhub.mcp_door import Door, Names
from memoryhub.mcp_threads import Threads
from tests.world import Tenant


def run[Result](work: Callable[[], Awaitable[Result]]) -> Result:
    return anyio.run(work)


def test_who_finds_no_thread_in_time_is_told_that_nothing_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_threads, "WAIT_SECONDS_MAX", 0.05)
    done: list[str] = []

    async def scene() -> None:
        threads = Threads(1)
        release = anyio.Event()

        async def hold() -> None:
            await threads._free.acquire()
            await release.wait()
            threads._free.release()

        async with anyio.create_task_group() as group:
            group.start_soon(hold)
            await anyio.sleep(0)
            with pytest.raises(Unavailable) as refused:
                await threads.run(lambda: done.append("late"))
            assert refused.value.error_code == "mcp_overloaded" and done == []
            release.set()
        await threads.run(lambda: done.append("free again"))

    run(scene)
    assert done == ["free again"]


def test_no_more_wait_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_threads, "WAITING_MAX", 2)
    refused: list[Unavailable] = []

    async def scene() -> None:
        threads = Threads(1)
        await threads._free.acquire()

        async def ask() -> None:
            try:
                await threads.run(lambda: None)
            except Unavailable as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
            await anyio.sleep(0.05)
            assert len(refused) == 3
            threads._free.release()

    run(scene)
    assert len(refused) == 3


def test_no_connection_stays_with_a_thread_and_a_failure_frees_it() -> None:
    seen: list[Any] = []

    def fail() -> None:
        seen.append(connections["default"])
        raise ValueError("of the work's own")

    async def scene() -> None:
        threads = Threads(1)
        with pytest.raises(ValueError, match="own"):
            await threads.run(fail)
        assert await threads.run(lambda: 7) == 7

    run(scene)
    assert seen[0].connection is None


async def asked(
    door: Door, headers: dict[str, str], *chunks: bytes, method: str = "POST"
) -> tuple[int, Any, Any]:
    """(status, headers, body) of one request to the door, in this process. A body without an end stays open."""
    waiting = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    sent: list[Any] = []

    async def receive() -> Any:
        if waiting:
            return waiting.pop(0)
        return await anyio.sleep_forever()

    async def send(message: Any) -> None:
        sent.append(message)

    named = {"host": "127.0.0.1", "content-type": "application/json", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    await door(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])


async def nobody(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("the protocol is not reached")


def new_door() -> Door:
    return Door(nobody, Threads(1), Names(["127.0.0.1"], frozenset()))


def test_a_body_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_door, "BODY_SECONDS_MAX", 0.05)
    monkeypatch.setattr(mcp_door, "_authenticate", lambda headers: None)
    status, _, body = run(lambda: asked(new_door(), {}, b'{"jsonrpc"'))
    assert (status, body["error"]["message"]) == (400, "The body did not arrive within 0.05 s.")


def test_a_failure_nobody_foresaw_is_a_500_without_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(headers: Any) -> None:
        raise KeyError("SECRET")

    monkeypatch.setattr(mcp_door, "_authenticate", fail)
    status, headers, body = run(lambda: asked(new_door(), {}))
    assert (status, body["error"]["type"]) == (500, "api_error") and "SECRET" not in json.dumps(body)
    assert headers[b"request-id"].decode() == body["request_id"]


def test_a_throttled_key_is_told_when_to_come_back(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.KEY_REQUESTS_PER_MINUTE_MAX = 3
    counted: list[tuple[str, int]] = []

    def count(bucket: str, *, requests_max: int) -> None:
        counted.append((bucket, requests_max))
        raise RateLimited(7)

    monkeypatch.setattr(mcp_door, "count_request", count)
    headers = {"authorization": f"Bearer {tenant.new_key('agent', stores={})}"}
    with pytest.raises(RateLimited):
        mcp_door._authenticate(headers_of(headers))
    [(bucket, requests_max)] = counted
    assert bucket.startswith("apikey_") and requests_max == 3
    monkeypatch.setattr(mcp_door, "_authenticate", lambda headers: count("x", requests_max=3))
    status, answered, _ = run(lambda: asked(new_door(), headers))
    assert (status, answered[b"retry-after"]) == (429, b"7")


def headers_of(headers: dict[str, str]) -> Any:
    return mcp_door._headers(
        {"headers": [(k.encode(), v.encode()) for k, v in headers.items()], "type": "http"}
    )


def test_a_header_that_comes_twice_names_no_key() -> None:
    scope = {"type": "http", "headers": [(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]}
    assert mcp_door._headers(scope)["authorization"] == "Bearer a,Bearer b"


def test_a_body_that_is_cut_off_is_refused() -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    with pytest.raises(InvalidRequest):
        run(lambda: mcp_door._read_body({"content-type": "application/json"}, receive))

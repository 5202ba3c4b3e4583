"""The one way out: what it sends, what it refuses, when it gives up."""

import asyncio
import json
import socket
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryhub import egress
from memoryhub.egress import (
    AnswerTooLarge,
    DeadlineReached,
    Outgoing,
    Reply,
    TransportFailed,
)
from memoryhub.private_origins import parse_private_origins
from tests.noise import NOISE_SECONDS
from tests.providers import misbehaving
from tests.providers.misbehaving import Behaviour, Endpoint

BODY = json.dumps({"operation": "recall"}).encode()


def call(origin: str, *, seconds: float = 5.0, path: str = "/memory", **headers: str) -> Reply:
    return asyncio.run(egress.send(Outgoing(origin, path, BODY, headers), seconds=seconds))


# --- what is sent ---


def test_one_post_is_sent_with_the_headers_of_the_contract_and_nothing_else(endpoint: Endpoint) -> None:
    reply = call(endpoint.origin, Authorization="Bearer s3cret")
    [exchange] = endpoint.exchanges
    assert (reply.status, exchange.line, exchange.body) == (200, "POST /memory HTTP/1.1", BODY)
    assert exchange.headers.keys() == {
        "authorization",
        "host",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "user-agent",
        "connection",
    }
    assert exchange.headers["accept-encoding"] == "identity"
    assert exchange.headers["authorization"] == "Bearer s3cret"
    assert exchange.headers["host"] == endpoint.origin.removeprefix("http://")


def test_the_settings_of_the_environment_are_ignored(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    with misbehaving.endpoint() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        assert call(endpoint.origin).status == 200
        assert "authorization" not in endpoint.exchanges[0].headers
        assert proxy.connected == 0


def test_no_cookie_is_kept(endpoint: Endpoint) -> None:
    endpoint.script = [misbehaving.body({}, Set_Cookie="a=b; Path=/")]
    for _ in range(2):
        call(endpoint.origin)
    assert "cookie" not in endpoint.exchanges[1].headers


def test_a_connection_cannot_change_the_hubs_own_headers(endpoint: Endpoint) -> None:
    call(endpoint.origin, **{"user-agent": "Other", "ACCEPT": "text/html"})
    assert endpoint.exchanges[0].headers["user-agent"].startswith("MemoryHub/")
    assert endpoint.exchanges[0].headers["accept"] == "application/json"


def test_an_outgoing_call_and_a_reply_do_not_show_what_they_hold() -> None:
    outgoing = Outgoing("https://a.example", "/m", b"text", {"Authorization": "Bearer s3cret"})
    assert "s3cret" not in repr(outgoing) and "text" not in repr(outgoing)
    assert "s3cret" not in repr(Reply(200, {"x": "s3cret"}, b"s3cret", None))


def test_a_redirect_is_not_followed(endpoint: Endpoint) -> None:
    with misbehaving.endpoint() as other:
        for status in (301, 302, 303, 307, 308):
            endpoint.script = [misbehaving.body({}, status, Location=f"{other.origin}/elsewhere")]
            assert call(endpoint.origin).status == status
        assert other.exchanges == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_method_is_sent_with_or_without_a_body(endpoint: Endpoint, method: egress.Method) -> None:
    endpoint.always = misbehaving.body({})
    for body in (b"", BODY):
        outgoing = Outgoing(endpoint.origin, "/m/a%2Fb?page=2", body, method=method)
        assert asyncio.run(egress.send(outgoing, seconds=5)).status == 200
    bare, full = endpoint.exchanges
    assert bare.line == full.line == f"{method} /m/a%2Fb?page=2 HTTP/1.1"
    assert not {"content-type", "content-length", "transfer-encoding"} & bare.headers.keys()
    assert (full.body, full.headers["content-length"]) == (BODY, str(len(BODY)))


# --- limits ---


def test_a_body_is_read_to_its_limit_and_not_further(endpoint: Endpoint) -> None:
    endpoint.script = [misbehaving.raw(misbehaving.answer(200, b"x" * 65_536))]
    assert len(call(endpoint.origin).body) == 65_536
    endpoint.script = [misbehaving.raw(misbehaving.answer(200, b"x" * 65_537))]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)


def test_who_needs_more_says_how_much(endpoint: Endpoint) -> None:
    outgoing = Outgoing(endpoint.origin, "/memory", BODY)
    endpoint.script = [misbehaving.raw(misbehaving.answer(200, b"x" * 100_000))] * 2
    assert len(asyncio.run(egress.send(outgoing, seconds=5, answer_bytes_max=100_000)).body) == 100_000
    with pytest.raises(AnswerTooLarge):
        asyncio.run(egress.send(outgoing, seconds=5, answer_bytes_max=99_999))


def pour(exchange: misbehaving.Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while exchange.send(b"1000\r\n" + b"x" * 4_096 + b"\r\n"):
        pass


def test_an_endless_body_is_left_at_the_limit(endpoint: Endpoint) -> None:
    endpoint.script = [pour]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)
    assert endpoint.exchanges[0].ended.wait(5)


def test_a_long_head_is_refused(endpoint: Endpoint) -> None:
    endpoint.script = [misbehaving.body({}, X_Long="x" * 32_768)]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)


def highest_kib() -> int:
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


def bomb() -> Behaviour:
    """200 MB of zeros in 194 KB."""
    packer = zlib.compressobj(wbits=31)
    packed = b"".join([*(packer.compress(bytes(1_000_000)) for _ in range(200)), packer.flush()])
    return misbehaving.raw(misbehaving.answer(200, packed, Content_Encoding="gzip"))


BOMBS: dict[str, Callable[[], Behaviour]] = {
    "a bomb of 200 MB": bomb,
    "a length of 64 TiB": lambda: misbehaving.claims_huge,
    "chunks without end": lambda: pour,
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_grows_by_little_whatever_is_sent(endpoint: Endpoint, name: str) -> None:
    """Promise P5."""
    endpoint.script = [BOMBS[name]()]
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = highest_kib()
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)
    assert highest_kib() - before <= 5 * 1_024


@pytest.mark.parametrize(
    "behave",
    [
        misbehaving.hang,
        misbehaving.drip_head,
        misbehaving.drip_body,
        misbehaving.after(4.0),
    ],
)
def test_nothing_outlives_the_deadline(endpoint: Endpoint, behave: Behaviour) -> None:
    endpoint.script = [behave]
    started = time.monotonic()
    with pytest.raises(DeadlineReached):
        call(endpoint.origin, seconds=0.6)
    assert time.monotonic() - started < 0.9 + NOISE_SECONDS
    assert endpoint.exchanges[0].ended.wait(2)
    assert endpoint.exchanges[0].left_at is not None


def test_a_resolver_that_hangs_does_not_outlive_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress, "lookup", lambda host, port: time.sleep(6))
    started = time.monotonic()
    with pytest.raises(DeadlineReached):
        call("https://slow.example.com", seconds=0.3)
    assert time.monotonic() - started < 0.6 + NOISE_SECONDS


def test_a_service_that_does_not_speak_tls_is_given_up_on(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "CONNECT_SECONDS_MAX", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        origin = f"https://127.0.0.1:{silent.getsockname()[1]}"
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{origin}=127.0.0.0/8")
        started = time.monotonic()
        with pytest.raises(TransportFailed):
            call(origin)
        assert time.monotonic() - started < 0.8 + NOISE_SECONDS


@pytest.mark.parametrize(
    "behave",
    [
        misbehaving.drop,
        misbehaving.reset,
        misbehaving.drop_inside,
        misbehaving.claims_more,
        misbehaving.raw(b"this is no HTTP\r\n\r\n"),
        misbehaving.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345"),
    ],
)
def test_an_answer_that_does_not_come_to_its_end_is_a_failure_of_transport(
    endpoint: Endpoint, behave: Behaviour
) -> None:
    endpoint.script = [behave]
    with pytest.raises(TransportFailed):
        call(endpoint.origin)


def test_nobody_listens(settings: Any) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # held, so that nobody else gets it
        origin = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{origin}=127.0.0.0/8")
        with pytest.raises(TransportFailed):
            call(origin)

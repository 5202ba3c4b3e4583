"""The one way out: what it sends, what it refuses, when it gives up."""

import asyncio
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memoryhub.private_origins import is_public, may_be_dialled, parse_private_origins
from providers import egress
from providers.egress import (
    AnswerTooLarge,
    DeadlineReached,
    EgressBlocked,
    EgressError,
    Outgoing,
    Reply,
    TransportFailed,
)
from tests.providers import misbehaving
from tests.providers.misbehaving import Behaviour, Endpoint

BODY = json.dumps({"operation": "recall"}).encode()


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Endpoint]:
    with misbehaving.endpoint() as made:
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{made.origin}=127.0.0.0/8")
        yield made


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
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert call(endpoint.origin).status == 200


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


# --- limits ---


def test_a_body_is_read_to_its_limit_and_not_further(endpoint: Endpoint) -> None:
    endpoint.script = [misbehaving.raw(misbehaving.answer(200, b"x" * 65_536))]
    assert len(call(endpoint.origin).body) == 65_536
    endpoint.script = [misbehaving.raw(misbehaving.answer(200, b"x" * 65_537))]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)


def test_an_endless_body_is_left_at_the_limit(endpoint: Endpoint) -> None:
    def pour(exchange: misbehaving.Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while exchange.send(b"1000\r\n" + b"x" * 4_096 + b"\r\n"):
            pass

    endpoint.script = [pour]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)
    assert endpoint.exchanges[0].ended.wait(5)


def test_a_long_head_is_refused(endpoint: Endpoint) -> None:
    endpoint.script = [misbehaving.body({}, X_Long="x" * 32_768)]
    with pytest.raises(AnswerTooLarge):
        call(endpoint.origin)


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
    assert time.monotonic() - started < 0.9
    assert endpoint.exchanges[0].ended.wait(2)
    assert endpoint.exchanges[0].left_at is not None


def test_a_resolver_that_hangs_does_not_outlive_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress, "lookup", lambda host, port: time.sleep(3))
    started = time.monotonic()
    with pytest.raises(DeadlineReached):
        call("https://slow.example.com", seconds=0.3)
    assert time.monotonic() - started < 0.6


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
        assert time.monotonic() - started < 0.8


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
    with socket.create_server(("127.0.0.1", 0)) as closed:
        origin = f"http://127.0.0.1:{closed.getsockname()[1]}"
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{origin}=127.0.0.0/8")
    with pytest.raises(TransportFailed):
        call(origin)


# --- addresses ---

REFUSED = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::808:808",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "2001::1",
    "2001:db8::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused_and_not_dialled(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_public(ipaddress.ip_address(address))
    monkeypatch.setattr(egress, "lookup", lambda host, port: [address])
    monkeypatch.setattr(egress._CheckedBackend, "_dial", forbidden)
    with pytest.raises(EgressBlocked):
        call("https://memory.example.com")


async def forbidden(*_: Any) -> Any:
    raise AssertionError("it was dialled")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2001:200::1"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("private", ["10.0.0.1", "::ffff:10.0.0.1", "::1"])
def test_one_private_answer_among_public_ones_refuses_all(
    private: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress._CheckedBackend, "_dial", forbidden)
    for answers in (["8.8.8.8", private], [private, "8.8.8.8"]):
        monkeypatch.setattr(egress, "lookup", lambda host, port, answers=answers: answers)
        with pytest.raises(EgressBlocked):
            call("https://memory.example.com")


def test_the_checked_address_is_dialled_and_the_name_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    dialled: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"] if len(asked) == 1 else ["127.0.0.1"]

    async def dial(self: Any, address: str, port: int, ends_at: float) -> Any:
        dialled.append(address)
        raise OSError("refused")

    monkeypatch.setattr(egress, "lookup", lookup)
    monkeypatch.setattr(egress._CheckedBackend, "_dial", dial)
    with pytest.raises(TransportFailed):
        call("https://rebinding.example.com")
    assert (asked, dialled) == (["rebinding.example.com"], ["8.8.8.8"])


@pytest.mark.parametrize(
    "origin",
    ["http://memory.example.com", "https://8.8.8.8", "https://[2606:4700::1111]", "http://127.0.0.1:1"],
)
def test_plain_http_and_bare_addresses_are_for_listed_origins(
    origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress._CheckedBackend, "_dial", forbidden)
    monkeypatch.setattr(egress, "lookup", lambda host, port: ["8.8.8.8"])
    with pytest.raises(EgressBlocked):
        call(origin)


def test_a_listed_origin_may_resolve_to_what_is_listed_and_to_nothing_else(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(endpoint.origin).address == "127.0.0.1"
    for answers in (["10.0.0.1"], ["8.8.8.8"], ["127.0.0.1", "10.0.0.1"]):
        monkeypatch.setattr(egress, "lookup", lambda host, port, answers=answers: answers)
        with pytest.raises(EgressBlocked):
            call(endpoint.origin)
    assert len(endpoint.exchanges) == 1


def test_the_metadata_of_clouds_cannot_be_listed() -> None:
    for block in ("169.254.0.0/16", "169.254.169.254/32", "fd00:ec2::254/128"):
        with pytest.raises(ValueError, match="metadata"):
            parse_private_origins(f"https://mem.internal={block}")
    wide = parse_private_origins("https://mem.internal=0.0.0.0/0,::/0")["https://mem.internal"]
    assert may_be_dialled(ipaddress.ip_address("10.0.0.1"), wide)
    for address in ("169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254"):
        assert not may_be_dialled(ipaddress.ip_address(address), wide)


@pytest.mark.parametrize(
    "text",
    [
        "mem.internal=10.0.0.0/8",
        "https://mem.internal",
        "https://Mem=10.0.0.0/8",
        "https://m/x=10.0.0.0/8",
        "ftp://m=::/0",
    ],
)
def test_a_list_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_private_origins(text)


# --- TLS ---


class TlsServer:
    """Answers one request over TLS with a certificate for `name`, and keeps the server name that was asked for."""

    def __init__(self, name: str, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.certificate = folder / "certificate.pem"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (folder / "key.pem").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, folder / "key.pem")
        self.names: list[str | None] = []
        self.context.sni_callback = lambda _, name, __: self.names.append(name)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
                with self.context.wrap_socket(connection, server_side=True) as secured:
                    secured.recv(65_536)
                    secured.sendall(misbehaving.answer(200, b"{}"))
            except ssl.SSLError:
                continue
            except OSError:
                return


@pytest.fixture
def tls(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsServer]:
    server = TlsServer("memory.test", tmp_path)
    context = ssl.create_default_context(cafile=str(server.certificate))
    monkeypatch.setattr(egress, "tls_context", lambda: context)
    monkeypatch.setattr(egress, "lookup", lambda host, port: ["127.0.0.1"])
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(
        ";".join(f"https://{name}:{server.port}=127.0.0.0/8" for name in ("memory.test", "other.test"))
    )
    yield server
    server.listener.close()


def test_tls_keeps_the_name_while_the_address_is_dialled(tls: TlsServer) -> None:
    assert call(f"https://memory.test:{tls.port}").status == 200
    assert tls.names == ["memory.test"]


def test_a_certificate_of_another_name_or_of_nobody_known_is_refused(
    tls: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TransportFailed):
        call(f"https://other.test:{tls.port}")
    monkeypatch.setattr(egress, "tls_context", lambda: ssl.create_default_context())
    with pytest.raises(TransportFailed):
        call(f"https://memory.test:{tls.port}")


def test_the_oldest_tls_is_not_spoken() -> None:
    assert egress.tls_context().minimum_version == ssl.TLSVersion.TLSv1_2
    assert egress.tls_context().verify_mode == ssl.CERT_REQUIRED
    assert egress.tls_context().check_hostname


def test_every_error_of_the_library_is_mapped() -> None:
    import httpcore2

    kinds = [
        kind for kind in vars(httpcore2).values() if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    passing = {httpcore2.UnsupportedProtocol, httpcore2.ConnectionNotAvailable, httpcore2.ProxyError}
    unmapped = {kind for kind in kinds if not issubclass(kind, egress._TRANSPORT_ERRORS + (EgressError,))}
    assert unmapped == passing  # a scheme we do not use, a pool and a proxy that are not there

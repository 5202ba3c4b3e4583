"""Which addresses are dialled, and under which name."""

import asyncio
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memoryhub import egress
from memoryhub.egress import (
    EgressBlocked,
    EgressError,
    Outgoing,
    Reply,
    TransportFailed,
)
from memoryhub.private_origins import is_public, may_be_dialled, parse_private_origins
from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint

BODY = json.dumps({"operation": "recall"}).encode()


def call(origin: str, *, seconds: float = 5.0, path: str = "/memory", **headers: str) -> Reply:
    return asyncio.run(egress.send(Outgoing(origin, path, BODY, headers), seconds=seconds))


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
    "0.1.2.3",
    "127.255.0.9",
    "240.0.0.1",
    "::127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "2001:0:7f00:1::",
    "fec0::1",
    "100::1",
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


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["::ffff:127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"]])
def test_who_listens_here_sees_nobody(
    endpoint: Endpoint, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = endpoint.listener.getsockname()[1]
    monkeypatch.setattr(egress, "lookup", lambda host, port: answers)
    with pytest.raises(EgressBlocked):
        call(f"https://memory.example.com:{port}")
    assert endpoint.connected == 0


@pytest.mark.parametrize(
    "host", ["localhost", "localhost.", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7f000001"]
)
def test_no_spelling_of_this_machine_is_called(endpoint: Endpoint, host: str) -> None:
    """With the resolver of the system, which takes some numbers for addresses."""
    port = endpoint.listener.getsockname()[1]
    with pytest.raises((EgressBlocked, TransportFailed)):
        call(f"https://{host}:{port}")
    assert endpoint.connected == 0


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
    endpoint: Endpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = endpoint.origin.replace("127.0.0.1", "memory.internal")
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{named}=127.0.0.0/8")
    for answers in (["127.0.0.1"], ["10.0.0.1"], ["8.8.8.8"], ["127.0.0.1", "10.0.0.1"]):
        monkeypatch.setattr(egress, "lookup", lambda host, port, answers=answers: answers)
        if answers == ["127.0.0.1"]:
            assert call(named).address == "127.0.0.1"
            continue
        with pytest.raises(EgressBlocked):
            call(named)
    assert len(endpoint.exchanges) == 1


def test_an_address_needs_no_resolver_and_is_checked_as_any(
    endpoint: Endpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "lookup", lambda host, port: pytest.fail("asked"))
    assert call(endpoint.origin).address == "127.0.0.1"
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{endpoint.origin}=10.0.0.0/8")
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

    def __init__(self, name: str, folder: Path, *, days_left: int = 1) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=10))
            .not_valid_after(now + timedelta(days=days_left))
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
        self.received = b""
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
                    received = b""
                    while not received.endswith(BODY):  # closing with bytes unread would reset the connection
                        received += secured.recv(65_536)
                    self.received += received
                    secured.sendall(misbehaving.answer(200, b"{}"))
            except ssl.SSLError:
                continue
            except OSError:
                return


@pytest.fixture
def days_left() -> int:
    return 1


@pytest.fixture
def tls(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, days_left: int
) -> Iterator[TlsServer]:
    server = TlsServer("memory.test", tmp_path, days_left=days_left)
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
    assert tls.received.endswith(BODY)


def test_a_certificate_of_another_name_or_of_nobody_known_is_refused(
    tls: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TransportFailed):
        call(f"https://other.test:{tls.port}")
    monkeypatch.setattr(egress, "tls_context", lambda: ssl.create_default_context())
    with pytest.raises(TransportFailed):
        call(f"https://memory.test:{tls.port}")


@pytest.mark.parametrize("days_left", [-1])
def test_a_certificate_that_has_expired_is_refused(tls: TlsServer, days_left: int) -> None:
    with pytest.raises(TransportFailed):
        call(f"https://memory.test:{tls.port}")
    assert tls.names == ["memory.test"], "it was asked, and nothing was sent to it"
    assert not tls.received


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

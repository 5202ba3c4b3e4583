"""Headers that try to smuggle, to overflow or to be believed, written by hand to a real web server."""

import pytest
from django.test import Client

from memoryhub import invitations
from tests.hostile.test_sizes import exchange, status_of
from tests.live import LiveHub
from tests.world import Tenant

CANARY = "canary-of-a-header"
LINE = "GET /v1/memory_stores HTTP/1.1"


def request(tenant: Tenant, *more: str, line: str = LINE, host: str | None = "Host: 127.0.0.1") -> str:
    lines = [
        line,
        *([host] if host else []),
        f"Authorization: Bearer {tenant.key}",
        "Connection: close",
        *more,
    ]
    return "\r\n".join([*lines, "", ""])


def test_the_request_itself_is_answered(live: LiveHub, live_tenant: Tenant) -> None:
    received = exchange(live, request(live_tenant, f"X-Odd: {CANARY}"))
    assert status_of(received) == 200, received
    assert CANARY.encode() not in received


POST = "POST /v1/memory_stores HTTP/1.1"
JSON = "Content-Type: application/json"
BAD_REQUESTS: dict[str, dict[str, object]] = {
    "a NUL in a value": {"more": [f"X-Odd: a\0{CANARY}"]},
    "a bare CR in a value": {"more": [f"X-Odd: a\r{CANARY}"]},
    "a bare LF that begins another header": {"more": [f"X-Odd: a\n{CANARY}: 1"]},
    "a folded line": {"more": ["X-Odd: a", f" {CANARY}"]},
    "a blank before the colon": {"more": [f"X-Odd : {CANARY}"]},
    "a name that is no token": {"more": [f"X Odd: {CANARY}"]},
    "a line without a colon": {"more": [CANARY]},
    "an empty name": {"more": [f": {CANARY}"]},
    "a value of 64 KiB": {"more": [f"X-Odd: {CANARY * 3_641}"]},
    "2,000 headers": {"more": [f"X-Odd-{index}: {CANARY}" for index in range(2_000)]},
    "one header 2,000 times": {"more": [f"X-Odd: {CANARY}"] * 2_000},
    "two lengths": {"line": POST, "more": [JSON, "Content-Length: 2", "Content-Length: 12"], "body": b'{"name":"x"}'},
    "a length with a sign": {"line": POST, "more": [JSON, "Content-Length: +12"], "body": b'{"name":"x"}'},
    "a length that is no number": {"line": POST, "more": [JSON, f"Content-Length: {CANARY}"]},
    "a negative length": {"line": POST, "more": [JSON, "Content-Length: -1"]},
    "a length and chunks": {
        "line": POST,
        "more": [JSON, "Content-Length: 12", "Transfer-Encoding: chunked"],
        "body": b'c\r\n{"name":"x"}\r\n0\r\n\r\n',
    },
    "an unknown transfer encoding": {"line": POST, "more": [JSON, f"Transfer-Encoding: {CANARY}"]},
    "chunked twice": {"line": POST, "more": [JSON, "Transfer-Encoding: chunked, chunked"], "body": b"0\r\n\r\n"},
    "a chunk size that is no number": {
        "line": POST,
        "more": [JSON, "Transfer-Encoding: chunked"],
        "body": b"zz\r\n{}\r\n0\r\n\r\n",
    },
    "another host": {"host": f"Host: {CANARY}.example"},
    "a host with a path": {"host": f"Host: 127.0.0.1/{CANARY}"},
    "a host with a user": {"host": f"Host: {CANARY}@127.0.0.1"},
    "a host with a blank": {"host": f"Host: 127.0.0.1 {CANARY}"},
    "two hosts that differ": {"more": [f"Host: {CANARY}.example"]},
    "an absolute target of another host": {
        "line": f"GET http://{CANARY}.example/v1/memory_stores HTTP/1.1",
        "host": f"Host: {CANARY}.example",
    },
    "no HTTP version": {"line": "GET /v1/memory_stores"},
    "a version that is not": {"line": "GET /v1/memory_stores HTTP/9.9"},
    "a method that is no token": {"line": "G\0T /v1/memory_stores HTTP/1.1"},
    "a method of the hub's own making": {"line": f"{CANARY.upper().replace('-', '')} /v1/memory_stores HTTP/1.1"},
    "a TRACE": {"line": "TRACE /v1/memory_stores HTTP/1.1", "more": [f"X-Odd: {CANARY}"]},
    "a target with a NUL": {"line": "GET /v1/memory_stores/\0 HTTP/1.1"},
    "a target that is no path": {"line": f"GET {CANARY} HTTP/1.1"},
    "the beginning of HTTP/2": {"line": "PRI * HTTP/2.0"},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_bad_request_is_refused_and_never_reflected(live: LiveHub, live_tenant: Tenant, name: str) -> None:
    parts = dict(BAD_REQUESTS[name])
    body = parts.pop("body", b"")
    received = exchange(live, request(live_tenant, *parts.pop("more", []), **parts), body)  # type: ignore[arg-type, misc]
    assert status_of(received) in (0, *range(400, 500), 501, 505), received[:300]
    assert b"api_error" not in received
    assert b"<" not in received, "what cannot be parsed is answered in the same envelope"
    assert CANARY.encode() not in received.lower()


def test_no_bad_request_made_a_store(live: LiveHub, live_tenant: Tenant) -> None:
    for name in BAD_REQUESTS:
        test_a_bad_request_is_refused_and_never_reflected(live, live_tenant, name)
    assert live.caller(live_tenant.key)("GET", "/v1/memory_stores").body["data"] == []


BELIEVED = {
    "X-Forwarded-Host": f"{CANARY}.example",
    "X-Forwarded-For": "127.0.0.1",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Port": "1",
    "X-Forwarded-Prefix": f"/{CANARY}",
    "Forwarded": f"host={CANARY}.example;proto=https",
    "X-Original-URL": "/v1/projects",
    "X-Rewrite-URL": "/v1/projects",
    "X-HTTP-Method-Override": "DELETE",
    "X-Request-Id": CANARY,
    "Request-Id": CANARY,
}


def test_what_only_a_proxy_may_say_is_not_believed(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    plain, told = call("GET", "/v1/memory_stores"), call("GET", "/v1/memory_stores", headers=BELIEVED)
    assert (told.status, told.content) == (plain.status, plain.content)
    assert told.headers.keys() == plain.headers.keys()
    assert CANARY not in repr(told.headers)


def test_a_key_is_not_read_from_a_header_that_only_looks_like_it(live: LiveHub, live_tenant: Tenant) -> None:
    for spelled in ("X_Api_Key", "HTTP_X_API_KEY", "X-Api_Key"):
        received = exchange(
            live, f"{LINE}\r\nHost: 127.0.0.1\r\n{spelled}: {live_tenant.key}\r\nConnection: close\r\n\r\n"
        )
        assert status_of(received) in (400, 401), received


def test_addresses_are_made_from_settings_and_not_from_the_host(tenant: Tenant) -> None:
    from django.conf import settings

    client = Client(headers={"Authorization": f"Bearer {tenant.new_key('admin', whole=True)}"})
    told = client.post(
        "/v1/invitations",
        {"email": "new@example.com", "role": "viewer"},
        content_type="application/json",
        headers={"Host": "localhost", **BELIEVED},
    )
    assert told.status_code == 200, told.content
    assert told.json()["url"].startswith(f"{settings.BASE_URL}/invitations/")
    assert CANARY.encode() not in told.content
    assert invitations.find_invitation(told.json()["url"].rpartition("/")[2]) is not None

"""Secrets are shown once and appear nowhere else: no log, no answer, no page, no row, no message of the queue."""

import base64
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
import redis
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client, override_settings

from memoryhub import accounts, invitations, keys, throttles
from memoryhub.session_store import SessionStore
from memoryhub.tokens import TOKEN_BYTES, new_token
from stores import memory_stores
from tests.secrets.spellings import hits
from tests.world import Tenant

CONNECTION_SECRET = "Zebra-canary-of-a-connection-1"
PASSWORD, NEW_PASSWORD = "Zebra-canary-password-1", "Zebra-canary-password-2"
DATABASE_PASSWORD = str(settings.DATABASES["default"]["PASSWORD"])


@dataclass
class Seen:
    """What a representative day shows: the answers that must not hold a secret, and the secrets by name."""

    email: str
    secrets: dict[str, str]
    answers: list[bytes] = field(default_factory=list)

    def note(self, answer: object) -> None:
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        self.answers.append(content + repr(dict(answer.headers)).encode())  # type: ignore[attr-defined]


@pytest.fixture
def day(
    tenant: Tenant, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Seen, str]]:
    """Everything people and programs do with secrets, at the most talkative level of the log."""
    caplog.set_level(logging.DEBUG)  # of what no setting can make louder, the level stays
    assert logging.getLogger("django.request").level == logging.CRITICAL, "it would log the URL of a link"
    issued = tenant.new_key("admin", whole=True)
    email = f"guest-{uuid.uuid4().hex[:8]}@example.com"  # tries to sign in are counted by address
    seen = Seen(
        email,
        {
            "API key": issued.split("_", 2)[2],
            "password": PASSWORD,
            "new password": NEW_PASSWORD,
            "sign-in token": accounts.create_sign_in_link(tenant.owner.id),
            "invitation token": invitations.create_invitation(
                email=email, role="viewer", actor=tenant.actor
            ).token,
            "secret of a connection": CONNECTION_SECRET,
            "database password": DATABASE_PASSWORD,
            "SECRET_KEY": settings.SECRET_KEY,
        },
    )
    people(seen, tenant)
    programs(seen, issued, monkeypatch)
    yield seen, caplog.text + "".join(record.exc_text or "" for record in caplog.records)


def people(seen: Seen, tenant: Tenant) -> None:
    client = Client(raise_request_exception=False)
    token = seen.secrets["invitation token"]
    seen.note(client.get(f"/invitations/{token}"))
    seen.note(client.post(f"/invitations/{token}", {"name": "Guest", "password": "short"}))
    seen.note(client.post(f"/invitations/{token}", {"name": "Guest", "password": PASSWORD}))
    seen.note(client.get("/"))
    form = {"current": PASSWORD, "new": NEW_PASSWORD}
    seen.note(client.post("/account/password", {**form, "current": "wrong"}))
    seen.note(client.post("/account/password", form))
    seen.note(client.post("/sign-out"))
    seen.note(client.post("/sign-in", {"email": seen.email, "password": PASSWORD}))
    signed_in = client.post("/sign-in", {"email": seen.email, "password": NEW_PASSWORD})
    assert signed_in.status_code == 302, signed_in.content
    seen.secrets["session cookie"] = client.cookies[settings.SESSION_COOKIE_NAME].value
    seen.note(client.get("/"))
    link = f"/sign-in/{seen.secrets['sign-in token']}"
    seen.note(Client().get(link))
    seen.note(Client().post(link))
    seen.note(Client().post(link))


def programs(seen: Seen, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {key}"})

    def send(method: str, path: str, body: object = None, **headers: str) -> None:
        raw = b"" if body is None else json.dumps(body).encode()
        answer = client.generic(method, path, raw, content_type="application/json", headers=headers)
        assert answer.status_code != 401 or headers
        seen.note(answer)

    send("POST", "/v1/memory_stores", {"name": "Notes", "environment": "development"})
    send("GET", "/v1/memory_stores")
    send("GET", "/v1/api_keys")
    send("GET", "/v1/audit_events")
    send("GET", "/v1/invitations")
    secrets_of_connections(send)
    send("POST", "/v1/memory_stores", {"nope": 1})
    send("GET", "/v1/memory_stores/none")
    send("GET", "/v1/none")
    send("PUT", "/v1/memory_stores")
    send("GET", "/v1/memory_stores", Authorization=f"Bearer {key}x")
    send("GET", "/v1/memory_stores", Authorization=f"Basic {key}")
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.yaml", "/docs", "/docs/settings"):
        send("GET", path)
    with monkeypatch.context() as patched:
        patched.setattr(memory_stores, "list_stores", _fail(RuntimeError("a bug")))
        send("GET", "/v1/memory_stores")
        patched.setattr(memory_stores, "list_stores", _fail(OperationalError("connection lost")))
        send("GET", "/v1/memory_stores")
        patched.setattr(accounts, "check_sign_in", _fail(RuntimeError("a bug")))
        answer = client.post("/sign-in", {"email": seen.email, "password": NEW_PASSWORD})
        assert answer.status_code == 500
        seen.note(answer)
    with override_settings(REDIS_URL=f"redis://:{seen.secrets['database password']}@127.0.0.1:1/0"):
        throttles._redis.cache_clear()
        try:
            send("GET", "/v1/memory_stores")
            send("GET", "/readyz")
        finally:
            throttles._redis.cache_clear()


def secrets_of_connections(send: Callable[..., None]) -> None:
    """Made, changed, refused in every part, listed."""
    made = {
        "name": "TOKEN",
        "environment": "development",
        "value": CONNECTION_SECRET,
        "allowed_origins": ["https://memory.example.com"],
    }
    for body in (
        made,
        made,
        made | {"value": f"{CONNECTION_SECRET}\n"},
        made | {"value": [CONNECTION_SECRET]},
        made | {"value": CONNECTION_SECRET * 200},
        made | {"name": "token"},
        made | {"allowed_origins": ["http://memory.example.com"]},
        made | {"environment": "none"},
    ):
        send("PUT", "/v1/secrets", body)
    send("GET", "/v1/secrets")
    header = {"Authorization": {"secret": "TOKEN", "prefix": "Bearer "}}
    connection_ = {"id": "kb", "origin": "https://memory.example.com", "methods": ["POST"], "headers": header}
    send("POST", "/v1/deployments", {"agent_id": "a", "manifest": {"connections": [connection_]}})
    send("GET", "/v1/deployments")


def _fail(error: Exception) -> object:
    def failing(*args: object, **kwargs: object) -> None:
        raise error

    return failing


def test_no_log_line_holds_a_secret(day: tuple[Seen, str]) -> None:
    seen, log = day
    assert log.count("request_id") > 20, "VACUOUS: the day was not logged"
    assert log.count("a bug") >= 2
    assert hits(log.encode(), seen.secrets) == []


def test_no_answer_and_no_page_holds_a_secret(day: tuple[Seen, str]) -> None:
    seen, _ = day
    assert len(seen.answers) > 25
    # The session's cookie goes to its owner, in the one answer that signs in.
    assert [found for answer in seen.answers if (found := hits(answer, seen.secrets))] == []


def test_no_row_holds_a_secret(day: tuple[Seen, str]) -> None:
    seen, _ = day
    stored = {name: secret for name, secret in seen.secrets.items() if name not in ("database password",)}
    assert hits(all_rows(), stored) == []


def all_rows() -> bytes:
    """Every row of every table, as text; bytes stand in it as hex."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
        texts = []
        for table in tables:
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{table}" t')
            texts += [row[0] for row in cursor.fetchall()]
    assert "memoryhub_browsersession" in tables and len(texts) > 20
    return "\n".join(texts).encode()


def test_no_message_or_counter_of_the_queue_holds_a_secret(day: tuple[Seen, str]) -> None:
    seen, _ = day
    client = redis.Redis.from_url(settings.REDIS_URL)
    found = [name + (client.dump(name) or b"") for name in client.keys("*")]
    assert found, "VACUOUS: not even a throttle's counter"
    assert hits(b"\n".join(found), seen.secrets) == []


def test_the_search_finds_what_is_there() -> None:
    secrets = {"x": "Zebra-canary&secret"}
    for shown in (
        b"a Zebra-canary&secret b",
        b"p=Zebra-canary%26secret",
        base64.b64encode(b"user:Zebra-canary&secret"),
        b"Zebra-canary&secret".hex().encode(),
    ):
        assert hits(shown, secrets) == ["x"], shown
    assert hits(b"Zebra", secrets) == []


def test_a_token_is_256_random_bits() -> None:
    assert TOKEN_BYTES * 8 == 256
    assert len({new_token() for _ in range(1_000)}) == 1_000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", new_token()) for _ in range(100))


def test_a_key_is_shown_when_it_is_made_and_never_again(tenant: Tenant) -> None:
    call = tenant.call()
    made = call("POST", "/v1/api_keys", {"name": "new", "scopes": ["read"]})
    secret = made.body["key"]
    rotated = call("POST", f"/v1/api_keys/{made.body['id']}/rotate", {})
    assert rotated.body["key"] != secret
    for answer in (
        call("GET", f"/v1/api_keys/{made.body['id']}"),
        call("GET", "/v1/api_keys", query={"limit": 100}),
        call("POST", f"/v1/api_keys/{made.body['id']}/revoke"),
        call("GET", "/v1/audit_events", query={"limit": 100}),
    ):
        assert answer.status == 200
        assert secret.split("_", 2)[2].encode() not in answer.content
        assert b'"key"' not in answer.content


def test_what_the_database_keeps_of_a_key_signs_nobody_in(tenant: Tenant) -> None:
    key = keys.authenticate_key(tenant.key)
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, secret_sha256, secret_hint FROM memoryhub_apikey")
        for key_id, digest, hint in cursor.fetchall():
            stored = bytes(digest)
            assert len(stored) == 32 and len(hint) == 4
            for guess in (stored.hex(), base64.urlsafe_b64encode(stored).decode().rstrip("=")):
                client = Client(headers={"Authorization": f"Bearer mh_{key_id.hex}_{guess}"})
                assert client.get("/v1/projects").status_code == 401
    assert key.project_id == tenant.project.id


def test_what_the_database_keeps_of_a_session_signs_nobody_in(tenant: Tenant) -> None:
    client = Client()
    client.force_login(tenant.owner)
    assert client.get("/").status_code == 200
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_key FROM memoryhub_browsersession")
        stored = [row[0] for row in cursor.fetchall()]
    assert stored and cookie not in stored
    for key in stored:
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = key
        assert thief.get("/").status_code == 302
    assert SessionStore(cookie).exists(cookie)
    client.post("/sign-out")
    assert not SessionStore(cookie).exists(cookie)
    assert client.get("/").status_code == 302


def test_passwords_are_kept_by_argon2() -> None:
    from memoryhub import settings as written

    assert written.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]

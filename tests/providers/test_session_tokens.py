"""A session's token reaches the stores that the session attaches, as the session, and ends with it."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import keys
from memoryhub import sessions as ground_sessions
from memoryhub.errors import AuthenticationFailed, Conflict, InvalidRequest, NotFound
from memoryhub.models import ApiKey, AuditEvent
from providers import session_tokens, sessions
from providers.limits import SESSION_TOKENS_MAX
from providers.sessions import WantedSession
from stores import memories, memory_stores
from stores.attachments import WantedStore
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.providers.desk import Desk
from tests.world import Caller, Tenant


def make_store(tenant: Tenant, name: str) -> MemoryStore:
    return memory_stores.create_store(
        environment=tenant.development.wire_id, name=name, description="", metadata={}, actor=tenant.actor
    )


def open_session(tenant: Tenant, *stores: tuple[MemoryStore, str]) -> str:
    wanted = WantedSession(
        environment=tenant.development.wire_id,
        agent=None,
        deployment_id=None,
        bindings=[],
        stores=[WantedStore(store.wire_id, access, None) for store, access in stores],
        title="",
    )
    return sessions.create_session(wanted, idempotency_key=None, actor=tenant.actor).session.wire_id


class Attached:
    """A session with one store to write, one to read; a third store is not its."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.notes, self.rules, self.other = (
            make_store(tenant, name) for name in ("Notes", "Rules", "Other")
        )
        self.session_id = open_session(tenant, (self.notes, "read_write"), (self.rules, "read_only"))
        self.caller = Caller(tenant.key)
        self.issued = self.issue()
        self.token = self.issued["token"]
        self.agent = Caller(self.token)

    def issue(self, **body: int) -> dict[str, str]:
        answer = self.caller("POST", f"/v1/sessions/{self.session_id}/tokens", body)
        assert answer.status == 201, answer.body
        issued: dict[str, str] = answer.body
        return issued

    def write(self, store: MemoryStore, path: str = "/a.md") -> int:
        url = f"/v1/memory_stores/{store.wire_id}/memories"
        return self.agent("POST", url, {"path": path, "content": "x"}).status


@pytest.fixture
def attached(tenant: Tenant) -> Attached:
    return Attached(tenant)


def test_it_writes_what_it_may_reads_what_it_may_and_finds_nothing_else(attached: Attached) -> None:
    assert attached.write(attached.notes) == 200
    assert attached.write(attached.rules) == 403
    assert attached.write(attached.other) == 404
    assert attached.agent("GET", f"/v1/memory_stores/{attached.rules.wire_id}").status == 200
    assert attached.agent("GET", f"/v1/memory_stores/{attached.other.wire_id}").status == 404
    assert attached.agent("GET", "/v1/memory_stores").status == 403
    assert attached.agent("GET", f"/v1/sessions/{attached.session_id}").status == 403
    assert attached.agent("POST", f"/v1/sessions/{attached.session_id}/tokens", {}).status == 403
    version = MemoryVersion.objects.get(store=attached.notes)
    assert (version.created_by_type, version.created_by_id) == ("session_actor", attached.session_id)
    event = AuditEvent.objects.get(subject_id=version.memory_wire_id, project=attached.tenant.project)
    assert (event.actor_type, event.actor_id) == ("session_actor", attached.session_id)
    assert event.details["token_id"] == attached.issued["id"], "of several tokens, which it was"


def test_a_frozen_store_refuses_it(attached: Attached) -> None:
    memory_stores.freeze_store(attached.notes.wire_id, actor=attached.tenant.actor)
    assert attached.write(attached.notes) == 403


def test_it_deletes_files_and_no_document(desk: Desk) -> None:
    desk.declare()
    document = desk.put()
    store = document.memory.store
    attached = open_session(desk.tenant, (store, "read_write"))
    agent = Caller(session_tokens.create_token(attached, seconds=60, actor=desk.actor).secret)
    url = f"/v1/memory_stores/{store.wire_id}/memories/{document.memory.wire_id}"
    assert agent("GET", url).status == 200
    assert agent("DELETE", url).status == 403
    assert Memory.objects.filter(id=document.memory.id).exists()


def test_what_has_expired_meanwhile_changes_nothing(attached: Attached) -> None:
    actor = keys.authenticate_key(attached.token)
    ApiKey.objects.filter(id=actor.token_id).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(AuthenticationFailed):
        memories.create_memory.__wrapped__(attached.notes.wire_id, path="/a.md", content="x", actor=actor)


def test_those_that_expired_long_ago_are_forgotten(attached: Attached) -> None:
    tokens = ApiKey.objects.filter(session__isnull=False, project=attached.tenant.project)
    tokens.update(expires_at=timezone.now() - timedelta(days=29))
    attached.issue()
    assert tokens.count() == 2
    tokens.update(expires_at=timezone.now() - timedelta(days=31))
    attached.issue()
    assert tokens.count() == 1


def test_each_is_throttled_by_itself(attached: Attached) -> None:
    other = attached.issue()["token"]
    assert keys.authenticate_key(attached.token).credential_id != keys.authenticate_key(other).credential_id


def test_it_is_shown_once_and_is_no_api_key(attached: Attached) -> None:
    listed = attached.caller("GET", f"/v1/sessions/{attached.session_id}/tokens").body["data"]
    assert len(listed) == 1
    assert "token" not in listed[0]
    assert listed[0]["type"] == "session_token"
    assert attached.token not in str(listed)
    assert listed[0]["id"] not in str(attached.caller("GET", "/v1/api_keys").body)
    assert attached.caller("GET", f"/v1/api_keys/{listed[0]['id']}").status == 404
    assert attached.caller("POST", f"/v1/api_keys/{listed[0]['id']}/rotate", {}).status == 404


def test_it_ends_with_its_session(attached: Attached) -> None:
    sessions.end_session(attached.session_id, actor=attached.tenant.actor)
    assert attached.write(attached.notes) == 401
    with pytest.raises(Conflict) as refused:
        session_tokens.create_token(attached.session_id, seconds=60, actor=attached.tenant.actor)
    assert refused.value.error_code == "session_closed"


def test_it_goes_with_a_deleted_session(attached: Attached) -> None:
    sessions.delete_session(attached.session_id, actor=attached.tenant.actor)
    assert attached.write(attached.notes) == 401
    assert not ApiKey.objects.filter(project=attached.tenant.project).exclude(session=None).exists()


def test_it_ends_when_its_time_is_over(attached: Attached) -> None:
    ApiKey.objects.filter(session__isnull=False, project=attached.tenant.project).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert attached.write(attached.notes) == 401


def test_it_is_revoked_alone(attached: Attached) -> None:
    second = attached.issue(expires_in_seconds=60)
    url = f"/v1/sessions/{attached.session_id}/tokens/{second['id']}/revoke"
    revoked = attached.caller("POST", url)
    assert revoked.status == 200
    assert revoked.body["revoked_at"] is not None
    assert attached.caller("POST", url).body == revoked.body
    assert attached.write(attached.notes) == 200
    attached.agent = Caller(second["token"])
    assert attached.write(attached.notes, "/b.md") == 401


def test_another_sessions_token_is_not_found(attached: Attached) -> None:
    other = open_session(attached.tenant)
    token = session_tokens.create_token(attached.session_id, seconds=60, actor=attached.tenant.actor).key
    assert attached.caller("POST", f"/v1/sessions/{other}/tokens/{token.wire_id}/revoke").status == 404
    with pytest.raises(NotFound):
        session_tokens.revoke_token(other, token.wire_id, actor=attached.tenant.actor)


def test_a_session_without_stores_gets_a_token_that_reaches_none(attached: Attached) -> None:
    empty = open_session(attached.tenant)
    issued = session_tokens.create_token(empty, seconds=60, actor=attached.tenant.actor)
    attached.agent = Caller(issued.secret)
    assert attached.write(attached.notes) == 404


@pytest.mark.parametrize(("seconds", "status"), [(59, 400), (60, 201), (2_592_000, 201), (2_592_001, 400)])
def test_how_long_it_may_work(attached: Attached, seconds: int, status: int) -> None:
    url = f"/v1/sessions/{attached.session_id}/tokens"
    assert attached.caller("POST", url, {"expires_in_seconds": seconds}).status == status


def test_twenty_work_at_a_time(attached: Attached) -> None:
    for _ in range(SESSION_TOKENS_MAX - 1):
        issued = attached.issue()
    with pytest.raises(InvalidRequest) as refused:
        session_tokens.create_token(attached.session_id, seconds=60, actor=attached.tenant.actor)
    assert refused.value.error_code == "session_tokens_full"
    session_tokens.revoke_token(attached.session_id, issued["id"], actor=attached.tenant.actor)
    attached.issue()


def test_nothing_commits_after_the_end_of_the_session_has_answered(committed: Tenant) -> None:
    """A write with the token is under way when the session ends: the end waits for it, and the next one is refused."""
    attached = Attached(committed)
    actor = keys.authenticate_key(attached.token)
    written, ended = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with atomic():
                memories.create_memory.__wrapped__(
                    attached.notes.wire_id, path="/first.md", content="x", actor=actor
                )
                written.set()
                assert not ended.wait(1)
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert written.wait(30)
    begun = time.monotonic()
    sessions.end_session(attached.session_id, actor=committed.actor)
    ended.set()
    writer.join(30)
    assert time.monotonic() - begun > 0.5
    assert MemoryVersion.objects.filter(store=attached.notes).count() == 1
    with pytest.raises(AuthenticationFailed):
        memories.create_memory(attached.notes.wire_id, path="/late.md", content="x", actor=actor)
    assert ground_sessions.get_session(attached.session_id, actor=committed.actor).ended_at is not None

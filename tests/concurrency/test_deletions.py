"""A deletion of an environment beside writers: each is answered, and none waits for the other for ever."""

import threading
import time
from typing import Any

import pytest
from django.db import connections

from memoryhub import credentials, deletions
from memoryhub.models import Environment
from tests.answers import Answer
from tests.authority.desk import make_reviewed
from tests.concurrency.holding import Asked
from tests.providers.record_sessions import RecordSessions
from tests.world import Tenant

SCOPE = {"agent": "support", "principal": {"issuer": "api", "subject": "alice"}}


class Writer:
    """A call in a thread of its own, that stops where its credential is held: the last thing before its commit."""

    def __init__(self, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tenant, self.caller = tenant, tenant.call()
        self.is_there, self.goes_on = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None
        ask_credential = credentials.ask_credential

        def stop(actor: Any) -> Any:
            if threading.current_thread() is self.thread:
                self.is_there.set()
                self.goes_on.wait(20)
            return ask_credential(actor)

        monkeypatch.setattr(credentials, "ask_credential", stop)

    def begin(self, path: str, body: dict[str, Any], **more: Any) -> Asked:
        def ask() -> Answer:
            self.thread = threading.current_thread()
            try:
                return self.caller("POST", path, body, **more)
            finally:
                connections.close_all()

        asked = Asked(ask)
        assert self.is_there.wait(20)
        return asked


def save_record(tenant: Tenant) -> tuple[str, dict[str, Any]]:
    return "/v1/records/save", {"scope": SCOPE, "text": "Coffee."}


def change_memory(tenant: Tenant) -> tuple[str, dict[str, Any]]:
    call = tenant.call()
    store = call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    made = call("POST", f"/v1/memory_stores/{store}/memories", {"path": "/a", "content": "one"}).body["id"]
    return f"/v1/memory_stores/{store}/memories/{made}", {"content": "two"}


def end_session(tenant: Tenant) -> tuple[str, dict[str, Any]]:
    return f"/v1/sessions/{RecordSessions(tenant).open()}/end", {}


def remember(tenant: Tenant) -> tuple[str, dict[str, Any]]:
    reviewed = make_reviewed(tenant)
    put = {"dependencies": [], "key": "a", "kind": "note", "v": 1, "value": {"text": "x"}}
    head = {"generation": 0, "operationSha256": None}
    body = {"expectedHead": head, "puts": [put], "requestId": "a", "tombstones": [], "v": 1}
    return f"/v1/authorities/{reviewed.authority.wire_id}/agent/remember", body


@pytest.mark.parametrize("write", [save_record, change_memory, end_session, remember])
def test_an_environment_is_deleted_after_what_is_being_written_in_it(
    committed: Tenant, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    save = {"scope": SCOPE, "text": "Tea."}
    assert committed.call()("POST", "/v1/records/save", save, headers={"Idempotency-Key": "k1"}).status == 201
    path, body = write(committed)
    writer = Writer(committed, monkeypatch)
    writing = writer.begin(path, body, headers={"Idempotency-Key": "k2"})
    failed: list[BaseException] = []

    def delete() -> Any:
        try:
            deletions.delete_environment("development", expected_name="development", actor=committed.actor)
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    deleting = Asked(delete)
    time.sleep(0.5)
    assert deleting.thread.is_alive(), "it waits for who writes"
    writer.goes_on.set()
    answer = writing.wait(20)
    deleting.wait(20)
    assert answer is not None and answer.status in (200, 201), answer and answer.body
    assert failed == []
    assert not Environment.objects.filter(id=committed.development.id).exists()

"""What is erased is gone from what models were given and said. Promise E1."""

from typing import Any

import pytest
from django.db import connection

from memoryhub.errors import Gone
from providers import documents, model_requests, sessions
from providers.models import Projection, ToolCall
from stores import memory_versions
from tests.providers.desk import Desk
from tests.world import Caller

CANARY = "canary-secret-4711"


def copies() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_jsonb(p)::text FROM providers_projection p UNION ALL SELECT to_jsonb(t)::text FROM providers_toolcall t"
        )
        return [row[0] for row in cursor.fetchall() if CANARY in row[0]]


def leak(desk: Desk) -> tuple[str, str]:
    """(session, request): a model saved the canary, recalled it, and was told of it by a conflict."""
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    desk.save(session, request, f"Key: {CANARY}")
    desk.recall(session, "r2")
    desk.save(session, request, "Other.", "c2")
    desk.replace("Clean.")
    assert len(copies()) == 3
    return session, request


def test_a_redacted_version_is_gone_from_projections_and_calls(desk: Desk) -> None:
    session, request = leak(desk)
    memory = desk.get().memory
    versions = memory_versions.MemoryVersion.objects.filter(memory_id=memory.id, content__contains=CANARY)
    for version in versions:
        memory_versions.redact_version(memory.store.wire_id, version.wire_id, reason=None, actor=desk.actor)
    assert copies() == []
    assert Projection.objects.exclude(erased_at=None).count() == 1
    assert ToolCall.objects.exclude(erased_at=None).count() == 2
    with pytest.raises(Gone):
        desk.recall(session, "r2")
    with pytest.raises(Gone):
        desk.save(session, request, f"Key: {CANARY}")


def test_redaction_by_text_reaches_them_too(desk: Desk, call: Caller) -> None:
    session, request = leak(desk)
    answer = call("POST", "/v1/redactions", {"contains": CANARY, "reason": "leaked"})
    assert answer.status == 200, answer.body
    assert copies() == []
    held = ToolCall.objects.get(model_request__session__project=desk.tenant.project, call_id="c1")
    assert (held.output, held.arguments) == (None, None)
    assert call("GET", f"/v1/sessions/{session}/tool-calls/{held.wire_id}").status == 410


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_save", {"text": CANARY * 1_000}),  # too large
    ("memory_save", {"text": f"Late {CANARY}"}),  # a conflict
    ("memory_save", {"text": [CANARY], "summary": CANARY}),  # arguments that do not fit
    ("memory_save", {"text": CANARY, "memory": CANARY}),  # not bound
    ("memory_forget", {"text": CANARY}),  # no such tool
    ("memory_list", {"cursor": CANARY}),  # not bound in this way
]


def rows_with_canary() -> list[str]:
    """The tables, every one of the database, that hold a row with it."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{CANARY}%"])
            found += [table] if cursor.fetchone()[0] else []
        return found


def test_a_text_that_no_save_kept_is_kept_nowhere(desk: Desk) -> None:
    desk.put()
    session = desk.open()
    request = desk.begin(session)
    desk.save(session, request, "Newer.")
    for number, (name, arguments) in enumerate(CALLS):
        desk.call(session, request, name, f"w{number}", **arguments)
    desk.freeze()
    desk.save(session, request, f"Frozen {CANARY}", "f")
    sessions.end_session(session, actor=desk.actor)
    desk.save(session, request, f"Ended {CANARY}", "e")
    assert rows_with_canary() == []


def test_the_input_of_a_request_that_was_broken_off_goes_with_the_end_of_its_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put()
    session = desk.open()

    def break_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(model_requests, "_accept", break_off)
        with pytest.raises(KeyboardInterrupt):
            model_requests.open_request(
                session,
                client_request_id="r1",
                input_text=f"Hello {CANARY}",
                waits=True,
                actor=desk.actor,
            )
    assert rows_with_canary() == ["providers_modelrequest"]
    sessions.end_session(session, actor=desk.actor)
    assert rows_with_canary() == []


def test_a_deleted_document_leaves_its_text_in_no_table(desk: Desk) -> None:
    leak(desk)
    desk.put("other", title=CANARY, summary=CANARY)
    reader = desk.open({"playbook": {"scope": "collection"}})
    request = desk.begin(reader)
    desk.call(reader, request, "memory_list", "l")
    desk.call(reader, request, "memory_read", "r", id="other")
    assert {"providers_projection", "providers_toolcall"} <= set(rows_with_canary())
    for document_id in ("team-a", "other"):
        revision = desk.get(document_id).revision
        documents.delete_document(
            desk.environment, "playbook", document_id, expected_revision=revision, actor=desk.actor
        )
    assert rows_with_canary() == []


def test_what_other_documents_gave_stays(desk: Desk) -> None:
    desk.put("other", text="Kept.")
    other = desk.open({"playbook": {"scope": "document", "id": "other"}})
    desk.recall(other)
    leak(desk)
    memory = desk.get().memory
    for version in memory_versions.MemoryVersion.objects.filter(
        memory_id=memory.id, content__contains=CANARY
    ):
        memory_versions.redact_version(memory.store.wire_id, version.wire_id, reason=None, actor=desk.actor)
    assert desk.recall(other).projections[0].text == "Kept."


@pytest.mark.parametrize("card", [{"title": f"Key {CANARY}"}, {"summary": f"Key {CANARY}"}])
def test_redaction_by_text_reaches_titles_and_summaries(
    desk: Desk, call: Caller, card: dict[str, str]
) -> None:
    desk.put(**card)
    desk.recall(desk.open({"playbook": {"scope": "collection"}}))
    assert len(copies()) == 1
    redaction = {"contains": CANARY, "environment": "development", "heads": "delete"}
    answer = call("POST", "/v1/redactions", redaction)
    assert answer.status == 200, answer.body
    assert copies() == []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM stores_memoryversion v WHERE to_jsonb(v)::text LIKE %s", [f"%{CANARY}%"]
        )
        assert cursor.fetchone()[0] == 0

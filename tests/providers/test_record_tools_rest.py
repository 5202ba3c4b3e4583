"""The tools of records over REST, from the declaration to what a model is shown; erasure, and what meets at the same moment."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from providers.models import MemoryRecord, RecalledItem
from tests.answers import Answer, Call
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.providers.record_sessions import ALICE, RecordSessions
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_text_erasure import redact
from tests.world import Tenant

PRINCIPAL = {"issuer": "idp", "subject": "alice"}
NOTES = {"id": "notes", "description": "What was learnt.", "provider": {"kind": "records"}}


def begin(call: Call, session: str, name: str = "r1", **body: Any) -> Answer:
    opened = call(
        "POST",
        f"/v1/sessions/{session}/model-requests",
        {"client_request_id": name, "input": {"text": "Hello."}} | body,
    )
    assert opened.status in (200, 201), opened.body
    url = f"/v1/sessions/{session}/model-requests/{opened.body['id']}"
    assert call("PUT", f"{url}/selection", {"use": ["notes"]}).status == 200
    return opened


def use_tool(call: Call, session: str, request: str, name: str, call_id: str, **arguments: Any) -> Answer:
    return call(
        "POST",
        f"/v1/sessions/{session}/model-requests/{request}/tool-calls",
        {"call_id": call_id, "name": name, "arguments": arguments},
    )


def test_a_session_remembers_recalls_and_forgets_over_rest(tenant: Tenant) -> None:
    call = tenant.caller("admin")
    provider = {"kind": "records", "memoryWrite": "allow"}
    declared = call("POST", "/v1/memory_resources", {"resource": NOTES | {"provider": provider}})
    assert (declared.status, declared.body["kind"], declared.body["provider"]) == (201, "records", provider)
    bound = {"notes": {"scope": "records", "access": "read-write"}}
    opened = call("POST", "/v1/sessions", {"memory": bound, "principal": PRINCIPAL})
    assert opened.status == 201
    session = opened.body["id"]
    assert opened.body["principal"] == PRINCIPAL
    assert opened.body["memory"] == [
        {
            "resource": "notes",
            "scope": "records",
            "access": "read-write",
            "writable": True,
            "revoked_at": None,
        }
    ]
    first = begin(call, session)
    assert first.body["memory"] == {"notes": {"text": "", "sources": [], "writable": True}}
    assert (first.body["items"], first.body["references"], first.body["principal"]) == ([], "", None)
    request = first.body["id"]
    saved = use_tool(call, session, request, "save_memory", "c1", text="Prefers tea.")
    record_id = saved.body["output"]["id"]
    assert (saved.status, saved.body["is_error"], saved.body["items"]) == (200, False, [])
    found = use_tool(call, session, request, "search_memory", "c2", query="tea").body
    assert found["output"] == "1 memories, shown below as untrusted references"
    assert found["items"][0]["origin"] == {"id": record_id, "version": "1"}
    assert found["references"].startswith(f'<reference source="memory" id="{record_id}" untrusted="true">')
    assert call("GET", f"/v1/sessions/{session}/tool-calls/{found['id']}").body == found
    second = begin(call, session, "r2").body
    assert (second["items"], second["references"]) == (found["items"], found["references"])
    assert call("GET", f"/v1/sessions/{session}/model-requests/{request}").body["items"] == []
    other = begin(call, session, "r3", principal=PRINCIPAL | {"subject": "bob"}).body
    assert (other["references"], other["principal"]["subject"]) == ("", "bob")
    forgotten = use_tool(call, session, request, "forget_memory", "c3", id=record_id).body
    assert forgotten["output"] == f"forgot {record_id}"
    again = call("GET", f"/v1/sessions/{session}/model-requests/{second['id']}").body
    assert (again["items"], again["references"]) == ([], "")


@pytest.mark.parametrize(
    "provider",
    [
        {"kind": "records", "memoryWrite": "sometimes"},
        {"kind": "records", "memoryWrite": None},
        {"kind": "records", "maxBytes": 10},
        {"kind": "record"},
    ],
)
def test_a_declaration_of_records_says_what_is_wrong(tenant: Tenant, provider: dict[str, Any]) -> None:
    call = tenant.caller("admin")
    refused = call("POST", "/v1/memory_resources", {"resource": NOTES | {"provider": provider}})
    assert (refused.status, refused.error_code) == (400, "invalid_declaration")


def test_a_deployment_declares_records_once_and_asks_before_a_write_unless_it_says_so(tenant: Tenant) -> None:
    call = tenant.caller("admin")
    one = {"agent_id": "a", "manifest": {"memory": [NOTES]}}
    made = call("POST", "/v1/deployments", one)
    assert made.body["manifest"]["memory"][0]["provider"] == {"kind": "records", "memoryWrite": "ask"}
    two = {"agent_id": "a", "manifest": {"memory": [NOTES, NOTES | {"id": "more"}]}}
    refused = call("POST", "/v1/deployments", two)
    assert (refused.status, refused.error_code) == (400, "invalid_declaration")
    own = {"agent_id": "a", "manifest": {"memory": [NOTES], "ordinaryTools": ["search_memory"]}}
    promoted = call("POST", "/v1/deployments", own).body["id"]
    call("POST", f"/v1/deployments/{promoted}/promote", {"environment": tenant.development.wire_id})
    bound = {"notes": {"scope": "records"}}
    collides = call("POST", "/v1/sessions", {"agent_id": "a@development", "memory": bound})
    assert (collides.status, collides.error_code) == (400, "memory_tool_conflict")


def test_a_principal_is_strict_and_goes_with_a_deployment(tenant: Tenant) -> None:
    call = tenant.caller("admin")
    for principal in ({"issuer": "idp"}, {"issuer": "", "subject": "x"}, PRINCIPAL | {"more": 1}, "alice"):
        assert call("POST", "/v1/sessions", {"principal": principal}).status == 400
    assert call("POST", "/v1/sessions", {"principal": PRINCIPAL}).status == 400
    call("POST", "/v1/memory_resources", {"resource": NOTES})
    body = {"memory": {"notes": {"scope": "records"}}, "principal": PRINCIPAL}
    keyed = {"Idempotency-Key": "k"}
    made = call("POST", "/v1/sessions", body, headers=keyed)
    assert call("POST", "/v1/sessions", body, headers=keyed).body["id"] == made.body["id"]
    other = body | {"principal": PRINCIPAL | {"subject": "bob"}}
    assert call("POST", "/v1/sessions", other, headers=keyed).status == 409


def test_a_text_is_erased_in_what_sessions_were_shown(committed: Tenant) -> None:
    notes, canary = RecordSessions(committed), f"canary{uuid.uuid4().hex}"
    session = notes.open()
    request = notes.begin(session)
    notes.save(session, request, f"It is {canary}.")
    notes.search(session, request, "it is")
    assert "providers_recalleditem" in tables_with(canary)
    done = redact(notes.tenant, contains=canary, heads="delete").body
    assert done["elsewhere"]["copies"]["recalled_items"] == 1
    assert tables_with(canary) == []
    assert notes.recall(session, "r2").items == []


def together(live: LiveHub, tenant: Tenant, acts: list[Callable[[Call], Answer]]) -> list[Answer]:
    """Each by a client of its own."""
    answers: list[Answer] = []

    def run(act: Callable[[Call], Answer], call: Call) -> None:
        answers.append(act(call))

    run_together([partial(run, act, live.caller(tenant.key)) for act in acts])
    return answers


def test_no_search_keeps_what_is_forgotten_beside_it(live: LiveHub, live_tenant: Tenant) -> None:
    notes = RecordSessions(live_tenant)
    for number in range(3):
        session = notes.open()
        request = notes.begin(session)
        saved = notes.save(session, request, f"Tea number {number}.")["id"]
        scope = {"agent": "default", "principal": PRINCIPAL}

        def search(call: Call, session: str = session, request: str = request) -> Answer:
            return use_tool(call, session, request, "search_memory", f"c{uuid.uuid4().hex}", query="tea")

        def forget(call: Call, saved: str = saved, scope: Any = scope) -> Answer:
            body = {"scope": scope, "id": saved}
            return call("POST", "/v1/records/forget", body, headers={"Idempotency-Key": "f" + saved})

        answers = together(live, live_tenant, [search, forget, search, search])
        assert sorted(answer.status for answer in answers) == [200, 200, 200, 204]
        assert not RecalledItem.objects.filter(scope__project=live_tenant.project).exclude(text=None).exists()


def test_a_call_that_is_made_twenty_times_at_once_saves_once(live: LiveHub, live_tenant: Tenant) -> None:
    notes = RecordSessions(live_tenant)
    session = notes.open(ALICE)
    request = notes.begin(session)

    def save(call: Call) -> Answer:
        return use_tool(call, session, request, "save_memory", "c", text="Tea.")

    answers = together(live, live_tenant, [save] * 10)
    assert len({answer.body["output"]["id"] for answer in answers}) == 1
    assert MemoryRecord.objects.filter(scope__project=live_tenant.project).count() == 1

"""Three calls: a session on a document, a model request, a save. Then the owner freezes, and the next is refused."""

from tests.world import Caller, Tenant


def test_a_document_is_recalled_saved_and_frozen_through_rest(tenant: Tenant, call: Caller) -> None:
    memory = f"/v1/projects/{tenant.project.wire_id}/memory"
    declared = call(
        "POST", "/v1/memory_resources", {"resource": {"id": "playbook", "description": "How we work."}}
    )
    assert declared.status == 201, declared.body
    started = call(
        "POST",
        "/v1/sessions:on-document",
        {"resource": "playbook", "document_id": "team-a", "text": "Deploy before noon."},
        headers={"Idempotency-Key": "first"},
    )
    assert started.status == 201, started.body
    session = started.body["id"]
    recalled = call("POST", f"/v1/sessions/{session}/model-requests", {"client_request_id": "r1"})
    assert recalled.status == 201, recalled.body
    assert recalled.body["memory"]["playbook"]["text"] == "Deploy before noon."
    assert set(recalled.body["memory"]["playbook"]) == {"text", "sources", "writable"}
    request = f"/v1/sessions/{session}/model-requests/{recalled.body['id']}"
    tools = call("PUT", f"{request}/selection", {"use": ["playbook"]}).body["tools"]
    assert [tool["name"] for tool in tools] == ["memory_save"]
    saved = call(
        "POST",
        f"{request}/tool-calls",
        {"call_id": "c1", "name": "memory_save", "arguments": {"text": "Deploy after noon."}},
    ).body
    assert saved["output"]["status"] == "saved"
    document = call("GET", f"{memory}/playbook/documents/team-a", query={"environment": "development"})
    assert document.body["writer"] == {"kind": "agent", "session_id": session}
    frozen = call(
        "PATCH",
        f"{memory}/playbook/documents/team-a",
        {"agent_writes": "disabled"},
        query={"environment": "development"},
        headers={"If-Match": document.headers["etag"]},
    )
    assert frozen.status == 200, frozen.body
    refused = call(
        "POST",
        f"{request}/tool-calls",
        {"call_id": "c2", "name": "memory_save", "arguments": {"text": "Again."}},
    ).body
    assert refused["output"] == {"status": "rejected", "reason": "agent_writes_disabled"}
    inspected = call("GET", f"/v1/sessions/{session}").body
    assert inspected["memory"][0]["writable"] is False
    events = call("GET", f"/v1/sessions/{session}/events").body["data"]
    assert [event["event_type"] for event in events] == ["model_request.accepted", "memory.saved"]

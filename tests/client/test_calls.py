"""The client against a live hub: every call of it, and the page that shows it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryhub.client import (
    ConnectionFailed,
    Hub,
    HubRefused,
    bearer,
    define_connection,
    define_manifest,
    define_memory,
    document_memory,
    http_memory,
    record_scope,
    records_memory,
)
from memoryhub.client.wire import Session, ToolOutcome
from tests.conformance.packages import ROOT
from tests.conformance.test_readme import PYTHON_BLOCK
from tests.live import LiveHub
from tests.world import Tenant

STRANGE = "Line\u2028paragraph\u2029next\x85line"  # what other line readers would break at


@pytest.fixture
def hub(live: LiveHub, live_tenant: Tenant) -> Iterator[Hub]:
    with Hub(live.url, live_tenant.key) as made:
        yield made


@pytest.fixture
def session(hub: Hub) -> Session:
    hub.declare(define_memory("playbook", "How we work.", document_memory(max_bytes=100)))
    return hub.sessions.start_on_document("playbook", "team-a", title="A", text="Old.", summary="S.")


def test_a_session_is_opened_recalled_saved_listed_revoked_ended_and_deleted(
    hub: Hub, session: Session
) -> None:
    [bound] = session["memory"]
    assert (bound["resource"], bound.get("id"), bound["access"], bound["writable"]) == (
        "playbook",
        "team-a",
        "read-write",
        True,
    )
    assert hub.sessions.get(session["id"])["memory"] == session["memory"]
    assert [one["id"] for one in hub.sessions.list(environment="development", state="live")] == [
        session["id"]
    ]
    request = hub.sessions.open_request(session["id"], "turn-1", input_text="Hello")
    assert request["memory"]["playbook"]["text"] == "Old."
    assert hub.sessions.open_request(session["id"], "turn-1")["id"] == request["id"]
    [tool] = hub.sessions.select(session["id"], request["id"], ["playbook"])
    outcome = hub.sessions.call_tool(
        session["id"], request["id"], call_id="c1", name=tool["name"], arguments={"text": STRANGE}
    )
    assert outcome["output"]["status"] == "saved"
    assert hub.sessions.get_call(session["id"], outcome["id"])["output"] == outcome["output"]
    assert hub.sessions.get_request(session["id"], request["id"])["selected"] == ["playbook"]
    assert [one["id"] for one in hub.sessions.list_requests(session["id"])] == [request["id"]]
    assert hub.sessions.revoke(session["id"], "playbook")["memory"][0]["revoked_at"] is not None
    assert hub.sessions.end(session["id"])["state"] == "ended"
    hub.sessions.delete(session["id"])
    with pytest.raises(HubRefused) as refused:
        hub.sessions.get(session["id"])
    assert refused.value.status == 404


def test_events_are_listed_page_by_page_and_streamed_whatever_they_hold(hub: Hub, session: Session) -> None:
    for number in range(120):
        hub.sessions.add_event(session["id"], "turn.done", {"n": number, "text": STRANGE})
    hub.sessions.end(session["id"])
    listed = list(hub.sessions.list_events(session["id"], after=1))
    assert [event["number"] for event in listed] == list(range(2, 122))
    streamed = list(hub.sessions.stream_events(session["id"], after=1))
    assert streamed == listed
    assert streamed[0]["data"]["text"] == STRANGE
    assert list(hub.sessions.stream_events(session["id"], after=121)) == []


def test_documents_live_and_are_exported_whatever_they_hold(hub: Hub, session: Session) -> None:
    documents = hub.documents("development")
    made = documents.create("playbook", "b", title="B", text=STRANGE)
    with pytest.raises(HubRefused) as refused:
        documents.create("playbook", "b", title="B")
    assert (refused.value.status, refused.value.error_code) == (412, "precondition_failed")
    with pytest.raises(HubRefused) as refused:
        documents.replace("playbook", "b", "x" * 101, revision=made["revision"])
    assert refused.value.details["max_bytes"] == 100
    changed = documents.replace("playbook", "b", STRANGE, summary="S.", revision=made["revision"])
    changed = documents.rename("playbook", "b", "C", revision=changed["revision"])
    changed = documents.freeze("playbook", "b", revision=changed["revision"])
    changed = documents.unfreeze("playbook", "b", revision=changed["revision"])
    assert documents.get("playbook", "b")["title"] == "C"
    assert [one["id"] for one in documents.list("playbook")] == ["b", "team-a"]
    hub.declare(define_memory("other", "Else."))
    documents.create("other", "c", title="C")
    lines = [json.loads(line) for line in documents.export()]
    assert [(one["resource"], one["id"]) for one in lines] == [
        ("other", "c"),
        ("playbook", "b"),
        ("playbook", "team-a"),
    ]
    assert lines[1]["text"] == STRANGE
    assert [json.loads(line)["id"] for line in documents.export("other")] == ["c"]
    documents.delete("playbook", "b", revision=changed["revision"])
    with pytest.raises(HubRefused) as refused:
        documents.get("playbook", "b")
    assert refused.value.status == 404


def test_every_page_of_a_list_is_read(hub: Hub, session: Session) -> None:
    for number in range(41):
        hub.stores.create(f"S{number}")
    assert len([store for store in hub.stores.list() if store["name"] != "playbook"]) == 41


def test_deployments_are_made_promoted_and_taken_back(hub: Hub) -> None:
    origin = "https://memory.example.com"
    hub.secrets.put("KB_TOKEN", "s3cret", allowed_origins=[origin])
    connection = define_connection("kb", origin, headers={"Authorization": bearer("KB_TOKEN")})
    knowledge = define_memory("knowledge", "What is known.", http_memory("kb"))
    first = hub.deploy(
        "triage", define_manifest(knowledge, connections=[connection]), environment="development"
    )
    moved = define_memory("knowledge", "What is known.", http_memory("kb", path="/v2"))
    manifest = define_manifest(moved, connections=[connection])
    with pytest.raises(HubRefused) as refused:
        hub.deploy("triage", manifest, environment="development")
    assert refused.value.error_code == "endpoint_change_unacknowledged"
    hub.deploy("triage", manifest, environment="development", acknowledge_endpoint_change=["knowledge"])
    back = hub.promote(first["id"], environment="development", acknowledge_endpoint_change=["knowledge"])
    assert [change["new"] for change in back["changed_endpoints"]] == [f"{origin}/memory"]
    assert len(list(hub.deployments(agent_id="triage"))) == 3
    assert hub.get_deployment(first["id"])["manifest"] == first["manifest"]
    assert [one["id"] for one in hub.resources("development")] == ["knowledge"]
    assert hub.get_resource("development", "knowledge")["provider"]["path"] == "/memory"
    assert list(hub.namespaces("development", "knowledge")) == []
    with pytest.raises(HubRefused) as refused:
        hub.deploy("triage", define_manifest(define_memory("A", " ")))
    assert [one["pointer"] for one in refused.value.details["problems"]] == [
        "/memory/0/id",
        "/memory/0/description",
    ]


def test_webhooks_are_made_tested_changed_and_deleted(hub: Hub) -> None:
    issued = hub.webhooks.create("https://desk.example.com/hooks", environment="development")
    assert issued["secret"].startswith("whsec_") and issued["event_types"] == ["*"]
    assert hub.webhooks.rotate(issued["id"])["secret"] != issued["secret"]
    assert "secret" not in hub.webhooks.get(issued["id"])
    sent = hub.webhooks.test(issued["id"])
    assert [one["id"] for one in hub.webhooks.deliveries(issued["id"])] == [sent["id"]]
    assert hub.webhooks.replay(issued["id"], sent["id"])["notice_id"] == sent["notice_id"]
    assert hub.webhooks.update(issued["id"], enabled=False)["disabled_reason"] == "owner"
    assert [one["id"] for one in hub.webhooks.deliveries(issued["id"], state="failed")] == [sent["id"]]
    hub.webhooks.delete(issued["id"])
    assert list(hub.webhooks.list()) == []


def test_secrets_are_written_listed_and_deleted_and_never_read(hub: Hub) -> None:
    for value in ("first", "second"):
        secret = hub.secrets.put(
            "TOKEN", value, allowed_origins=["https://a.example"], environment="development"
        )
    own = hub.secrets.put("TOKEN", "own", allowed_origins=["https://a.example"], agent_id="triage")
    assert [one["id"] for one in hub.secrets.list(environment="development")] == [own["id"], secret["id"]]
    assert hub.secrets.get(own["id"])["agent_id"] == "triage"
    assert "second" not in json.dumps(list(hub.secrets.list()))
    hub.secrets.delete(secret["id"])
    assert [one["id"] for one in hub.secrets.list()] == [own["id"]]


def test_stores_hold_files_with_a_history(hub: Hub) -> None:
    store = hub.stores.create("Notes", description="D.", metadata={"team": "a"})["id"]
    assert hub.stores.update(store, name="New", metadata={"team": None})["metadata"] == {}
    made = hub.stores.write_file(store, "/a b/ä?.md", "One.", new=True)
    with pytest.raises(HubRefused):
        hub.stores.write_file(store, "/a b/ä?.md", "Two.", new=True)
    hub.stores.write_file(store, "/a b/ä?.md", "Two.", expected_sha256=made["content_sha256"])
    assert hub.stores.read_file(store, "/a b/ä?.md")["content"] == "Two."
    moved = hub.stores.move_file(store, made["id"], "/c.md")
    assert hub.stores.get_memory(store, moved["id"])["path"] == "/c.md"
    assert [one["path"] for one in hub.stores.list_memories(store, full=True)] == ["/c.md"]
    versions = list(hub.stores.list_versions(store, made["id"]))
    assert [version["operation"] for version in versions] == ["modified", "modified", "created"]
    assert hub.stores.get_version(store, versions[-1]["id"])["content"] == "One."
    assert hub.stores.redact_version(store, versions[-1]["id"])["redacted_at"] is not None
    [hit] = hub.stores.search(store, "two")
    assert hit["path"] == "/c.md" and "Two." in hit["snippet"]["text"]
    assert hub.stores.freeze(store)["frozen_at"] is not None
    assert hub.stores.unfreeze(store)["frozen_at"] is None
    hub.stores.delete_file(store, "/c.md")
    session = hub.sessions.create(stores=[{"memory_store_id": store, "access": "read_only"}], title="T")
    assert session["resources"][0]["mount_path"] == "/mnt/memory/new"
    assert [one["id"] for one in hub.sessions.list(memory_store_id=store)] == [session["id"]]
    hub.sessions.delete(session["id"])
    assert hub.stores.archive(store)["archived_at"] is not None
    assert [one["id"] for one in hub.stores.list(include_archived=True)] == [store]
    hub.stores.delete(store)
    assert list(hub.stores.list()) == []


def test_a_wrong_key_and_a_hub_that_is_not_there(live: LiveHub) -> None:
    with Hub(live.url, "mh_wrong") as stranger, pytest.raises(HubRefused) as refused:
        stranger.project_id()
    assert (refused.value.status, refused.value.type) == (401, "authentication_error")
    with Hub("http://127.0.0.1:9", "mh_key", timeout_seconds=1) as nowhere, pytest.raises(ConnectionFailed):
        nowhere.project_id()


def test_the_page_runs_as_it_stands(live: LiveHub, live_tenant: Tenant, tmp_path: Path) -> None:
    [text] = PYTHON_BLOCK.findall((ROOT / "docs" / "client.md").read_text(encoding="utf-8"))
    assert text.count('"http://127.0.0.1:8000", api_key="mh_…"') == 1
    program = tmp_path / "page.py"
    here = text.replace("http://127.0.0.1:8000", live.url).replace("mh_…", live_tenant.key)
    program.write_text(here, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    saved, refused = done.stdout.splitlines()
    assert "'status': 'saved'" in saved
    assert refused == "412 precondition_failed"


def test_the_records_of_a_scope_leave_and_come_into_another(hub: Hub) -> None:
    alice, bob = record_scope("support", "api", "alice"), record_scope("support", "api", "bob")
    for number, text in enumerate(("Tea.", "line\nfeed\u2028", "🙂")):
        hub.records.save(text, key=f"k{number}", scope=alice)
    exported = "".join(f"{line}\n" for line in hub.records.export(alice)).encode()
    tried = hub.records.import_(exported, bob, dry_run=True)
    assert (tried["added"], tried["dry_run"], list(hub.records.export(bob))[1:-1]) == (3, True, [])
    assert hub.records.import_(exported, bob)["added"] == 3
    assert hub.records.import_(exported, bob)["present"] == 3
    with pytest.raises(HubRefused) as refused:
        hub.records.import_(exported[:-1], bob)
    assert refused.value.error_code == "import_invalid"
    given = b'[{"id": "1", "memory": "x", "user_id": "b"}, {"id": "2", "user_id": "b"}]'
    done = hub.records.import_(given, bob, format="mem0", user="b")
    assert (done["added"], done["refusals"][0]["where"]) == (1, "body, memory 2")


def test_records_are_saved_found_and_forgotten(hub: Hub) -> None:
    scope = record_scope("support", "api", "alice")
    saved = hub.records.save(
        "Alice drinks tea.", key="k1", scope=scope, thread="t", author="Alice", title="Drinks", tags=["x"]
    )
    assert (
        hub.records.save("Bob rows.", key="k2", scope=scope, occurred_at="2023-05-08T13:56:00Z")["version"]
        == "1"
    )
    found = hub.records.search("tea", k=3, scope=scope)
    assert [hit["id"] for hit in found["hits"]] == [saved["id"]] and found["cut"] == {"k": 0, "bytes": 0}
    assert saved["id"] is not None
    assert hub.records.forget(saved["id"], key="f1", scope=scope)
    assert hub.records.search("tea", scope=scope)["hits"] == []
    assert list(hub.records.effects(state="unknown")) == [] and list(hub.records.violations()) == []
    [gone, _, _] = hub.records.effects()
    assert (gone["tool"], gone["state"]) == ("forget_memory", "done")
    with pytest.raises(HubRefused) as refused:
        hub.records.resolve(gone["id"], "done")
    assert refused.value.error_code == "effect_not_unknown"


def test_a_session_remembers_for_its_user_and_a_person_decides(hub: Hub) -> None:
    hub.declare(define_memory("notes", "What was learnt.", records_memory()))
    alice = {"issuer": "api", "subject": "alice"}
    session = hub.sessions.create(
        memory={"notes": {"scope": "records", "access": "read-write"}},
        principal={"issuer": "api", "subject": "alice"},
    )
    assert session["principal"] == alice
    request = hub.sessions.open_request(session["id"], "turn-1", input_text="I like tea.")
    hub.sessions.select(session["id"], request["id"], ["notes"])

    def call(call_id: str, name: str, **arguments: str) -> ToolOutcome:
        return hub.sessions.call_tool(
            session["id"], request["id"], call_id=call_id, name=name, arguments=arguments
        )

    texts = ("Likes tea.", "Likes rum.")
    kept, dropped = (call(text, "save_memory", text=text).get("output")["id"] for text in texts)
    assert [one["text"] for one in hub.records.writes(state="waiting")] == ["Likes rum.", "Likes tea."]
    assert hub.records.approve(kept)["outcome"] == "done"
    assert hub.records.reject(dropped)["state"] == "rejected"
    found = call("c3", "search_memory", query="likes")
    assert [item["text"] for item in found["items"]] == ["Likes tea."]
    second = hub.sessions.open_request(session["id"], "turn-2", input_text="And?", untrusted=True)
    assert second["references"] == found["references"]
    others = hub.sessions.open_request(session["id"], "turn-3", principal={"issuer": "api", "subject": "bob"})
    assert others["items"] == []

"""The pages of declared memory: resources, their documents, deployments, and what a model would get."""

import json
from typing import Any

import pytest

from memoryhub.models import AuditEvent
from providers.bindings import parse_bindings
from providers.models import Binding, Deployment, HttpOperation, ModelRequest, Namespace, Promotion, Resource
from providers.sessions import WantedSession
from providers.trials import tool_facts, try_memory
from stores.models import MemoryVersion
from tests.console.site import Site, form_of
from tests.providers.desk import Desk
from tests.providers.manifests import connection, http_resource, manifest
from tests.world import Tenant

PAYLOAD = "<script>alert(1)</script>"
DOCUMENT = "/resources/playbook/documents/team-a"
TOOLS = json.dumps(http_resource()["provider"]["tools"])


@pytest.fixture
def desk(tenant: Tenant) -> Desk:
    made = Desk(tenant)
    made.declare()
    return made


def text(answer: Any) -> str:
    return str(answer.content.decode())


def service(**more: str) -> dict[str, str]:
    typed = {"kind": "http", "id": "knowledge", "description": "What is known.", "bytes_max": "4096"}
    typed |= {"origin": "https://memory.example.com", "path": "/memory", "tools": TOOLS}
    return typed | more


def test_an_environment_without_memory_says_what_it_is_for_and_how_to_begin(owner: Site) -> None:
    shown = text(owner.get("/resources"))
    assert "No resource yet" in shown
    assert "/v1/memory_resources" in shown
    assert "No deployment yet" in text(owner.get("/deployments"))
    assert "Nothing to try yet" in text(owner.get("/try"))


def test_the_first_document_memory_takes_one_form(owner: Site, tenant: Tenant) -> None:
    typed = {"kind": "document", "id": "playbook", "description": "How we work.", "bytes_max": "512"}
    answer = owner.post("/declare", typed)
    assert answer["Location"] == f"{owner.base}/resources/playbook"
    promoted = Promotion.objects.get(environment=tenant.development, is_active=True)
    assert promoted.agent_id == "default"
    assert Resource.objects.get(environment=tenant.development).store.content_bytes_max == 512
    assert "No document yet" in text(owner.get("/resources/playbook"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"id": "Play Book"}, "An id is 1 to 128"),
        ({"description": " "}, "Say what it holds"),
        ({"bytes_max": "20000"}, "less than or equal to 16384"),
        ({"kind": "ftp"}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_with_a_declaration_stands_beside_its_field(
    owner: Site, typed: dict[str, str], said: str
) -> None:
    whole = {"kind": "document", "id": "playbook", "description": "How we work.", "bytes_max": "512"}
    answer = owner.post("/declare", whole | typed)
    assert answer.status_code == 400
    assert said in text(answer)
    assert not Resource.objects.filter(project=owner.project).exists()


def test_http_memory_says_that_it_sends_the_input(owner: Site) -> None:
    shown = text(owner.get("/declare"))
    assert "Each recall sends the text of the current input" in shown
    answer = owner.post("/declare", service())
    assert answer["Location"] == f"{owner.base}/resources/knowledge"
    shown = text(owner.get("/resources/knowledge"))
    assert "Each recall sends the text of the current input" in shown
    assert "https://memory.example.com" in shown
    assert "No namespace yet" in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"origin": "http://memory.example.com"}, "It must begin with https://."),
        ({"path": "memory"}, "It must begin with one /"),
        ({"secret": "lower"}, "The name of a secret is A to Z"),
        ({"tools": "[{"}, "This is not JSON as the hub reads it"),
        ({"tools": '[{"name": "a"}]'}, "/memory/0/provider/tools/0/access"),
    ],
)
def test_what_is_wrong_with_a_service_stands_beside_its_field(
    owner: Site, typed: dict[str, str], said: str
) -> None:
    answer = owner.post("/declare", service(**typed))
    assert answer.status_code == 400
    assert said in text(answer) or said.rpartition("/")[2] in text(answer)
    assert not Resource.objects.filter(project=owner.project).exists()


def test_a_change_keeps_what_the_form_does_not_show(owner: Site, desk: Desk) -> None:
    headers = {"X-Team": "support", "Authorization": {"secret": "OLD_TOKEN", "prefix": "Bearer "}}
    declared = manifest(http_resource(), connections=[connection(headers=headers, pathPrefix="/memory")])
    call = desk.tenant.call()
    body = {"resource": declared["memory"][0], "connection": declared["connections"][0]}
    assert call("POST", "/v1/memory_resources", body).status == 201
    form = form_of(owner.get("/resources/knowledge/declaration"))
    assert form["secret"] == "OLD_TOKEN"
    assert owner.post("/resources/knowledge/declaration", form | {"secret": "NEW_TOKEN"}).status_code == 302
    active = Promotion.objects.get(environment=desk.tenant.development, is_active=True).deployment
    kept = active.manifest["connections"][0]
    assert kept["pathPrefix"] == "/memory"
    assert kept["headers"]["X-Team"] == "support"
    assert kept["headers"]["Authorization"]["secret"] == "NEW_TOKEN"
    assert {one["id"] for one in active.manifest["memory"]} == {"playbook", "knowledge"}


def test_a_declaration_that_changed_meanwhile_is_not_overwritten(owner: Site, desk: Desk) -> None:
    form = form_of(owner.get("/resources/playbook/declaration"))
    desk.declare(maxBytes=100)
    answer = owner.post("/resources/playbook/declaration", form | {"description": "Mine <b>"})
    assert answer.status_code == 409
    assert "somebody else declared this resource" in text(answer)
    assert "Mine &lt;b&gt;" in text(answer)
    assert Resource.objects.get(project=owner.project, resource_id="playbook").description == "How we work."
    again = form_of(answer)
    assert owner.post("/resources/playbook/declaration", again).status_code == 302
    assert Resource.objects.get(project=owner.project, resource_id="playbook").description == "Mine <b>"


def test_a_secret_that_was_named_meanwhile_is_a_change_too(owner: Site) -> None:
    owner.post("/declare", service())
    first = form_of(owner.get("/resources/knowledge/declaration"))
    assert owner.post("/resources/knowledge/declaration", first | {"secret": "TOKEN"}).status_code == 302
    answer = owner.post("/resources/knowledge/declaration", first | {"description": "Mine"})
    assert answer.status_code == 409
    assert "TOKEN" in text(answer)


def test_another_endpoint_is_asked_about(owner: Site) -> None:
    owner.post("/declare", service())
    form = form_of(owner.get("/resources/knowledge/declaration"))
    moved = form | {"origin": "https://elsewhere.example.com"}
    answer = owner.post("/resources/knowledge/declaration", moved)
    assert answer.status_code == 409
    assert "No data moves with a resource" in text(answer)
    again = form_of(answer) | {"acknowledge": "on"}
    assert owner.post("/resources/knowledge/declaration", again).status_code == 302
    assert Resource.objects.get(project=owner.project).provider["origin"] == "https://elsewhere.example.com"


def test_the_declaration_is_what_the_api_takes(owner: Site, desk: Desk) -> None:
    shown = text(owner.get("/resources/playbook"))
    body = {
        "resource": {
            "id": "playbook",
            "description": "How we work.",
            "provider": {"kind": "document", "maxBytes": 8192},
        }
    }
    assert json.dumps(body, indent=2).replace('"', "&quot;") in shown
    before = Deployment.objects.count()
    assert desk.tenant.call()("POST", "/v1/memory_resources", body).status == 201
    assert Deployment.objects.count() == before, "the same declaration changes nothing"


def test_a_retired_resource_keeps_its_documents_and_its_pages(owner: Site, desk: Desk) -> None:
    desk.put()
    call = desk.tenant.call()
    made = call("POST", "/v1/deployments", {"agent_id": "default", "manifest": {"memory": []}}).body["id"]
    owner.post(f"/deployments/{made}/promote")
    assert "Retired" in text(owner.get("/resources"))
    assert "Team A" in text(owner.get("/resources/playbook"))
    assert "Deploy before noon." in text(owner.get(DOCUMENT))
    assert owner.post(f"{DOCUMENT}/freeze").status_code == 302


# --- documents ---


def test_a_document_is_made_with_its_limits(owner: Site, desk: Desk) -> None:
    path = "/resources/playbook/new-document"
    typed = {"document_id": "team-b", "title": "Team B", "summary": "", "content": "Friday\r\n"}
    assert owner.post(path, typed)["Location"] == f"{owner.base}/resources/playbook/documents/team-b"
    assert desk.get("team-b").text == "Friday\n"
    for wrong, said in (
        ({"document_id": "a b"}, "An id is 1 to 128"),
        ({"document_id": "team-b"}, "exists already"),
        ({"document_id": "c", "title": "ä" * 121}, "at most 240 are allowed"),
        ({"document_id": "d", "content": "x" * 9_000}, "a document of this resource holds at most 8192"),
    ):
        answer = owner.post(path, typed | wrong)
        assert answer.status_code in (400, 412, 413), wrong
        assert said in text(answer), wrong


def test_text_of_a_model_is_text(owner: Site, desk: Desk) -> None:
    desk.put(title=f"Team {PAYLOAD}", summary=PAYLOAD, text=PAYLOAD)
    session_id = desk.open()
    request_id = desk.begin(session_id)
    desk.save(session_id, request_id, f"{PAYLOAD}\u202e", summary=PAYLOAD)
    desk.save(session_id, request_id, PAYLOAD, "c2", extra=PAYLOAD)
    pages = [
        "/resources",
        "/resources/playbook",
        DOCUMENT,
        f"{DOCUMENT}/edit",
        f"{DOCUMENT}/title",
        f"{DOCUMENT}/delete",
        "/sessions",
        f"/sessions/{session_id}",
        f"/sessions/{session_id}/events",
        f"/sessions/{session_id}/requests/{request_id}",
        "/try?resource=playbook",
    ]
    for path in pages:
        answer = owner.client.get(owner.base + path)
        assert answer.status_code == 200, path
        assert PAYLOAD not in text(answer), path
    assert "U+202E" in text(owner.get(DOCUMENT))


def test_a_stale_edit_keeps_what_was_typed_and_shows_both_changes(owner: Site, desk: Desk) -> None:
    desk.put(text="one\n\ntwo\n\nthree\n")
    form = form_of(owner.get(f"{DOCUMENT}/edit"))
    desk.replace("ONE\n\ntwo\n\nthree\n")
    mine = form | {"content": "one\r\n\r\ntwo\r\n\r\nTHREE\r\n", "summary": "My summary"}
    answer = owner.post(f"{DOCUMENT}/edit", mine)
    assert answer.status_code == 409
    assert "Nothing was saved" in text(answer)
    assert desk.get().text == "ONE\n\ntwo\n\nthree\n"
    kept = form_of(answer)
    assert (kept["content"], kept["summary"]) == ("one\r\n\r\ntwo\r\n\r\nTHREE\r\n", "My summary")
    merged = form_of(owner.post(f"{DOCUMENT}/edit", kept | {"use": "both"}))
    assert merged["content"] == "ONE\r\n\r\ntwo\r\n\r\nTHREE\r\n"
    assert owner.post(f"{DOCUMENT}/edit", merged).status_code == 302
    assert desk.get().text == "ONE\n\ntwo\n\nTHREE\n"
    assert desk.get().card.summary == "My summary"


def test_marks_of_a_conflict_are_not_saved_by_an_oversight(owner: Site, desk: Desk) -> None:
    desk.put(text="one\n")
    form = form_of(owner.get(f"{DOCUMENT}/edit"))
    desk.replace("theirs\n")
    clash = form_of(owner.post(f"{DOCUMENT}/edit", form | {"content": "mine\r\n"}))
    merged = form_of(owner.post(f"{DOCUMENT}/edit", clash | {"use": "both"}))
    assert "<<<<<<<" in merged["content"]
    answer = owner.post(f"{DOCUMENT}/edit", merged | {"use": "merged"})
    assert answer.status_code == 400
    assert "Both changes still stand between marks" in text(answer)
    assert desk.get().text == "theirs\n"
    assert (
        owner.post(f"{DOCUMENT}/edit", form_of(answer) | {"content": "both", "use": "merged"}).status_code
        == 302
    )
    assert desk.get().text == "both"


def test_a_document_that_was_deleted_while_one_typed_gives_the_text_back(owner: Site, desk: Desk) -> None:
    revision = desk.put().revision
    form = form_of(owner.get(f"{DOCUMENT}/edit")) | {"content": "kept"}
    owner.post(f"{DOCUMENT}/delete", {"typed_id": "team-a", "revision": revision})
    answer = owner.post(f"{DOCUMENT}/edit", form)
    assert answer.status_code == 404
    assert "was deleted while you were typing" in text(answer)
    assert form_of(answer)["content"] == "kept"


def test_saving_a_document_as_it_was_makes_no_revision(owner: Site, desk: Desk) -> None:
    revision = desk.put(text="one\r\ntwo\n").revision
    owner.post(f"{DOCUMENT}/edit", form_of(owner.get(f"{DOCUMENT}/edit")))
    assert desk.get().revision == revision


def test_a_freeze_needs_no_revision_and_stops_models(owner: Site, desk: Desk) -> None:
    desk.put()
    session_id = desk.open()
    request_id = desk.begin(session_id)
    owner.post(f"{DOCUMENT}/freeze")
    assert desk.save(session_id, request_id, "again")["reason"] == "agent_writes_disabled"
    assert "Frozen" in text(owner.get("/resources/playbook"))
    owner.post(f"{DOCUMENT}/unfreeze")
    assert desk.get().card.agent_writes is True


def test_a_title_is_changed_for_the_revision_that_was_shown(owner: Site, desk: Desk) -> None:
    desk.put()
    form = form_of(owner.get(f"{DOCUMENT}/title")) | {"title": "Team <A>"}
    desk.replace("meanwhile")
    answer = owner.post(f"{DOCUMENT}/title", form)
    assert answer.status_code == 412
    assert form_of(answer)["title"] == "Team <A>"
    assert owner.post(f"{DOCUMENT}/title", form_of(answer)).status_code == 302
    assert (desk.get().card.title, desk.get().text) == ("Team <A>", "meanwhile")


def test_a_deletion_asks_for_the_id_and_names_what_goes(owner: Site, desk: Desk) -> None:
    desk.put()
    desk.open()
    shown = owner.get(f"{DOCUMENT}/delete")
    assert "1 revision" in text(shown)
    assert "1 binds it" in text(shown)
    form = form_of(shown)
    assert "Type team-a to delete it." in text(owner.post(f"{DOCUMENT}/delete", form | {"typed_id": "x"}))
    desk.replace("meanwhile")
    stale = owner.post(f"{DOCUMENT}/delete", form | {"typed_id": "team-a"})
    assert stale.status_code == 412
    assert desk.get().text == "meanwhile"
    answer = owner.post(f"{DOCUMENT}/delete", form_of(stale) | {"typed_id": "team-a"})
    assert answer["Location"] == f"{owner.base}/resources/playbook"
    assert owner.get(DOCUMENT).status_code == 404
    assert not MemoryVersion.objects.filter(content__isnull=False, project=desk.tenant.project).exists()


def test_an_export_is_a_line_for_each_document(owner: Site, desk: Desk) -> None:
    desk.put()
    answer = owner.get("/resources/playbook/export")
    line = json.loads(b"".join(answer.streaming_content))
    assert (line["resource"], line["id"], line["text"]) == ("playbook", "team-a", "Deploy before noon.")
    assert answer["Content-Disposition"] == 'attachment; filename="playbook.ndjson"'


def test_the_store_of_a_resource_offers_nothing_that_would_be_refused(owner: Site, desk: Desk) -> None:
    desk.put()
    store = Resource.objects.get(project=owner.project).store
    memory_id = desk.get().memory.wire_id
    base = f"{owner.base}/stores/{store.wire_id}"
    shown = "".join(
        text(owner.client.get(base + path)) for path in ("", "/settings", f"/memories/{memory_id}")
    )
    for refused in ("/archive", "/delete", "/upload", f"/memories/{memory_id}/move", "/memories/new"):
        assert f'href="{base}{refused}"' not in shown
    assert f'href="{owner.base}{DOCUMENT}"' in shown
    assert f'value="{store.wire_id}"' not in text(owner.get("/stores"))


# --- what a model would get ---


def test_a_trial_gives_what_a_model_request_gives(owner: Site, desk: Desk) -> None:
    desk.put(text="Deploy before noon.\n", summary="When we deploy.")
    desk.put("team-b", text="Friday", title="Team B")
    call = desk.tenant.call()
    for memory in (
        {"playbook": {"scope": "document", "id": "team-a", "access": "read-write"}},
        {"playbook": {"scope": "document", "id": "team-b"}},
        {"playbook": {"scope": "collection"}},
    ):
        session_id = desk.open(memory)
        url = f"/v1/sessions/{session_id}/model-requests"
        given = call("POST", url, {"client_request_id": "r"}).body
        offered = call("PUT", f"{url}/{given['id']}/selection", {"use": ["playbook"]}).body["tools"]
        wanted = WantedSession(desk.environment, None, None, parse_bindings(memory), [], "")
        trial = try_memory(wanted, actor=desk.actor)
        shown = {
            one.resource_id: {"text": one.text, "sources": one.sources, "writable": one.writable}
            for one in trial.projections
        }
        assert shown == given["memory"]
        assert [tool_facts(tool) for tool in trial.tools] == offered


def test_a_trial_writes_nothing_and_keeps_the_input_out_of_the_address(owner: Site, desk: Desk) -> None:
    desk.put()
    store_id = desk.tenant.call()("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    rows = (Binding, ModelRequest, Deployment, AuditEvent, MemoryVersion)
    before = [model.objects.count() for model in rows]
    typed = {
        "input": "When?",
        "bind-playbook": "document:team-a",
        "writes-playbook": "on",
        "stores": store_id,
    }
    answer = owner.post("/try", typed)
    shown = text(answer)
    assert answer.status_code == 200
    assert "19 bytes, it may be written" in shown
    assert "memory_save" in shown
    assert "/mnt/memory/notes" in shown
    assert "What it is told of its stores" in shown
    assert [model.objects.count() for model in rows] == before


def test_a_trial_tells_what_a_session_would_be_told(owner: Site, desk: Desk) -> None:
    desk.put()
    owner.post("/declare", service(tools=TOOLS.replace("remember", "save")))
    typed = {"input": "", "bind-playbook": "document:team-a", "bind-knowledge": "namespace"}
    answer = owner.post("/try", typed)
    assert answer.status_code == 400
    assert "takes other arguments" in text(answer)


def test_a_trial_of_a_service_shows_its_tools_and_asks_nobody(owner: Site, tenant: Tenant) -> None:
    owner.post("/declare", service())
    answer = owner.post("/try", {"bind-knowledge": "namespace", "writes-knowledge": "on"})
    assert answer.status_code == 200
    assert "memory_remember" in text(answer)
    assert "It is not asked here." in text(answer)
    for model in (HttpOperation, Namespace, Binding, ModelRequest):
        assert not model.objects.filter(project=tenant.project).exists(), model


# --- deployments ---


def test_a_deployment_is_made_promoted_and_shown(owner: Site, desk: Desk) -> None:
    wrong = owner.post("/deployments/new", {"agent_id": "triage", "manifest": '{"memory": [{"id": "A"}]}'})
    assert wrong.status_code == 400
    assert "/memory/0/id" in text(wrong)
    body = json.dumps({"memory": [{"id": "notes", "description": "Notes."}]})
    made = owner.post("/deployments/new", {"agent_id": "triage", "manifest": body})["Location"]
    shown = text(owner.client.get(made))
    assert "not in force" in shown
    assert "Promote…" in shown
    assert owner.client.post(f"{made}/promote")["Location"] == made
    assert "in force since" in text(owner.client.get(made))
    assert Resource.objects.filter(project=owner.project, resource_id="notes").exists()


def test_a_promotion_that_moves_an_endpoint_is_asked_about(owner: Site, tenant: Tenant) -> None:
    call = tenant.call()
    made = []
    for origin in ("https://memory.example.com", "https://elsewhere.example.com"):
        declared = manifest(http_resource(), connections=[connection(origin=origin)])
        body = {"agent_id": "triage", "manifest": declared}
        made.append(call("POST", "/v1/deployments", body).body["id"])
    assert owner.post(f"/deployments/{made[0]}/promote").status_code == 302
    answer = owner.post(f"/deployments/{made[1]}/promote")
    assert answer.status_code == 409
    assert "https://elsewhere.example.com" in text(answer)
    promoted = owner.post(f"/deployments/{made[1]}/promote", {"acknowledged": "knowledge"})
    assert promoted.status_code == 302

"""The pages of sessions and secrets, and the deletion of an environment or a project."""

from typing import Any

import pytest
from django.test import override_settings

from memoryhub.models import Environment, Project, Secret, Session
from memoryhub.secrets import find_value
from providers.models import Binding, Namespace, Projection, Resource, ToolCall
from tests.console.site import Site, add_person, form_of, sign_in, words_of
from tests.providers.desk import Desk
from tests.world import Tenant

ORIGIN = "https://memory.example.com"


@pytest.fixture
def desk(tenant: Tenant) -> Desk:
    made = Desk(tenant)
    made.declare()
    made.put()
    return made


def text(answer: Any) -> str:
    return str(answer.content.decode())


def rows(answer: Any) -> int:
    return text(answer).count('href="/p/') and text(answer).partition("<tbody>")[2].count("<tr>")


def test_an_environment_without_sessions_shows_the_call_that_begins_one(owner: Site) -> None:
    shown = text(owner.get("/sessions"))
    assert "No session yet" in shown
    assert "/v1/sessions" in shown


def test_sessions_are_filtered_and_paged_by_cursor(owner: Site, desk: Desk) -> None:
    opened = [desk.open() for _ in range(23)]
    other = desk.open({"playbook": {"scope": "collection"}})
    desk.tenant.call()("POST", f"/v1/sessions/{opened[0]}/end")
    first = owner.get("/sessions")
    assert rows(first) == 20
    following = text(first).partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = owner.client.get(following.replace("&amp;", "&"))
    assert rows(second) == 4
    assert rows(owner.get("/sessions", state="ended")) == 1
    assert rows(owner.get("/sessions", target="team-a", state="live")) == 20
    assert other in text(owner.get("/sessions", resource="playbook"))
    assert "No session is like that" in text(owner.get("/sessions", resource="none"))
    assert owner.get("/sessions", state="sleeping").status_code == 400
    assert owner.get("/sessions", page="page_forged").status_code == 400


def test_a_session_shows_what_its_model_was_given_offered_and_did(owner: Site, desk: Desk) -> None:
    store_id = desk.tenant.call()("POST", "/v1/memory_stores", {"name": "Customer notes"}).body["id"]
    body = {
        "environment": desk.environment,
        "title": "Release talk",
        "memory": {"playbook": {"scope": "document", "id": "team-a", "access": "read-write"}},
        "resources": [{"type": "memory_store", "memory_store_id": store_id}],
    }
    session_id = desk.tenant.call()("POST", "/v1/sessions", body).body["id"]
    request_id = desk.begin(session_id)
    desk.save(session_id, request_id, "Never on Fridays.")
    desk.save(session_id, request_id, "Always.", "c2")
    shown = text(owner.get(f"/sessions/{session_id}"))
    for said in (
        "Release talk",
        "reads and writes",
        "/mnt/memory/customer-notes",
        "&lt;memory_stores&gt;",
        "19 bytes",
        "Saved",
        "Conflict",
        "memory.saved",
    ):
        assert said in shown, said
    asked = text(owner.get(f"/sessions/{session_id}/requests/{request_id}"))
    for said in ("Deploy before noon.", "memory_save", "Never on Fridays.", "Schema of its arguments", "c2"):
        assert said in asked, said
    assert "Release talk" in text(owner.get(f"/stores/{store_id}/sessions"))
    assert "a model in " in text(owner.get("/resources/playbook/documents/team-a"))


def test_what_was_erased_is_erased_on_the_page_of_the_request(owner: Site, desk: Desk) -> None:
    session_id = desk.open()
    request_id = desk.begin(session_id)
    desk.save(session_id, request_id, "The gate code is 4242.")
    form = form_of(owner.get("/resources/playbook/documents/team-a/delete")) | {"typed_id": "team-a"}
    assert owner.post("/resources/playbook/documents/team-a/delete", form).status_code == 302
    shown = words_of(owner.get(f"/sessions/{session_id}/requests/{request_id}"))
    assert "Arguments and outcome were erased" in shown
    assert "The text was erased" in shown
    assert "gate code" not in shown
    assert "Erased" in text(owner.get(f"/sessions/{session_id}"))


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"items": ["rain"], "status": "ok"}, "items"),
        (["rain", "snow"], "snow"),
        ("It rains.", "It rains."),
        (None, "none"),
    ],
)
def test_what_a_service_gave_is_shown_whatever_it_is(owner: Site, desk: Desk, output: Any, said: str) -> None:
    session_id = desk.open()
    request_id = desk.begin(session_id)
    desk.save(session_id, request_id, "Never on Fridays.")
    sources = [{"id": "notes/2026 <1>"}, {"id": "s2", "title": "A title"}]
    Projection.objects.filter(project=desk.tenant.project).update(sources=sources, version_ids=[])
    ToolCall.objects.filter(project=desk.tenant.project).update(output=output)
    shown = text(owner.get(f"/sessions/{session_id}/requests/{request_id}"))
    assert "<code>notes/2026 &lt;1&gt;</code>" in shown
    assert "<bdi>A title</bdi> <code>s2</code>" in shown
    assert said in shown.partition("Outcome, as the model was told")[2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "started", "output": None, "finished_at": None}, "Started"),
        ({"output": {"status": "uncertain"}}, "Uncertain"),
    ],
)
def test_a_call_of_a_service_says_that_it_is_under_way_or_in_doubt(
    owner: Site, desk: Desk, changes: dict[str, Any], said: str
) -> None:
    session_id = desk.open()
    request_id = desk.begin(session_id)
    desk.save(session_id, request_id, "Never on Fridays.")
    ToolCall.objects.filter(project=desk.tenant.project).update(**changes)
    for page in (f"/sessions/{session_id}", f"/sessions/{session_id}/requests/{request_id}"):
        assert f">{said}</span>" in text(owner.get(page))


def test_a_recall_that_failed_says_why(owner: Site, desk: Desk) -> None:
    session_id = desk.open()
    form = form_of(owner.get("/resources/playbook/documents/team-a/delete")) | {"typed_id": "team-a"}
    owner.post("/resources/playbook/documents/team-a/delete", form)
    call = desk.tenant.call()
    call("POST", f"/v1/sessions/{session_id}/model-requests", {"client_request_id": "r"})
    shown = text(owner.get(f"/sessions/{session_id}"))
    assert "Recall failed" in shown
    link = shown.partition("/requests/")[2].partition('"')[0]
    assert "There is no document team-a any more." in text(
        owner.get(f"/sessions/{session_id}/requests/{link}")
    )


def test_one_binding_is_revoked_a_session_ended_and_deleted(owner: Site, desk: Desk) -> None:
    session_id = desk.open()
    path = f"/sessions/{session_id}"
    request_id = desk.begin(session_id)
    assert "document <bdi>team-a" in text(owner.get(f"{path}/bindings/playbook/revoke"))
    assert owner.get(f"{path}/bindings/none/revoke").status_code == 404
    owner.post(f"{path}/bindings/playbook/revoke")
    assert Binding.objects.get(project=owner.project).revoked_at is not None
    assert desk.save(session_id, request_id, "late")["reason"] == "session_closed"
    assert "Revoked" in text(owner.get(path))
    assert "There is no way back" in text(owner.get(f"{path}/end"))
    owner.post(f"{path}/end")
    shown = text(owner.get(path))
    assert "Ended" in shown
    assert f'"{owner.base}{path}/end"' not in shown
    assert "Calls" in text(owner.get(f"{path}/delete"))
    assert owner.post(f"{path}/delete")["Location"] == f"{owner.base}/sessions"
    assert not Session.objects.filter(project=owner.project).exists()
    assert desk.get().text == "Deploy before noon."


def test_events_are_read_on_after_a_number(owner: Site, desk: Desk) -> None:
    session_id = desk.open()
    call = desk.tenant.call()
    for number in range(103):
        body = {"type": "user.message", "data": {"text": f"message {number} <b>"}}
        assert call("POST", f"/v1/sessions/{session_id}/events", body).status < 300
    first = text(owner.get(f"/sessions/{session_id}/events"))
    assert "message 99 &lt;b&gt;" in first
    assert "message 100" not in first
    assert "?after=100" in first
    second = text(owner.get(f"/sessions/{session_id}/events", after="100"))
    assert "message 102" in second
    assert owner.get(f"/sessions/{session_id}/events", after="-1").status_code == 400
    assert "All 103 events" in text(owner.get(f"/sessions/{session_id}"))


def test_a_session_of_another_environment_is_not_there(tenant: Tenant, desk: Desk) -> None:
    session_id = desk.open()
    elsewhere = sign_in(tenant.owner, tenant.project, "production")
    for path in ("", "/events", "/end", "/delete", "/bindings/playbook/revoke"):
        assert elsewhere.get(f"/sessions/{session_id}{path}").status_code == 404
        assert elsewhere.post(f"/sessions/{session_id}{path}").status_code in (404, 405)
    assert elsewhere.get("/resources/playbook").status_code == 404


def test_the_audit_trail_leads_to_sessions_deployments_and_secrets(owner: Site, desk: Desk) -> None:
    session_id = desk.open()
    owner.post("/secrets/new", secret())
    shown = text(owner.get("/audit"))
    assert f'href="{owner.base}/sessions/{session_id}"' in shown
    assert f'href="{owner.base}/deployments/' in shown
    assert f'href="{owner.base}/resources/playbook/documents/team-a"' in shown
    assert f'href="{owner.base}/secrets/{Secret.objects.get(project=owner.project).wire_id}"' in shown


def test_a_viewer_is_offered_no_change_of_a_session_or_a_document(tenant: Tenant, desk: Desk) -> None:
    session_id = desk.open()
    desk.begin(session_id)
    viewer = sign_in(add_person(tenant, "viewer"), tenant.project)
    for path in (
        "/resources",
        "/resources/playbook",
        "/resources/playbook/documents/team-a",
        f"/sessions/{session_id}",
    ):
        shown = text(viewer.get(path)).partition("<main")[2]
        for word in (
            "Edit<",
            "Freeze",
            "Delete…",
            "End…",
            "Revoke",
            "New document",
            "Declare a",
            "Change the",
        ):
            assert word not in shown, (path, word)
    assert viewer.get("/secrets").status_code == 403
    assert viewer.post("/try", {"bind-playbook": "document:team-a"}).status_code == 200


# --- secrets ---


def secret(**more: str) -> dict[str, str]:
    typed = {
        "name": "MEMORY_TOKEN",
        "agent_id": "",
        "value": "s3cret value",
        "allowed_origins": f"{ORIGIN}\r\n",
    }
    return typed | more


def value_of(tenant: Tenant, agent_id: str = "any") -> str | None:
    return find_value(tenant.development.id, agent_id=agent_id, name="MEMORY_TOKEN", origin=ORIGIN)


def test_a_secret_is_written_replaced_and_never_shown(owner: Site, tenant: Tenant) -> None:
    assert "No secret yet" in text(owner.get("/secrets"))
    assert owner.post("/secrets/new", secret())["Location"] == f"{owner.base}/secrets"
    assert value_of(tenant) == "s3cret value"
    path = f"/secrets/{Secret.objects.get(project=owner.project).wire_id}"
    form = form_of(owner.get(path))
    assert owner.post(path, form | {"value": "another"}).status_code == 302
    assert value_of(tenant) == "another"
    shown = text(owner.get("/secrets")) + text(owner.get(path)) + text(owner.get(f"{path}/delete"))
    assert "another" not in shown.replace("No connection to another one", "")
    assert "s3cret" not in shown
    assert tenant.owner.name in text(owner.get("/secrets"))


def test_a_refused_secret_is_not_given_back(owner: Site) -> None:
    for wrong, said in (
        ({"name": "lower"}, "A name is A to Z"),
        ({"allowed_origins": "http://x.example.com"}, "It must begin with https://."),
        ({"value": "ä secret"}, "This must be printable ASCII."),
        ({"value": "x" * 4_097}, "at most 4096"),
    ):
        answer = owner.post("/secrets/new", secret(**wrong))
        assert answer.status_code == 400, wrong
        assert said in text(answer), wrong
        assert secret(**wrong)["value"] not in text(answer)
    assert not Secret.objects.filter(project=owner.project).exists()


def test_a_new_secret_replaces_none_and_a_replacement_only_what_was_shown(
    owner: Site, tenant: Tenant
) -> None:
    owner.post("/secrets/new", secret())
    taken = owner.post("/secrets/new", secret(value="mine"))
    assert taken.status_code == 409
    assert "There is a secret of this name already" in text(taken)
    assert owner.post("/secrets/new", secret(value="of one agent", agent_id="triage")).status_code == 302
    path = f"/secrets/{Secret.objects.get(project=owner.project, agent_id='').wire_id}"
    form = form_of(owner.get(path))
    owner.post(path, form | {"value": "theirs"})
    stale = owner.post(path, form | {"value": "mine"})
    assert stale.status_code == 409
    assert (value_of(tenant), value_of(tenant, "triage")) == ("theirs", "of one agent")
    owner.post(f"{path}/delete")
    assert [one.agent_id for one in Secret.objects.filter(project=owner.project)] == ["triage"]


def test_without_a_key_no_secret_is_asked_for(owner: Site) -> None:
    with override_settings(ENCRYPTION_KEYS=[]):
        shown = text(owner.get("/secrets"))
        assert "MEMORYHUB_ENCRYPTION_KEY" in shown
        assert "New secret" not in shown.partition("<main")[2]
        assert owner.post("/secrets/new", secret()).status_code == 503


# --- deletion ---


def test_an_environment_goes_by_its_name_and_lists_what_lies_elsewhere(
    owner: Site, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_remote(tenant)
    path = f"/settings/environments/{tenant.development.wire_id}/delete"
    shown = text(owner.get(path))
    assert "https://memory.example.com/memory" in shown
    assert "p" * 64 in shown
    refused = owner.post(path, {"name": "production"})
    assert refused.status_code == 400
    assert "To delete it for good, give its name, development" in text(refused)
    answer = owner.post(path, {"name": "development"})
    assert answer["Location"] == f"/p/{tenant.project.wire_id}/production/settings"
    assert "Other services keep 1 namespace of it." in text(owner.client.get(answer["Location"]))
    assert [one.name for one in Environment.objects.filter(project=tenant.project)] == ["production"]
    last = sign_in(tenant.owner, tenant.project, "production")
    assert "Delete<span" not in text(last.get("/settings"))
    refused = last.post(f"/settings/environments/{tenant.production.wire_id}/delete", {"name": "production"})
    assert "delete the project instead" in text(refused)


def make_remote(tenant: Tenant) -> None:
    provider = {
        "kind": "http",
        "origin": ORIGIN,
        "path": "/memory",
        "connection": "kb",
        "maxBytes": 1,
        "tools": [],
    }
    where = {"project": tenant.project, "environment": tenant.development}
    resource = Resource.objects.create(
        **where, resource_id="knowledge", kind="http", description="What is known.", provider=provider
    )
    Namespace.objects.create(**where, resource=resource, namespace_id="acme", partition="p" * 64)


def test_a_project_goes_by_its_name(owner: Site, tenant: Tenant, stranger: Tenant) -> None:
    make_remote(tenant)
    assert "p" * 64 in text(owner.get("/settings/delete"))
    assert owner.post("/settings/delete", {"name": "another"}).status_code == 400
    assert Project.objects.filter(id=tenant.project.id).exists()
    answer = owner.post("/settings/delete", {"name": tenant.project.name})
    assert answer["Location"] == "/"
    assert owner.client.get("/").status_code in (200, 302)
    assert list(Project.objects.filter(id__in=[tenant.project.id, stranger.project.id])) == [stranger.project]
    assert owner.get("/resources").status_code == 404


def test_only_owners_see_the_way_to_delete(tenant: Tenant) -> None:
    developer = sign_in(add_person(tenant, "developer"), tenant.project)
    assert "Delete" not in text(developer.get("/settings")).partition("<main")[2]
    assert developer.get("/settings/delete").status_code == 403

"""Documents over REST: conditions, statuses, limits. Contract, section 8."""

from typing import Any

import pytest

from tests.answers import Answer
from tests.providers.desk import Desk
from tests.world import Caller, Tenant

NEW = {"If-None-Match": "*"}


class Documents:
    def __init__(self, tenant: Tenant, call: Caller) -> None:
        self.root = f"/v1/projects/{tenant.project.wire_id}/memory/playbook/documents"
        self.call = call

    def __call__(self, method: str, name: str = "", body: Any = None, **headers: str) -> Answer:
        path = f"{self.root}/{name}" if name else self.root
        sent = {key.replace("_", "-"): value for key, value in headers.items()}
        return self.call(method, path, body, headers=sent, query={"environment": "development"})


@pytest.fixture
def rest(desk: Desk, call: Caller) -> Documents:
    return Documents(desk.tenant, call)


def code(answer: Answer) -> Any:
    return answer.body["error"].get("details", {}).get("error_code")


def test_a_document_lives(rest: Documents) -> None:
    made = rest("PUT", "a", {"title": "A", "text": "One."}, If_None_Match="*")
    assert made.status == 201
    assert made.headers["etag"] == f'"{made.body["revision"]}"'
    assert made.body["agent_writes"] == "enabled"
    assert (made.body["bytes"], made.body["max_bytes"]) == (4, 8_192)
    replaced = rest("PUT", "a", {"text": "Two."}, If_Match=made.headers["etag"])
    assert replaced.status == 200
    assert replaced.body["revision"] != made.body["revision"]
    renamed = rest("PATCH", "a", {"title": "B"}, If_Match=replaced.headers["etag"])
    assert (renamed.body["title"], renamed.body["text"]) == ("B", "Two.")
    assert renamed.body["revision"] != replaced.body["revision"]
    same = rest("PATCH", "a", {"title": "B"}, If_Match=renamed.headers["etag"])
    assert same.body["revision"] == renamed.body["revision"]
    listed = rest("GET").body["data"]
    assert [one["id"] for one in listed] == ["a"]
    assert "text" not in listed[0]
    deleted = rest("DELETE", "a", If_Match=renamed.headers["etag"])
    assert (deleted.status, deleted.content) == (204, b"")
    assert "etag" not in deleted.headers
    assert rest("GET", "a").status == 404
    assert rest("GET").body["data"] == []


def test_an_id_is_used_once(rest: Documents) -> None:
    made = rest("PUT", "a", {"title": "A"}, If_None_Match="*")
    taken = rest("PUT", "a", {"title": "A"}, If_None_Match="*")
    assert (taken.status, code(taken)) == (412, "precondition_failed")
    rest("DELETE", "a", If_Match=made.headers["etag"])
    used = rest("PUT", "a", {"title": "A"}, If_None_Match="*")
    assert (used.status, code(used)) == (412, "precondition_failed")


def test_a_stale_revision_is_refused_and_changes_nothing(rest: Documents) -> None:
    made = rest("PUT", "a", {"title": "A", "text": "One."}, If_None_Match="*")
    rest("PUT", "a", {"text": "Two."}, If_Match=made.headers["etag"])
    for method, body in (("PUT", {"text": "Three."}), ("PATCH", {"title": "C"}), ("DELETE", None)):
        stale = rest(method, "a", body, If_Match=made.headers["etag"])
        assert (stale.status, stale.body["error"]["type"]) == (412, "revision_conflict_error")
    assert rest("GET", "a").body["text"] == "Two."


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_without_a_condition_is_refused(rest: Documents, method: str) -> None:
    rest("PUT", "a", {"title": "A"}, If_None_Match="*")
    body = {"PUT": {"text": "x"}, "PATCH": {"title": "B"}, "DELETE": None}[method]
    refused = rest(method, "a", body)
    assert (refused.status, code(refused)) == (428, "precondition_required")


@pytest.mark.parametrize("condition", ["*", 'W/"x"', '"a", "b"', "x", '""', '"a"b"'])
def test_a_condition_is_one_strong_tag(rest: Documents, condition: str) -> None:
    rest("PUT", "a", {"title": "A"}, If_None_Match="*")
    assert rest("PUT", "a", {"text": "x"}, If_Match=condition).status == 400


def test_two_conditions_and_a_wrong_one_are_refused(rest: Documents) -> None:
    assert rest("PUT", "a", {"title": "A"}, If_None_Match="*", If_Match='"x"').status == 400
    assert rest("PUT", "a", {"title": "A"}, If_None_Match='"x"').status == 400
    assert rest("DELETE", "a", If_None_Match="*").status in (400, 404)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"title": "A", "more": 1}, 400),
        ({"title": "", "text": ""}, 400),
        ({"text": "x"}, 400),
        ({"title": "t" * 241}, 413),
        ({"title": "ä" * 120 + "b"}, 413),
        ({"title": "A", "summary": "s" * 241}, 413),
        ({"title": "A", "text": "x" * 8_193}, 413),
        ({"title": "A", "agent_writes": True}, 400),
        ({"title": "t" * 240, "summary": "s" * 240, "text": "ä" * 4_096}, 201),
    ],
    ids=[
        "unknown",
        "no title",
        "title left out",
        "title",
        "title bytes",
        "summary",
        "text",
        "policy",
        "fits",
    ],
)
def test_a_new_document_may_be(rest: Documents, body: dict[str, Any], status: int) -> None:
    answer = rest("PUT", "a", body, If_None_Match="*")
    assert answer.status == status
    if status == 413:
        assert code(answer) == "memory_limit_exceeded"


@pytest.mark.parametrize("name", ["a.b", "a b", "a" * 129, "ä", "a%2Fb"])
def test_an_id_may_not_be(rest: Documents, name: str) -> None:
    assert rest("PUT", name, {"title": "A"}, If_None_Match="*").status in (400, 404)


def test_a_replacement_keeps_title_and_policy(rest: Documents) -> None:
    made = rest("PUT", "a", {"title": "A", "summary": "S."}, If_None_Match="*")
    for field, value in (("title", "B"), ("agent_writes", "disabled")):
        refused = rest("PUT", "a", {"text": "x", field: value}, If_Match=made.headers["etag"])
        assert refused.status == 400
    replaced = rest("PUT", "a", {"text": "x"}, If_Match=made.headers["etag"])
    assert (replaced.body["title"], replaced.body["summary"]) == ("A", "S.")


def test_the_environment_must_be_named_and_be_the_keys(desk: Desk, call: Caller) -> None:
    path = f"/v1/projects/{desk.tenant.project.wire_id}/memory/playbook/documents"
    assert call("GET", path).status == 400
    assert call("GET", path, query={"environment": "production"}).status == 404
    assert call("GET", path, query={"environment": "nowhere"}).status == 404


def test_a_document_is_a_file_of_its_store_with_its_policy(desk: Desk, call: Caller) -> None:
    document = desk.put(text="One.")
    store = desk.get().memory.store.wire_id
    shown = call("GET", f"/v1/memory_stores/{store}/files/team-a").body
    assert shown["content"] == "One."
    assert call("PUT", f"/v1/memory_stores/{store}/files/team-a", {"content": "x" * 8_193}).status == 413
    assert call("PUT", f"/v1/memory_stores/{store}/files/a/b", {"content": "x"}).status == 400
    moved = call(
        "POST", f"/v1/memory_stores/{store}/memories/{shown['id']}", {"path": "/other", "content": "x"}
    )
    assert (moved.status, code(moved)) == (400, "document_id_fixed")
    for change in (("POST", "/archive"), ("DELETE", "")):
        refused = call(change[0], f"/v1/memory_stores/{store}{change[1]}")
        assert (refused.status, code(refused)) == (400, "store_of_resource")
    assert call("PUT", f"/v1/memory_stores/{store}/files/team-a", {"content": "Two."}).status == 200
    now = desk.get()
    assert (now.text, now.card.title) == ("Two.", "Team A")
    assert now.revision != document.revision
    assert call("PUT", f"/v1/memory_stores/{store}/files/new", {"content": "N."}).status == 200
    assert desk.get("new").card.title == "new"
    assert call("DELETE", f"/v1/memory_stores/{store}/files/new").status == 200
    assert call("PUT", f"/v1/memory_stores/{store}/files/new", {"content": "N."}).status == 409


def test_freezing_as_a_file_makes_a_revision_too(desk: Desk, call: Caller) -> None:
    document = desk.put()
    store, memory = document.memory.store.wire_id, document.memory.wire_id
    call("POST", f"/v1/memory_stores/{store}/memories/{memory}/freeze")
    frozen = desk.get()
    assert (frozen.card.agent_writes, frozen.revision != document.revision) == (False, True)


def test_a_deleted_documents_text_is_gone_from_its_history(desk: Desk, call: Caller, rest: Documents) -> None:
    document = desk.put(text="canary-4711", title="canary-4711", summary="canary-4711")
    desk.replace("canary-4711 again")
    store = document.memory.store.wire_id
    rest("DELETE", "team-a", If_Match=f'"{desk.get().revision}"')
    history = call("GET", f"/v1/memory_stores/{store}/memory_versions", query={"view": "full"})
    assert b"canary-4711" not in history.content
    assert len(history.body["data"]) == 3


def test_an_export_has_every_document_and_only_those_that_were_asked_for(desk: Desk, call: Caller) -> None:
    desk.declare("other")
    desk.put("a")
    desk.put("b", resource_id="other")
    path = f"/v1/projects/{desk.tenant.project.wire_id}/memory/export"
    everything = call("GET", path, query={"environment": "development"})
    assert [line.split('"')[3] for line in everything.content.decode().splitlines()] == ["other", "playbook"]
    one = call("GET", path, query={"environment": "development", "resource": "other"})
    assert len(one.content.splitlines()) == 1
    assert call("GET", path, query={"environment": "development", "resource": "none"}).status == 404


def test_fifty_documents_a_page(desk: Desk, call: Caller, rest: Documents) -> None:
    for number in range(3):
        desk.put(f"d{number}")
    path = rest.root
    first = call("GET", path, query={"environment": "development", "limit": "2"}).body
    assert (len(first["data"]), first["has_more"]) == (2, True)
    second = call(
        "GET", path, query={"environment": "development", "limit": "2", "page": first["next_page"]}
    ).body
    assert [one["id"] for one in [*first["data"], *second["data"]]] == ["d2", "d1", "d0"]
    tampered = call("GET", path, query={"environment": "development", "page": first["next_page"][:-2] + "xx"})
    assert tampered.status == 400

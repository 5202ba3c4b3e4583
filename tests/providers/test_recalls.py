"""What a recall gives, and what it leaves behind when it fails. Contract, sections 6 and 7.1."""

from typing import Any

import pytest

from memoryhub.errors import RecallFailed
from providers import documents, sessions
from providers.models import ModelRequest, Projection
from tests.providers.desk import Desk
from tests.providers.manifests import document_resource
from tests.world import Caller

DOCUMENTS = 120


def test_an_empty_document_has_a_source_and_an_empty_collection_has_none(desk: Desk) -> None:
    desk.declare("other")
    empty = desk.put(text="")
    bound: dict[str, Any] = {
        "playbook": {"scope": "document", "id": "team-a"},
        "other": {"scope": "collection"},
    }
    other, playbook = desk.recall(desk.open(bound)).projections
    assert (other.text, other.sources, other.writable) == ("", [], False)
    assert (playbook.text, playbook.writable) == ("", False)
    [source] = playbook.sources
    assert set(source) == {"id", "title", "revision", "updatedAt"}
    assert (source["id"], source["title"], source["revision"]) == ("team-a", "Team A", empty.revision)


def test_when_one_memory_fails_none_is_kept_and_all_are_recalled_again(desk: Desk) -> None:
    desk.declare("other")
    desk.put()
    lost = desk.put(resource_id="other")
    bound = {name: {"scope": "document", "id": "team-a"} for name in ("playbook", "other")}
    session = desk.open(bound)
    documents.delete_document(
        desk.environment, "other", "team-a", expected_revision=lost.revision, actor=desk.actor
    )
    with pytest.raises(RecallFailed) as failed:
        desk.recall(session)
    assert failed.value.facts["resource"] == "other"
    assert not Projection.objects.filter(model_request__session__project=desk.tenant.project).exists()
    failure = ModelRequest.objects.get(session__project=desk.tenant.project)
    assert (failure.state, failure.input_text) == ("recall_failed", None)
    desk.replace("Newer.")
    sessions.revoke_binding(session, "other", actor=desk.actor)
    again = desk.recall(session)
    assert again.request.id == failure.id and again.is_new
    assert [one.text for one in again.projections] == ["Newer."]


def test_eight_documents_of_full_size_are_recalled_whole(desk: Desk, call: Caller) -> None:
    bound = {}
    for number in range(8):
        desk.declare(f"r{number}", maxBytes=16_384)
        desk.put(resource_id=f"r{number}", text=f"{number}" + "ä" * 8_191 + "x")
        bound[f"r{number}"] = {"scope": "document", "id": "team-a", "access": "read-write"}
    session = desk.open(bound)
    answer = call("POST", f"/v1/sessions/{session}/model-requests", {"client_request_id": "r"})
    assert {len(one["text"].encode()) for one in answer.body["memory"].values()} == {16_384}


def test_a_model_lists_a_collection_page_by_page(desk: Desk) -> None:
    desk.declare("other")
    for number in range(DOCUMENTS):
        desk.put(f"d{number:03}")
        if number < 51:
            desk.put(f"d{number:03}", resource_id="other")
    session = desk.open({name: {"scope": "collection"} for name in ("playbook", "other")})
    request = desk.begin(session, use=["playbook", "other"])
    calls = iter(range(100))

    def page(cursor: str | None, memory: str = "playbook") -> Any:
        given = {} if cursor is None else {"cursor": cursor}
        return desk.call(session, request, "memory_list", f"c{next(calls)}", memory=memory, **given).output

    listed, cursor, sizes = [], None, []
    while True:
        shown = page(cursor)
        listed += [one["id"] for one in shown["documents"]]
        sizes.append(len(shown["documents"]))
        assert set(shown["documents"][0]) == {"id", "title", "summary", "revision", "updatedAt", "bytes"}
        cursor = shown["nextCursor"]
        if cursor is None:
            break
        last = cursor
    assert sizes == [50, 50, 20]
    assert listed == [f"d{number:03}" for number in reversed(range(DOCUMENTS))]
    foreign = page(None, "other")["nextCursor"]
    for wrong in (foreign, last[:-1], last + "A", last.swapcase(), "", "page_", "\u2028", "x" * 5_000):
        assert page(wrong) == {"status": "rejected", "reason": "invalid_cursor"}, wrong


def test_a_deleted_document_is_counted_and_listed_no_more(desk: Desk, call: Caller) -> None:
    desk.put("a")
    gone = desk.put("b")
    documents.delete_document(
        desk.environment, "playbook", "b", expected_revision=gone.revision, actor=desk.actor
    )
    root = f"/v1/projects/{desk.tenant.project.wire_id}/memory"
    query = {"environment": "development"}
    [resource] = call("GET", root, query=query).body["data"]
    assert resource["documents"] == 1
    listed = call("GET", f"{root}/playbook/documents", query=query).body["data"]
    assert [one["id"] for one in listed] == ["a"]
    overview = desk.recall(desk.open({"playbook": {"scope": "collection"}})).projections[0]
    assert [source["id"] for source in overview.sources] == ["a"]


def test_what_is_declared_no_more_is_still_listed_and_exported(desk: Desk, call: Caller) -> None:
    desk.put()
    manifest = {"memory": [document_resource("other")]}
    made = call("POST", "/v1/deployments", {"agent_id": "default", "manifest": manifest}).body
    assert call("POST", f"/v1/deployments/{made['id']}/promote", {"environment": "development"}).status == 200
    root = f"/v1/projects/{desk.tenant.project.wire_id}/memory"
    query = {"environment": "development"}
    shown = {one["id"]: one["declared"] for one in call("GET", root, query=query).body["data"]}
    assert shown == {"other": True, "playbook": False}
    assert b'"resource":"playbook"' in call("GET", f"{root}/export", query=query).content


@pytest.mark.parametrize(("size", "status"), [(256, 201), (257, 400)])
def test_a_key_for_repeats_has_a_limit(desk: Desk, call: Caller, size: int, status: int) -> None:
    desk.put()
    key = {"Idempotency-Key": "k" * size}
    assert call("POST", "/v1/sessions", {"environment": "development"}, headers=key).status == status


@pytest.mark.parametrize(("size", "status"), [(256, 201), (257, 400)])
def test_an_id_of_a_request_has_a_limit(desk: Desk, call: Caller, size: int, status: int) -> None:
    desk.put()
    body = {"client_request_id": "r" * size}
    assert call("POST", f"/v1/sessions/{desk.open()}/model-requests", body).status == status


def test_a_giant_name_is_not_given_back(desk: Desk, call: Caller) -> None:
    for memory in ({"x" * 5_000: {"scope": "collection"}}, {"playbook": {"y" * 5_000: 1}}):
        answer = call("POST", "/v1/sessions", {"environment": "development", "memory": memory})
        assert answer.status == 400 and len(answer.content) < 1_000

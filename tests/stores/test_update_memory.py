from typing import Any

import pytest

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory
from tests.stores.shelf import Shelf, audited
from tests.stores.test_create_memory import MEMORY_KEYS
from tests.world import Caller, unused_id

A, B, C = "seen by the client\n", "what is stored\n", "what is wanted\n"


def precondition(content: str) -> dict[str, str]:
    return {"type": "content_sha256", "content_sha256": sha256_hex(content)}


@pytest.fixture
def memory(shelf: Shelf) -> Memory:
    """Content B at /x."""
    return shelf.update(shelf.put("/x", A), content=B)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_new_content_moves_the_head_and_appends_one_version(
    call: Caller, shelf: Shelf, memory: Memory, method: str
) -> None:
    before = call("GET", shelf.memory_url(memory)).body
    updated = call(method, shelf.memory_url(memory), {"content": C})
    assert updated.status == 200
    assert list(updated.body) == MEMORY_KEYS
    version = shelf.versions()[0]
    assert updated.body == before | {
        "memory_version_id": version.wire_id,
        "content": None,
        "content_size_bytes": len(C),
        "content_sha256": sha256_hex(C),
        "updated_at": updated.body["updated_at"],
    }
    assert updated.body["updated_at"] > before["updated_at"]
    assert call("GET", shelf.memory_url(memory)).body == updated.body | {"content": C}
    assert [version.operation for version in shelf.versions()] == ["modified", "modified", "created"]
    assert (version.path, version.content, version.memory_id) == ("/x", C, memory.id)
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_UPDATED, memory.wire_id)


def test_a_rename_keeps_id_and_content_and_carries_it_again(
    call: Caller, shelf: Shelf, memory: Memory
) -> None:
    before = call("GET", shelf.memory_url(memory)).body
    renamed = call("POST", shelf.memory_url(memory), {"path": "/y/z"}, query={"view": "full"}).body
    version = shelf.versions()[0]
    assert renamed == before | {
        "memory_version_id": version.wire_id,
        "path": "/y/z",
        "updated_at": renamed["updated_at"],
    }
    assert (version.operation, version.path, version.content) == ("modified", "/y/z", B)
    assert (version.content_sha256, version.content_size_bytes) == (sha256_hex(B), len(B))
    assert shelf.paths() == ["/y/z"]


def test_content_and_path_together_are_one_version(call: Caller, shelf: Shelf, memory: Memory) -> None:
    count = len(shelf.versions())
    updated = call("POST", shelf.memory_url(memory), {"path": "/y", "content": C}).body
    assert (updated["path"], updated["content_sha256"]) == ("/y", sha256_hex(C))
    assert len(shelf.versions()) == count + 1


WORKED_CASES: list[tuple[dict[str, Any], tuple[int, str | None], tuple[str, str, int]]] = [
    # request, (status, error type), (path, content, versions appended)
    ({"content": B, "precondition": precondition(A)}, (200, None), ("/x", B, 0)),
    (
        {"content": C, "precondition": precondition(A)},
        (409, "memory_precondition_failed_error"),
        ("/x", B, 0),
    ),
    (
        {"content": B, "path": "/y", "precondition": precondition(A)},
        (409, "memory_precondition_failed_error"),
        ("/x", B, 0),
    ),
    ({"path": "/x", "precondition": precondition(A)}, (200, None), ("/x", B, 0)),
    ({"path": "/y", "precondition": precondition(B)}, (200, None), ("/y", B, 1)),
    (
        {"content": A, "precondition": precondition(A)},
        (409, "memory_precondition_failed_error"),
        ("/x", B, 0),
    ),
    ({"content": C}, (200, None), ("/x", C, 1)),
    # and their neighbours
    ({"content": C, "precondition": precondition(B)}, (200, None), ("/x", C, 1)),
    ({"content": B, "precondition": precondition(B)}, (200, None), ("/x", B, 0)),
    ({"content": B, "path": "/x", "precondition": precondition(A)}, (200, None), ("/x", B, 0)),
    (
        {"path": "/y", "precondition": precondition(A)},
        (409, "memory_precondition_failed_error"),
        ("/x", B, 0),
    ),
    ({"content": C, "path": "/y", "precondition": precondition(B)}, (200, None), ("/y", C, 1)),
    ({"content": B}, (200, None), ("/x", B, 0)),
    ({"content": B, "path": None, "precondition": None}, (200, None), ("/x", B, 0)),
    ({"content": None, "path": "/y"}, (200, None), ("/y", B, 1)),
]


@pytest.mark.parametrize(("body", "answer", "stored"), WORKED_CASES, ids=range(len(WORKED_CASES)))
def test_worked_cases(
    call: Caller,
    shelf: Shelf,
    memory: Memory,
    body: dict[str, Any],
    answer: tuple[int, str | None],
    stored: tuple[str, str, int],
) -> None:
    state, before = shelf.state(), call("GET", shelf.memory_url(memory)).body
    count = len(shelf.versions())
    got = call("POST", shelf.memory_url(memory), body, query={"view": "full"})
    assert (got.status, None if got.status == 200 else got.error_type) == answer
    after = call("GET", shelf.memory_url(memory)).body
    path, content, appended = stored
    assert (after["path"], after["content"], len(shelf.versions()) - count) == (path, content, appended)
    if not appended:
        assert shelf.state() == state
        assert after == before
    if got.status == 200:
        assert got.body == after
    else:
        assert got.headers["x-should-retry"] == "false"


def test_a_repeated_update_is_a_success_and_writes_once(call: Caller, shelf: Shelf, memory: Memory) -> None:
    body = {"content": C, "path": "/y", "precondition": precondition(B)}
    first = call("POST", shelf.memory_url(memory), body).body
    state = shelf.state()
    assert call("POST", shelf.memory_url(memory), body).body == first
    assert shelf.state() == state


@pytest.mark.parametrize(("view", "shown"), [(None, None), ("basic", None), ("full", C)])
@pytest.mark.parametrize("repeat", [False, True])
def test_the_view_decides_whether_the_content_is_shown(
    call: Caller, shelf: Shelf, memory: Memory, view: str | None, shown: str | None, repeat: bool
) -> None:
    query = {} if view is None else {"view": view}
    for _ in range(1 + repeat):
        updated = call("POST", shelf.memory_url(memory), {"content": C}, query=query)
    assert updated.body["content"] == shown


def test_a_change_in_bytes_alone_is_a_change(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/é", "e\u0301")
    for content in ("é", "é\n", "é\r\n", "", "\ufeff"):
        assert call("POST", shelf.memory_url(memory), {"content": content}).body[
            "content_sha256"
        ] == sha256_hex(content)
    assert len(shelf.versions()) == 6


def test_a_rename_ignores_the_memory_that_moves(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a")
    for path in ("/a/b", "/a/b/c", "/a", "/A", "/a"):
        assert call("POST", shelf.memory_url(memory), {"path": path}).body["path"] == path
    assert shelf.paths() == ["/a"]


@pytest.mark.parametrize("path", ["/taken", "/taken/below", "/dir", "/dir/f/below"])
def test_a_rename_onto_a_taken_path_is_refused_and_changes_nothing(
    call: Caller, shelf: Shelf, memory: Memory, path: str
) -> None:
    taken = {"/taken": shelf.put("/taken"), "/dir/f": shelf.put("/dir/f")}
    state = shelf.state()
    for content in (None, C):
        refused = call("POST", shelf.memory_url(memory), {"path": path, "content": content})
        assert refused.refusal == (409, "memory_path_conflict_error", None)
        error = refused.body["error"]
        assert error["conflicting_memory_id"] == taken[error["conflicting_path"]].wire_id
    assert shelf.state() == state


def test_the_old_path_is_free_after_a_rename(call: Caller, shelf: Shelf, memory: Memory) -> None:
    call("POST", shelf.memory_url(memory), {"path": "/y"})
    assert call("POST", shelf.memories_url, {"path": "/x/below", "content": ""}).status == 200


DIGEST = sha256_hex(B)
MALFORMED: list[Any] = [
    {},
    {"precondition": precondition(B)},
    {"path": None, "content": None},
    {"content": 1},
    {"path": 1},
    {"path": ""},
    {"path": "x"},
    {"path": "/y/"},
    {"contents": C},
    {"content": C, "preconditions": precondition(B)},
    {"content": C, "precondition": DIGEST},
    {"content": C, "precondition": []},
    {"content": C, "precondition": {}},
    {"content": C, "precondition": {"type": "content_sha256"}},
    {"content": C, "precondition": {"content_sha256": DIGEST}},
    {"content": C, "precondition": {"type": "sha256", "content_sha256": DIGEST}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": None}},
    {"content": C, "precondition": {"type": None, "content_sha256": DIGEST}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": ""}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": DIGEST.upper()}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": DIGEST[:-1]}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": DIGEST + "0"}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": DIGEST + "\n"}},
    {"content": C, "precondition": {"type": "content_sha256", "content_sha256": "٠" * 64}},
    {"content": C, "precondition": {**precondition(B), "extra": 1}},
    [],
    None,
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:60])
def test_a_malformed_body_is_refused_and_changes_nothing(
    call: Caller, shelf: Shelf, memory: Memory, body: Any
) -> None:
    state = shelf.state()
    refused = call("POST", shelf.memory_url(memory), body)
    assert (refused.status, refused.error_type) == (400, "invalid_request_error")
    assert shelf.state() == state


def test_content_at_the_limit_and_one_past(call: Caller, shelf: Shelf, memory: Memory) -> None:
    full = "é" * (MEMORY_CONTENT_BYTES_MAX // 2)
    assert call("POST", shelf.memory_url(memory), {"content": full}).status == 200
    state = shelf.state()
    refused = call("POST", shelf.memory_url(memory), {"content": full + "x"})
    assert refused.refusal == (413, "request_too_large", "memory_content_too_large")
    assert shelf.state() == state


def test_a_missing_or_deleted_memory_is_not_found_whatever_is_sent(
    call: Caller, shelf: Shelf, memory: Memory
) -> None:
    shelf.delete(memory)
    bodies: list[Any] = [{"content": B, "precondition": precondition(B)}, {"path": "x"}, {"unknown": 1}, None]
    for url in (shelf.memory_url(memory), shelf.memory_url_of(unused_id("mem"))):
        for body in bodies:
            assert call("POST", url, body).refusal == (404, "not_found_error", None)

import hashlib
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.audit import AuditAction
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, unused_id

# The contract's, in its order, and then ours.
MEMORY_KEYS = [
    "id", "type", "memory_store_id", "memory_version_id", "path", "content", "content_size_bytes",
    "content_sha256", "created_at", "updated_at",
    "frozen_at",
]  # fmt: skip


def test_a_memory_answers_every_key_in_the_contracts_order(call: Caller, shelf: Shelf) -> None:
    made = call(
        "POST", shelf.memories_url, {"path": "/preferences/formatting.md", "content": "Always use tabs.\n"}
    )
    assert made.status == 200
    assert list(made.body) == MEMORY_KEYS
    assert re.fullmatch(r"mem_[0-9a-f]{32}", made.body["id"])
    version = shelf.versions()[0]
    assert made.body == {
        "id": made.body["id"],
        "type": "memory",
        "memory_store_id": shelf.store_id,
        "memory_version_id": version.wire_id,
        "path": "/preferences/formatting.md",
        "content": None,
        "content_size_bytes": 17,
        "content_sha256": "98c4f245e6d11ccd3ece170717ccfd65a48056cfd91cb0707109ca30f66f3a9e",
        "created_at": made.body["updated_at"],
        "updated_at": made.body["updated_at"],
        "frozen_at": None,
    }


@pytest.mark.parametrize(("view", "shown"), [(None, None), ("", None), ("basic", None), ("full", "text")])
def test_the_view_decides_whether_the_content_is_shown(
    call: Caller, shelf: Shelf, view: str | None, shown: str | None
) -> None:
    query = {} if view is None else {"view": view}
    made = call("POST", shelf.memories_url, {"path": "/a", "content": "text"}, query=query)
    assert made.body["content"] == shown
    full = call("GET", shelf.memory_url_of(made.body["id"])).body
    assert full == made.body | {"content": "text"}


def test_creating_appends_one_version_and_one_audit_row(call: Caller, shelf: Shelf) -> None:
    made = call("POST", shelf.memories_url, {"path": "/a", "content": "text"}).body
    (version,) = shelf.versions()
    assert (version.operation, version.path, version.content) == ("created", "/a", "text")
    assert (version.memory_wire_id, version.wire_id) == (made["id"], made["memory_version_id"])
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_CREATED, made["id"])


KEPT = [
    "",
    "\n",
    "  héllo\r\n",
    " leading and trailing \t\r",
    "a\rb\r\nc\n\n",
    "\ufeffbom first",
    "e\u0301 and \u00e9 are two",
    "\u200b\u2028\u2029\x85\x0b\x0c\x1b\x7f",
    "\U0001f469\u200d\U0001f680 \U0010ffff \ue000 \ufffe \uffff",
    '"quoted" \\ \\u0000 </script> %00 {{7*7}}',
]


@pytest.mark.parametrize("content", KEPT, ids=ascii)
def test_content_is_kept_byte_for_byte(call: Caller, shelf: Shelf, content: str) -> None:
    _assert_kept(call, shelf, "/a", content)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300))
def test_any_text_is_kept_byte_for_byte(call: Caller, shelf: Shelf, content: str) -> None:
    _assert_kept(call, shelf, f"/{len(shelf.paths())}", content)


def _assert_kept(call: Caller, shelf: Shelf, path: str, content: str) -> None:
    made = call("POST", shelf.memories_url, {"path": path, "content": content}, query={"view": "full"})
    assert made.status == 200, made.body
    sent = content.encode()
    got = call("GET", shelf.memory_url_of(made.body["id"])).body
    assert got == made.body
    assert got["content"].encode() == sent
    assert got["content_size_bytes"] == len(sent)
    assert got["content_sha256"] == hashlib.sha256(sent).hexdigest()


@pytest.mark.parametrize(("letter", "size"), [("x", 1), ("é", 2), ("€", 3), ("\U0001f600", 4)])
def test_content_is_limited_in_bytes(call: Caller, shelf: Shelf, letter: str, size: int) -> None:
    count, rest = divmod(MEMORY_CONTENT_BYTES_MAX, size)
    full = letter * count + "x" * rest
    made = call("POST", shelf.memories_url, {"path": "/full", "content": full})
    assert made.body["content_size_bytes"] == MEMORY_CONTENT_BYTES_MAX == 102_400
    state = shelf.state()
    refused = call("POST", shelf.memories_url, {"path": "/over", "content": full + "x"})
    assert refused.refusal == (413, "request_too_large", "memory_content_too_large")
    assert shelf.state() == state


def test_the_longest_content_may_come_all_escaped(call: Caller, shelf: Shelf) -> None:
    raw = b'{"path":"/a","content":"' + b"\\u0001" * MEMORY_CONTENT_BYTES_MAX + b'"}'
    assert len(raw) > 614_400
    assert call("POST", shelf.memories_url, raw=raw).body["content_size_bytes"] == MEMORY_CONTENT_BYTES_MAX


MALFORMED: list[Any] = [
    {},
    {"path": "/a"},
    {"content": "x"},
    {"path": None, "content": "x"},
    {"path": "/a", "content": None},
    {"path": "/a", "content": 1},
    {"path": 1, "content": "x"},
    {"path": ["/a"], "content": "x"},
    {"path": "/a", "content": "x", "precondition": None},
    {"path": "/a", "content": "x", "view": "full"},
    {"path": "/a", "content": "x", "id": "mem_1"},
    {"path": "/a", "content": "a\0b"},
    [],
    None,
]


@pytest.mark.parametrize("body", MALFORMED, ids=repr)
def test_a_malformed_body_is_refused_and_writes_nothing(call: Caller, shelf: Shelf, body: Any) -> None:
    state = shelf.state()
    refused = call("POST", shelf.memories_url, body)
    assert (refused.status, refused.error_type) == (400, "invalid_request_error")
    assert shelf.state() == state


@pytest.mark.parametrize("field", ["path", "content"])
@pytest.mark.parametrize("half", [r"\ud800", r"\udc00", r"\udc00\ud800"])
def test_half_a_surrogate_pair_is_refused(call: Caller, shelf: Shelf, field: str, half: str) -> None:
    values = {"path": "/a", "content": "x"} | {field: f"/{half}"}
    raw = '{{"path":"{path}","content":"{content}"}}'.format(**values).encode()
    assert call("POST", shelf.memories_url, raw=raw).refusal == (400, "invalid_request_error", None)


@pytest.mark.parametrize(
    "path", ["", "a", "/", "/a/", "/a//b", "/../a", "/e\u0301", "/a\u200b", "/.memoryhub-store"]
)
def test_a_path_against_the_rules_is_refused(call: Caller, shelf: Shelf, path: str) -> None:
    refused = call("POST", shelf.memories_url, {"path": path, "content": "x"})
    assert refused.refusal == (400, "invalid_request_error", "memory_path_invalid")
    assert refused.message.startswith("path: ")
    assert shelf.paths() == []


@pytest.mark.parametrize("view", ["FULL", "both", "0"])
def test_an_unknown_view_is_refused_before_anything_is_written(call: Caller, shelf: Shelf, view: str) -> None:
    refused = call("POST", shelf.memories_url, {"path": "/a", "content": "x"}, query={"view": view})
    assert refused.message.startswith("view: ")
    assert shelf.paths() == []


@pytest.mark.parametrize(
    ("path", "conflicting"),
    [
        ("/m", "/m/b/c"),  # an ancestor of two: the first in path order
        ("/m/b", "/m/b/c"),
        ("/m/b/c", "/m/b/c"),
        ("/m/b/c/d", "/m/b/c"),
        ("/m/b/c/d/e/f", "/m/b/c"),
        ("/m/z/0", "/m/z"),
    ],
)
def test_a_taken_path_names_the_first_memory_in_its_way(
    call: Caller, shelf: Shelf, path: str, conflicting: str
) -> None:
    made = {taken: shelf.put(taken) for taken in ("/m/z", "/m/b/c", "/m.md", "/m-1/x")}
    state = shelf.state()
    refused = call("POST", shelf.memories_url, {"path": path, "content": "one\n"})
    assert refused.refusal == (409, "memory_path_conflict_error", None)
    assert list(refused.body["error"]) == ["type", "message", "conflicting_memory_id", "conflicting_path"]
    assert refused.body["error"]["conflicting_memory_id"] == made[conflicting].wire_id
    assert refused.body["error"]["conflicting_path"] == conflicting
    assert refused.headers["x-should-retry"] == "false"
    assert shelf.state() == state


def test_neighbours_of_a_path_are_free(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a_b/x")
    free = [
        "/a",
        "/a-b",
        "/a.b",
        "/a0",
        "/axb/x",
        "/A_B/x",
        "/a_b0",
        "/a_b-",
        "/a%b",
        "/a_b.md",
        "/ä",
        "/a_/x",
    ]
    for path in free:
        made = call("POST", shelf.memories_url, {"path": path, "content": "x"})
        assert made.status == 200, path


def test_a_path_is_free_again_after_a_delete_and_gets_a_new_id(call: Caller, shelf: Shelf) -> None:
    first = shelf.put("/a")
    shelf.delete(first)
    again = call("POST", shelf.memories_url, {"path": "/a/b", "content": "x"})
    assert again.status == 200
    assert again.body["id"] > first.wire_id


def test_a_path_taken_in_another_store_is_free_here(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a")
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    made = call("POST", f"/v1/memory_stores/{other}/memories", {"path": "/a", "content": "x"})
    assert made.status == 200


def test_a_store_holds_two_thousand_memories_and_no_more(call: Caller, shelf: Shelf) -> None:
    assert MEMORIES_PER_STORE_MAX == 2_000
    gone = shelf.put("/gone")
    shelf.delete(gone)  # a deleted one does not count
    shelf.fill([f"/{n:04}" for n in range(MEMORIES_PER_STORE_MAX - 1)])
    last = call("POST", shelf.memories_url, {"path": "/last", "content": "x"})
    assert last.status == 200
    state = shelf.state()
    refused = call("POST", shelf.memories_url, {"path": "/more", "content": "x"})
    assert refused.refusal == (400, "invalid_request_error", "memory_store_full")
    # A create-or-update goes on working in a full store: the conflict comes first, and updates need no room.
    taken = call("POST", shelf.memories_url, {"path": "/last", "content": "x"})
    assert taken.error_type == "memory_path_conflict_error"
    assert shelf.state() == state
    for change in ({"content": "y"}, {"path": "/renamed"}):
        assert call("POST", shelf.memory_url_of(last.body["id"]), change).status == 200
    assert call("DELETE", shelf.memory_url_of(last.body["id"])).status == 200
    assert call("POST", shelf.memories_url, {"path": "/more", "content": "x"}).status == 200


@pytest.mark.parametrize("body", [{"path": "/a", "content": "x"}, {"path": "a"}, {}, None])
def test_a_missing_store_is_not_found_whatever_is_sent(call: Caller, body: Any) -> None:
    refused = call("POST", f"/v1/memory_stores/{unused_id('memstore')}/memories", body)
    assert refused.refusal == (404, "not_found_error", None)


def test_patch_is_no_way_to_create(call: Caller, shelf: Shelf) -> None:
    refused = call("PATCH", shelf.memories_url, {"path": "/a", "content": "x"})
    assert (refused.status, refused.headers["allow"]) == (405, "GET, POST, HEAD")

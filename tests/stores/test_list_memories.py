from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memoryhub.pagination import FULL_VIEW_LIMIT_MAX, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, ListRequest
from stores import memories
from tests.stores.shelf import Shelf
from tests.stores.test_create_memory import MEMORY_KEYS
from tests.world import Caller, Tenant, unused_id

CONTRACT_PATHS = ["/B", "/a-b/1", "/a.md", "/a/1", "/a/sub/x", "/a0", "/z", "/ä"]  # contract 4.10
CONTRACT_CHILDREN = ["/B", "/a-b/", "/a.md", "/a/", "/a0", "/z", "/ä"]


def listed(call: Caller, shelf: Shelf, **query: Any) -> list[str]:
    answer = call("GET", shelf.memories_url, query=query)
    assert answer.status == 200, answer.body
    return [item["path"] for item in answer.body["data"]]


def pages(call: Caller, shelf: Shelf, **query: Any) -> list[list[str]]:
    """The paths of each page, to the last."""
    found, page = [], None
    while True:
        body = call("GET", shelf.memories_url, query=query | ({"page": page} if page else {})).body
        found.append([item["path"] for item in body["data"]])
        page = body["next_page"]
        assert body["has_more"] is (page is not None)
        if page is None:
            return found


def test_an_empty_store_lists_nothing(call: Caller, shelf: Shelf) -> None:
    empty = b'{"data":[],"has_more":false,"next_page":null}'
    assert call("GET", shelf.memories_url).content == empty
    assert call("GET", shelf.memories_url, query={"depth": "1"}).content == empty


def test_items_are_whole_memories_and_bare_prefixes(call: Caller, shelf: Shelf) -> None:
    one = shelf.put("/a/1", "text")
    shelf.put("/a/sub/x")
    body = call("GET", shelf.memories_url, query={"path_prefix": "/a/", "depth": 1}).body
    assert list(body) == ["data", "has_more", "next_page"]
    assert [list(item) for item in body["data"]] == [MEMORY_KEYS, ["type", "path"]]
    assert body["data"][0] == call("GET", shelf.memory_url(one)).body | {"content": None}
    assert body["data"][1] == {"type": "memory_prefix", "path": "/a/sub/"}


def test_the_contracts_example_of_the_order(call: Caller, shelf: Shelf) -> None:
    shelf.fill(CONTRACT_PATHS[::-1])
    assert listed(call, shelf) == CONTRACT_PATHS
    assert listed(call, shelf, depth=0) == CONTRACT_PATHS
    assert listed(call, shelf, depth=1) == CONTRACT_CHILDREN


@pytest.mark.parametrize("limit", range(1, 9))
def test_a_prefix_appears_once_across_pages_and_counts_toward_the_limit(
    call: Caller, shelf: Shelf, limit: int
) -> None:
    shelf.fill(CONTRACT_PATHS)
    for depth, expected in ((0, CONTRACT_PATHS), (1, CONTRACT_CHILDREN)):
        chunks = [expected[start : start + limit] for start in range(0, len(expected), limit)]
        assert pages(call, shelf, depth=depth, limit=limit) == chunks


SEGMENTS = st.sampled_from(["a", "b", "a-", "a.md", "a0", "A", "_", "%", "é", "z z", '"', "\\", "\U0001f600"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map(lambda segments: "/" + "/".join(segments))
TREES = st.lists(PATHS, max_size=10).map(lambda paths: without_conflicts(paths))


def without_conflicts(paths: list[str]) -> list[str]:
    """The paths that can live together, the first ones first."""
    kept: list[str] = []
    for path in paths:
        if not any(
            path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in kept
        ):
            kept.append(path)
    return kept


def expected_items(paths: list[str], prefix: str, depth: int) -> list[str]:
    """The reference: what a list shows, by plain string operations."""
    below = [path for path in paths if path.startswith(prefix)]
    if depth == 1:
        tails = [(path, path.removeprefix(prefix)) for path in below]
        below = [path if "/" not in tail else prefix + tail.split("/")[0] + "/" for path, tail in tails]
    return sorted(set(below), key=str.encode)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES)
@example(tree=["/a/b", "/a-/b", "/a.md", "/a0", "/b/a/a", "/b/a/b", "/b/b"])
def test_every_tree_pages_like_the_reference(call: Caller, tenant: Tenant, tree: list[str]) -> None:
    shelf = Shelf(call("POST", "/v1/memory_stores", {"name": "tree"}).body["id"], tenant.actor)
    shelf.fill(tree)
    directories = {"/", *(path[: path.rindex("/") + 1] for path in tree), "/nobody/"}
    for prefix in sorted(directories):
        for depth in (0, 1):
            expected = expected_items(tree, prefix, depth)
            for limit in range(1, len(expected) + 2):
                chunks = [expected[start : start + limit] for start in range(0, len(expected), limit)] or [[]]
                assert pages_of_verb(shelf, prefix, depth, limit) == chunks
            assert listed(call, shelf, path_prefix=prefix, depth=depth, limit=LIST_LIMIT_MAX) == expected


def pages_of_verb(shelf: Shelf, prefix: str, depth: int, limit: int) -> list[list[str]]:
    """As `pages`, below the door: a tree is listed a hundred times."""
    found, token = [], None
    while True:
        page = memories.list_memories(
            shelf.store_id,
            ListRequest("memories", {}, limit, token),
            path_prefix=prefix,
            depth=depth,
            with_content=False,
            actor=shelf.actor,
        )
        found.append([row.path for row in page.rows])
        token = page.next_page
        if token is None:
            return found


def test_a_prefix_item_can_be_passed_as_path_prefix(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/b/c", "/a/b.md", "/.memoryhub-store/x", '/%_ "\\/y'])
    found, waiting = [], ["/"]
    while waiting:
        for path in listed(call, shelf, path_prefix=waiting.pop(), depth=1):
            (waiting if path.endswith("/") else found).append(path)
    assert sorted(found) == sorted(shelf.paths())


def test_a_prefix_is_compared_by_whole_segments_case_and_bytes(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/1", "/ab/1", "/A/1", "/a_/1", "/ax/1", "/a%/1", "/a/é/1"])
    assert listed(call, shelf, path_prefix="/a/") == ["/a/1", "/a/é/1"]
    assert listed(call, shelf, path_prefix="/a_/") == ["/a_/1"]
    assert listed(call, shelf, path_prefix="/a%/") == ["/a%/1"]
    assert listed(call, shelf, path_prefix="/a/é/") == ["/a/é/1"]
    assert listed(call, shelf, path_prefix="/b/") == []  # a directory that nobody uses
    assert listed(call, shelf, path_prefix="/a/1/") == []


def test_the_longest_path_pages_too(call: Caller, shelf: Shelf) -> None:
    long = ["/" + '"\\' * 500 + "q" * 22 + end for end in "ab"]
    assert len(long[0].encode()) == 1_024
    shelf.fill(long)
    assert pages(call, shelf, limit=1) == [[long[0]], [long[1]]]
    assert pages(call, shelf, limit=1, depth=1) == [[long[0]], [long[1]]]


@pytest.mark.parametrize("depth", [0, 1])
def test_full_view_carries_content_and_caps_a_page_at_twenty(call: Caller, shelf: Shelf, depth: int) -> None:
    shelf.fill([f"/{n:03}" for n in range(LIST_LIMIT_MAX + 1)], content="text")
    for limit, shown in ((LIST_LIMIT_MAX, 20), (21, 20), (20, 20), (19, 19)):
        body = call("GET", shelf.memories_url, query={"view": "full", "limit": limit, "depth": depth}).body
        assert (len(body["data"]), body["has_more"]) == (shown, True)
        assert {item["content"] for item in body["data"]} == {"text"}
    assert FULL_VIEW_LIMIT_MAX == 20
    following = pages(call, shelf, view="full", limit=100, depth=depth)
    assert [len(page) for page in following] == [20, 20, 20, 20, 20, 1]
    basic = call("GET", shelf.memories_url, query={"limit": LIST_LIMIT_MAX, "depth": depth}).body
    assert len(basic["data"]) == LIST_LIMIT_MAX
    assert {item["content"] for item in basic["data"]} == {None}
    assert len(listed(call, shelf, depth=depth)) == LIST_LIMIT_DEFAULT == 20


BAD: list[dict[str, str]] = [
    *({"depth": depth} for depth in ("2", "-1", "01", "1.0", "x", "true")),
    *({"view": view} for view in ("FULL", "none")),
    *({"limit": limit} for limit in ("0", "101", "-1", "x", "1e1")),
    *(
        {"path_prefix": prefix}
        for prefix in ("a", "/a", "a/", "//", "/a//", "/../", "/e\u0301/", "/\x00/", "/\u200b/")
    ),
    *({"page": page} for page in ("x", "page_", "page_e30", "page_W10", "page_bnVsbA==")),
]


@pytest.mark.parametrize("query", BAD, ids=lambda query: ascii(query)[:50])
def test_a_bad_value_is_refused(call: Caller, shelf: Shelf, query: dict[str, str]) -> None:
    refused = call("GET", shelf.memories_url, query=query)
    assert refused.refusal == (400, "invalid_request_error", None)
    assert refused.message.startswith("invalid page cursor" if "page" in query else f"{next(iter(query))}: ")


def test_unknown_parameters_and_empty_values_are_ignored(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/b", "/c"])
    empty = {"path_prefix": "", "depth": "", "view": "", "limit": "", "page": ""}
    assert listed(call, shelf, order_by="path", order="desc", beta="true", **empty) == ["/a/b", "/c"]


def test_a_cursor_belongs_to_its_store_prefix_and_depth(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/1", "/a/2", "/b"])
    page = call("GET", shelf.memories_url, query={"limit": 1}).body["next_page"]
    assert page.startswith("page_")
    for same in ({}, {"limit": 5}, {"view": "full"}, {"depth": "0"}, {"path_prefix": "/"}, {"beta": "true"}):
        assert listed(call, shelf, page=page, **same) == ["/a/2", "/b"]
    for other in ({"depth": "1"}, {"path_prefix": "/a/"}):
        assert call("GET", shelf.memories_url, query={"page": page} | other).message == "invalid page cursor"
    elsewhere = call("POST", "/v1/memory_stores", {"name": "n"}).body["id"]
    for url in (f"/v1/memory_stores/{elsewhere}/memories", shelf.url("memory_versions"), "/v1/memory_stores"):
        assert call("GET", url, query={"page": page}).message == "invalid page cursor"


def test_a_cursor_that_was_made_up_is_refused(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/1", "/a/2"])
    page = call("GET", shelf.memories_url, query={"limit": 1}).body["next_page"]
    for forged in (
        page[:-1],
        page + "A",
        page[:9] + ("A" if page[9] != "A" else "B") + page[10:],
        page.lower(),
    ):
        assert call("GET", shelf.memories_url, query={"page": forged}).message == "invalid page cursor"


@pytest.mark.parametrize("depth", [0, 1])
def test_changes_between_pages_neither_break_nor_repeat(call: Caller, shelf: Shelf, depth: int) -> None:
    made = {path: shelf.put(path) for path in ("/b", "/d", "/f")}
    page = call("GET", shelf.memories_url, query={"limit": 2, "depth": depth}).body["next_page"]
    shelf.delete(made["/d"])  # at the cursor
    for path in ("/a", "/c", "/e", "/g"):  # before it: not shown; after it: shown
        shelf.put(path)
    assert listed(call, shelf, page=page, depth=depth) == ["/e", "/f", "/g"]


def test_a_memory_that_goes_away_while_a_page_is_made_does_not_end_the_list(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {path: shelf.put(path) for path in ("/a", "/b", "/c")}
    find_keys = memories._child_keys

    def find_keys_then_delete(*arguments: Any) -> list[bytes]:
        keys = find_keys(*arguments)
        if shelf.paths()[0] == "/a":
            shelf.delete(made["/a"])
        return keys

    monkeypatch.setattr(memories, "_child_keys", find_keys_then_delete)
    assert pages(call, shelf, limit=2, depth=1) == [["/b"], ["/c"]]


def test_a_missing_store_is_not_found_whatever_is_asked(call: Caller) -> None:
    url = f"/v1/memory_stores/{unused_id('memstore')}/memories"
    for query in ({}, {"limit": "0"}, {"path_prefix": "x"}, {"page": "x"}):
        assert call("GET", url, query=query).refusal == (404, "not_found_error", None)

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.clock import to_wire
from stores.models import MemoryVersion
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id


def at(call: Caller, shelf: Shelf, moment: datetime, **query: Any) -> list[Any]:
    answer = call("GET", shelf.url("snapshot"), query={"at": to_wire(moment), **query})
    assert answer.status == 200, answer.body
    return list(answer.body["data"])


def when(shelf: Shelf, index: int) -> datetime:
    """The time of a version, oldest first."""
    return shelf.versions()[::-1][index].created_at


def test_each_memory_shows_the_version_in_force_at_the_time(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/b", "one")  # 0
    gone = shelf.put("/a", "gone")  # 1
    shelf.update(memory, content="two")  # 2
    shelf.update(memory, path="/c")  # 3
    shelf.delete(gone)  # 4
    shelf.put("/a", "another")  # 5
    shown = [
        [(item["path"], item["content"]) for item in at(call, shelf, when(shelf, index), view="full")]
        for index in range(6)
    ]
    assert shown == [
        [("/b", "one")],
        [("/a", "gone"), ("/b", "one")],
        [("/a", "gone"), ("/b", "two")],
        [("/a", "gone"), ("/c", "two")],
        [("/c", "two")],
        [("/a", "another"), ("/c", "two")],
    ]
    assert at(call, shelf, when(shelf, 0) - timedelta(microseconds=1)) == []
    assert len(at(call, shelf, when(shelf, 5) + timedelta(days=365))) == 2


def test_an_item_is_the_version_and_says_whether_it_is_redacted(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "one")
    version = shelf.versions()[0]
    item = at(call, shelf, version.created_at)[0]
    expected = call("GET", shelf.version_url(version), query={"view": "basic"}).body
    assert item == {**expected, "redacted": False} and item["content"] is None


def test_a_redacted_version_keeps_its_place_without_its_text(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/m", "canary")
    shelf.put("/a", "x")
    moment = when(shelf, 1)
    shelf.update(memory, content="clean")
    call("POST", f"{shelf.version_url(shelf.versions()[-1])}/redact")
    redacted, other = at(call, shelf, moment, view="full")
    assert (redacted["memory_id"], redacted["redacted"], other["redacted"]) == (memory.wire_id, True, False)
    fields = ("path", "content", "content_sha256", "content_size_bytes")
    assert [redacted[name] for name in fields] == [None] * 4
    assert redacted["redacted_at"] is not None
    assert [item["path"] for item in at(call, shelf, moment, path_prefix="/m/")] == []
    pages = [
        call("GET", shelf.url("snapshot"), query={"at": to_wire(moment), "limit": 1}).body,
    ]
    pages.append(
        call(
            "GET",
            shelf.url("snapshot"),
            query={"at": to_wire(moment), "limit": 1, "page": pages[0]["next_page"]},
        ).body
    )
    assert [item["path"] for page in pages for item in page["data"]] == [None, "/a"]
    assert pages[1]["next_page"] is None


def test_pages_follow_the_bytes_of_the_path(call: Caller, shelf: Shelf) -> None:
    paths = ["/B", "/a-b/1", "/a.md", "/a/1", "/a/sub/x", "/a0", "/z", "/ä"]
    shelf.fill(paths[::-1])
    moment = when(shelf, -1)
    shown, page = [], {}
    while True:
        answer = call("GET", shelf.url("snapshot"), query={"at": to_wire(moment), "limit": 3, **page}).body
        shown += [item["path"] for item in answer["data"]]
        if not answer["has_more"]:
            break
        page = {"page": answer["next_page"]}
    assert shown == paths
    assert [item["path"] for item in at(call, shelf, moment, path_prefix="/a/")] == ["/a/1", "/a/sub/x"]


def test_a_page_of_full_view_holds_twenty(call: Caller, shelf: Shelf) -> None:
    shelf.fill([f"/{number:02}" for number in range(21)])
    assert len(at(call, shelf, when(shelf, -1), view="full", limit=100)) == 20
    assert len(at(call, shelf, when(shelf, -1), limit=100)) == 21


def test_the_queries_do_not_grow_with_the_store(call: Caller, shelf: Shelf) -> None:
    counts = []
    for total in (10, 500):
        shelf.fill([f"/{total}/{number}" for number in range(total)])
        moment = when(shelf, -1)
        with CaptureQueriesContext(connection) as captured:
            assert len(at(call, shelf, moment, limit=100)) == min(100, total)
        counts.append(len(captured))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"at": ""},
        {"at": "yesterday"},
        {"at": "2026-13-01T00:00:00Z"},
        {"at": "2026-01-01T00:00:00Z", "limit": "0"},
        {"at": "2026-01-01T00:00:00Z", "limit": "101"},
        {"at": "2026-01-01T00:00:00Z", "view": "all"},
        {"at": "2026-01-01T00:00:00Z", "path_prefix": "/a"},
        {"at": "2026-01-01T00:00:00Z", "page": "page_x"},
    ],
)
def test_malformed_queries_are_refused(call: Caller, shelf: Shelf, query: dict[str, str]) -> None:
    assert call("GET", shelf.url("snapshot"), query=query).refusal == (400, "invalid_request_error", None)


def test_a_cursor_is_of_one_time_and_one_prefix(call: Caller, shelf: Shelf) -> None:
    shelf.fill(["/a/1", "/a/2"])
    moment = when(shelf, -1)
    query = {"at": to_wire(moment), "limit": 1}
    page = call("GET", shelf.url("snapshot"), query=query).body["next_page"]
    for other in ({"at": to_wire(moment + timedelta(seconds=1))}, {"path_prefix": "/a/"}):
        answer = call("GET", shelf.url("snapshot"), query={**query, "page": page, **other})
        assert answer.refusal == (400, "invalid_request_error", None)


def test_an_archived_store_is_still_shown(call: Caller, shelf: Shelf) -> None:
    shelf.put()
    shelf.archive()
    assert len(at(call, shelf, MemoryVersion.objects.get(store_id=shelf.store.id).created_at)) == 1


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(shelf: Shelf, stranger: Tenant) -> None:
    for query in ({"at": "2026-01-01T00:00:00Z"}, {}):
        foreign = stranger.call()("GET", shelf.url("snapshot"), query=query)
        absent = stranger.call()("GET", f"/v1/memory_stores/{unused_id('memstore')}/snapshot", query=query)
        assert foreign.status == absent.status == 404 and foreign.body["error"] == absent.body["error"]

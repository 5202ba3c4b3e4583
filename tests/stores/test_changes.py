import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from memoryhub import settling
from stores import history
from stores.memory_stores import gate_of
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.noise import NOISE_SECONDS
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id


def changes(call: Any, shelf: Shelf, **query: Any) -> Any:
    answer = call("GET", shelf.url("changes"), query=query)
    assert answer.status == 200, answer.body
    return answer.body


def test_each_memory_shows_its_last_version_once(call: Caller, shelf: Shelf) -> None:
    one, two = shelf.put("/one", "1"), shelf.put("/two", "2")
    shelf.update(one, content="11")
    shelf.delete(two)
    body = changes(call, shelf)
    shown = [(entry["memory_id"], entry["operation"], entry["path"]) for entry in body["data"]]
    assert shown == [(one.wire_id, "modified", "/one"), (two.wire_id, "deleted", "/two")]
    assert [entry["content"] for entry in body["data"]] == [None, None]
    versions = shelf.versions()
    assert [entry["sequence"] for entry in body["data"]] == [versions[1].number, versions[0].number]
    assert body["data"][0]["content_sha256"] == versions[1].content_sha256
    assert (body["has_more"], body["next_page"]) == (False, None)
    assert body["last_sequence"] == versions[0].number


def test_only_what_changed_since_is_shown(call: Caller, shelf: Shelf) -> None:
    one = shelf.put("/one", "1")
    shelf.put("/two", "2")
    seen = changes(call, shelf)["last_sequence"]
    assert changes(call, shelf, after=seen) == {
        "data": [],
        "has_more": False,
        "next_page": None,
        "last_sequence": seen,
    }
    shelf.update(one, content="11")
    body = changes(call, shelf, after=seen)
    assert [entry["memory_id"] for entry in body["data"]] == [one.wire_id]


def test_an_empty_store_has_no_changes(call: Caller, shelf: Shelf) -> None:
    body = changes(call, shelf)
    assert (body["data"], body["has_more"], body["last_sequence"]) == ([], False, 0)


def follow(call: Any, shelf: Shelf, limit: int) -> list[Any]:
    """All pages from the start."""
    entries, after = [], 0
    while True:
        body = changes(call, shelf, after=after, limit=limit)
        entries += body["data"]
        assert body["last_sequence"] >= after
        after = body["last_sequence"]
        if not body["has_more"]:
            return entries


def test_pages_together_show_every_memory_once(call: Caller, shelf: Shelf) -> None:
    memories = [shelf.put(f"/{number}", "x") for number in range(7)]
    for memory in memories[::2]:
        shelf.update(memory, content="y")
    for limit in (1, 2, 7, 100):
        entries = follow(call, shelf, limit)
        assert sorted(entry["memory_id"] for entry in entries) == sorted(one.wire_id for one in memories)
        assert [entry["sequence"] for entry in entries] == sorted(entry["sequence"] for entry in entries)


def test_a_long_history_is_scanned_in_bounded_steps(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "CHANGES_VERSIONS_SCANNED_MAX", 5)
    memory = shelf.put("/a", "0")
    for number in range(1, 12):
        shelf.update(memory, content=str(number))
    first = changes(call, shelf)
    assert (first["data"], first["has_more"]) == ([], True)
    assert first["last_sequence"] == shelf.versions()[::-1][4].number
    assert [entry["sequence"] for entry in follow(call, shelf, 100)] == [shelf.versions()[0].number]


def test_a_redacted_deletion_is_shown_without_its_path(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/a", "x"))
    call("POST", f"{shelf.version_url(shelf.versions()[0])}/redact")
    entry = changes(call, shelf)["data"][0]
    assert (entry["operation"], entry["path"]) == ("deleted", None) and entry["redacted_at"] is not None


@pytest.mark.parametrize("query", [{"after": "-1"}, {"after": "x"}, {"limit": "0"}, {"limit": "101"}])
def test_malformed_queries_are_refused(call: Caller, shelf: Shelf, query: dict[str, str]) -> None:
    assert call("GET", shelf.url("changes"), query=query).refusal == (400, "invalid_request_error", None)


def test_the_limit_may_be_a_hundred(call: Caller, shelf: Shelf) -> None:
    shelf.fill([f"/{number:03}" for number in range(101)])
    body = changes(call, shelf, limit=100)
    assert (len(body["data"]), body["has_more"]) == (100, True)


def test_a_sequence_of_the_future_shows_nothing(call: Caller, shelf: Shelf) -> None:
    shelf.put()
    assert changes(call, shelf, after=10**17)["last_sequence"] == 10**17


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(shelf: Shelf, stranger: Tenant) -> None:
    for query in ({}, {"after": "x"}):
        foreign = stranger.call()("GET", shelf.url("changes"), query=query)
        absent = stranger.call()("GET", f"/v1/memory_stores/{unused_id('memstore')}/changes", query=query)
        assert foreign.status == absent.status == 404 and foreign.body["error"] == absent.body["error"]


class Writer:
    """A connection of its own that writes a memory in steps: first the store's gate, then its number, then the end."""

    def __init__(self, shelf: Shelf) -> None:
        self.connection = connection.copy()
        self.connection.set_autocommit(False)
        self.store = shelf.store

    def execute(self, query: str, values: list[Any]) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchone()

    def pass_gate(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock_shared(%s)", [gate_of(self.store.id)])

    def draw_number(self, path: str) -> int:
        made = """INSERT INTO stores_memoryversion (id, project_id, store_id, memory_id, operation, path, content,
                    content_size_bytes, content_sha256, created_by_type, created_by_id)
                  VALUES (gen_random_uuid(), %s, %s, gen_random_uuid(), 'created', %s, 'x', 1, repeat('0', 64),
                    'user_actor', 'user_x') RETURNING number"""
        return int(self.execute(made, [self.store.project_id, self.store.id, path])[0])

    def commit(self) -> None:
        self.connection.commit()


@contextmanager
def two_writers(shelf: Shelf) -> Iterator[tuple[Writer, Writer]]:
    writers = Writer(shelf), Writer(shelf)
    try:
        yield writers
    finally:
        for writer in writers:
            writer.connection.close()


def new_shelf(tenant: Tenant) -> Shelf:
    made = tenant.call()("POST", "/v1/memory_stores", {"name": "Feed"})
    return Shelf(made.body["id"], tenant.actor)


@pytest.mark.parametrize("first", ["lower number", "higher number"])
def test_a_lower_number_that_commits_later_is_not_skipped(
    live: LiveHub, live_tenant: Tenant, first: str
) -> None:
    shelf, call = new_shelf(live_tenant), live.caller(live_tenant.key)
    with two_writers(shelf) as (low, high):
        for writer in (low, high) if first == "lower number" else (high, low):
            writer.pass_gate()
        assert low.draw_number("/low") < high.draw_number("/high")
        high.commit()
        early = changes(call, shelf)
        assert (early["data"], early["last_sequence"], early["has_more"]) == ([], 0, False)
        low.commit()
        late = changes(call, shelf, after=early["last_sequence"])
        assert [entry["path"] for entry in late["data"]] == ["/low", "/high"]


def test_a_writer_that_gives_up_holds_nothing_back(live: LiveHub, live_tenant: Tenant) -> None:
    shelf, call = new_shelf(live_tenant), live.caller(live_tenant.key)
    with two_writers(shelf) as (low, high):
        for writer, path in ((low, "/low"), (high, "/high")):
            writer.pass_gate()
            writer.draw_number(path)
        high.commit()
        low.connection.rollback()
        assert [entry["path"] for entry in changes(call, shelf)["data"]] == ["/high"]


def test_a_reader_waits_within_its_bound_and_makes_no_writer_wait(live: LiveHub, live_tenant: Tenant) -> None:
    shelf, call = new_shelf(live_tenant), live.caller(live_tenant.key)
    memory = shelf.put("/a", "one")
    seen = changes(call, shelf)["last_sequence"]
    with two_writers(shelf) as (low, high):
        low.pass_gate()
        high.pass_gate()
        high.draw_number("/high")
        high.commit()
        began = time.monotonic()
        assert changes(call, shelf, after=seen)["data"] == []
        assert time.monotonic() - began < settling.SETTLING_SECONDS_MAX + 1.5 + NOISE_SECONDS
        began = time.monotonic()
        shelf.update(memory, content="two")
        assert time.monotonic() - began < 1.5 + NOISE_SECONDS


def test_a_change_of_another_store_holds_nothing_back(live: LiveHub, live_tenant: Tenant) -> None:
    shelf, other, call = new_shelf(live_tenant), new_shelf(live_tenant), live.caller(live_tenant.key)
    shelf.put("/a", "one")
    with two_writers(other) as (busy, _):
        busy.pass_gate()
        busy.draw_number("/busy")
        assert [entry["path"] for entry in changes(call, shelf)["data"]] == ["/a"]


def test_followers_of_a_busy_store_see_every_version_that_lasted(live: LiveHub, live_tenant: Tenant) -> None:
    """Eight writers, two followers: what each follower gathered is the store at the end."""
    shelf = new_shelf(live_tenant)
    memories = [shelf.put(f"/{number}", "0") for number in range(8)]
    ended: list[int] = []
    heads: list[dict[str, str]] = [{}, {}]

    def write(index: int) -> None:
        caller = live.caller(live_tenant.key)
        for number in range(40):
            answer = caller("POST", shelf.memory_url(memories[index]), {"content": f"{index}.{number}"})
            assert answer.status == 200, answer.body
        ended.append(index)

    def follow_on(seen: dict[str, str]) -> None:
        caller, after, rounds = live.caller(live_tenant.key), 0, 0
        while rounds < 5_000:
            last_round = len(ended) == len(memories)
            body = changes(caller, shelf, after=after, limit=3)
            after = body["last_sequence"]
            seen |= {entry["memory_id"]: entry["id"] for entry in body["data"]}
            if last_round and not body["data"] and not body["has_more"]:
                return
            rounds += 1

    works = [lambda index=index: write(index) for index in range(len(memories))]
    works += [lambda seen=seen: follow_on(seen) for seen in heads]
    run_together(works)
    current = {
        memory["id"]: memory["memory_version_id"]
        for memory in live.caller(live_tenant.key)("GET", shelf.memories_url).body["data"]
    }
    assert heads == [current, current]


def test_from_now_shows_nothing_and_where_the_feed_stands(call: Caller, shelf: Shelf) -> None:
    assert changes(call, shelf, from_now="true")["last_sequence"] == 0
    shelf.put("/one", "1")
    stands = changes(call, shelf, from_now="true")
    assert stands == {
        "data": [],
        "has_more": False,
        "next_page": None,
        "last_sequence": shelf.versions()[0].number,
    }
    two = shelf.put("/two", "2")
    body = changes(call, shelf, after=stands["last_sequence"])
    assert [entry["memory_id"] for entry in body["data"]] == [two.wire_id]
    assert call("GET", shelf.url("changes"), query={"from_now": "x"}).status == 400

"""A store from which old versions were removed goes out and comes back as it is; an archive that hides more is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from memoryhub import ids
from memoryhub.integrity import check_invariant
from stores.integrity import INVARIANTS
from stores.models import Memory
from tests.archives.written import Draft, export, import_archive, members_of
from tests.stores.aged import age_memory
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant

WHOLE_FROM = "2026-01-01T00:00:01.000001Z"


@pytest.fixture
def shelf(committed: Tenant, store_id: str) -> Shelf:
    return Shelf(store_id, committed.actor)


@pytest.fixture
def trimmed(call: Caller, shelf: Shelf) -> Shelf:
    age_memory(shelf, "/a", [90, 60, 40, 20])
    age_memory(shelf, "/gone", [90, 80, 70], deleted=True)
    age_memory(shelf, "/whole", [95])
    assert call("PUT", shelf.url("retention"), {"days": 30}).status == 200
    assert call("POST", shelf.url("retention", "run")).body["memory_versions"] == 4
    return shelf


def everything(call: Caller, shelf: Shelf) -> list[Any]:
    lists = [
        call("GET", shelf.url(name), query={"view": "full"}).body for name in ("memories", "memory_versions")
    ]
    return [*lists, call("GET", shelf.url("retention")).body["history_from"]]


def test_it_comes_back_as_it_was(call: Caller, trimmed: Shelf) -> None:
    before, archive = everything(call, trimmed), export(call, trimmed.store_id)
    assert call("DELETE", trimmed.url()).status == 200
    answer = import_archive(call, archive)
    assert answer.status == 200, answer.body
    assert everything(call, trimmed) == before
    assert export(call, trimmed.store_id) == archive
    first = call("GET", trimmed.version_url(trimmed.versions()[1]) + "/diff").body
    assert first["before"]["state"] in ("removed", "none")
    assert call("GET", trimmed.url("retention")).body["days"] is None
    assert not [found.invariant.name for found in map(check_invariant, INVARIANTS) if found.faults]


def test_a_store_from_which_nothing_was_removed_has_the_format_it_always_had(
    call: Caller, shelf: Shelf
) -> None:
    shelf.put("/a", "x")
    assert call("PUT", shelf.url("retention"), {"days": 30}).status == 200
    members = members_of(export(call, shelf.store_id))
    assert (
        b'"format_version":1' in members["manifest.json"] and b"history_from" not in members["manifest.json"]
    )
    assert b"follows_removed" not in members["versions.ndjson"]


@pytest.fixture
def draft() -> Draft:
    """One memory whose first version is gone, one that is whole, one that is deleted and whose texts are gone."""
    draft = Draft()
    draft.manifest |= {"format_version": 2}
    draft.manifest["memory_store"]["history_from"] = WHOLE_FROM
    draft.add_head("/a.md", b"alpha")
    draft.add_head("/b.md", b"beta")
    draft.add("/c.md", None, operation="deleted")
    draft.versions[0] |= {"operation": "modified", "follows_removed": True}
    draft.versions[2] |= {"follows_removed": True, "created_at": WHOLE_FROM}
    draft.manifest["heads"][0]["created_at"] = "2025-12-31T00:00:00.000000Z"
    draft.manifest["heads"][1]["created_at"] = draft.versions[1]["created_at"]
    return draft


def test_an_archive_of_a_history_whose_beginnings_are_gone_is_read(call: Caller, draft: Draft) -> None:
    answer = import_archive(call, draft.write())
    assert answer.status == 200, answer.body
    key = ids.from_wire(ids.MEMORY_STORE, answer.body["memory_store"]["id"])
    created = Memory.objects.filter(store_id=key).order_by("path_key").values_list("created_at", flat=True)
    assert created[0].year == 2025


def _heads(index: int, **values: Any) -> Callable[[Draft], Any]:
    return lambda draft: draft.manifest["heads"][index].update(values)


def _line(index: int, **values: Any) -> Callable[[Draft], Any]:
    return lambda draft: draft.versions[index].update(values)


CASES: dict[str, tuple[Callable[[Draft], Any], str]] = {
    "an older format": (lambda d: d.manifest.update(format_version=1), "history_from is not known here."),
    "no beginning of the history": (
        lambda d: d.manifest["memory_store"].update(history_from=None),
        "history_from must be a time",
    ),
    "no creation of a head": (lambda d: d.manifest["heads"][0].pop("created_at"), "created_at is missing."),
    "a creation after the first version": (
        _heads(0, created_at="2026-01-01T00:00:01.000001Z"),
        "heads[0]: It was created at another time",
    ),
    "a creation that is another": (
        _heads(1, created_at="2026-01-01T00:00:01.000000Z"),
        "heads[1]: It was created at another time",
    ),
    "a mark where the history is whole": (
        _line(0, created_at="2026-01-01T00:00:01.000002Z"),
        "line 1: A version before it was removed, where the history is whole.",
    ),
    "a marked creation": (_line(0, operation="created"), "line 1: A memory's first version"),
    "a change without a mark": (
        lambda d: d.versions[0].pop("follows_removed"),
        "line 1: A memory's first version, and no other, is created.",
    ),
    "a mark that is false": (_line(0, follows_removed=False), "line 1: follows_removed must be true"),
    "a mark that is a number": (_line(0, follows_removed=1), "line 1: follows_removed must be true"),
    "a change after the deletion": (
        lambda d: d.add("/c.md", b"beta", memory_id=d.versions[2]["memory_id"], operation="modified"),
        "line 4: It changes a memory that was deleted above.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_history_that_hides_more_is_refused(call: Caller, draft: Draft, case: str) -> None:
    change, sentence = CASES[case]
    change(draft)
    answer = import_archive(call, draft.write())
    assert answer.refusal == (400, "invalid_request_error", "archive_invalid")
    assert sentence in answer.message

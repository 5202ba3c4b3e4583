from typing import Any

import pytest

from memoryhub.audit import AuditAction
from stores.limits import METADATA_PAIRS_MAX, STORE_DESCRIPTION_LENGTH_MAX, STORE_NAME_LENGTH_MAX
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, unused_id


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_given_fields_change_and_the_rest_stays(call: Caller, shelf: Shelf, method: str) -> None:
    before = call("GET", shelf.url()).body
    changed = call(method, shelf.url(), {"name": "New", "description": "d", "metadata": {"k": "v"}})
    assert changed.status == 200
    assert list(changed.body) == list(before)
    assert changed.body == before | {
        "name": "New",
        "description": "d",
        "metadata": {"k": "v"},
        "updated_at": changed.body["updated_at"],
    }
    assert changed.body["updated_at"] > before["updated_at"]
    assert call("GET", shelf.url()).body == changed.body
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_STORE_UPDATED, shelf.store_id)


def test_metadata_is_a_patch(call: Caller, shelf: Shelf) -> None:
    call("POST", shelf.url(), {"metadata": {"keep": "1", "change": "1", "drop": "1"}})
    patched = call(
        "POST", shelf.url(), {"metadata": {"change": "2", "drop": None, "add": "", "absent": None}}
    )
    assert patched.body["metadata"] == {"keep": "1", "change": "2", "add": ""}
    assert call("POST", shelf.url(), {"metadata": {}}).body == patched.body


def test_an_empty_description_clears_it(call: Caller, shelf: Shelf) -> None:
    call("POST", shelf.url(), {"description": "d"})
    assert call("POST", shelf.url(), {"description": ""}).body["description"] == ""


NOTHING: list[dict[str, Any]] = [
    {},
    {"name": "Notes"},
    {"name": "Notes", "description": "", "metadata": {}},
    {"metadata": {"absent": None}},
    {"name": None, "description": None, "metadata": None},
]


@pytest.mark.parametrize("body", NOTHING, ids=repr)
def test_a_change_of_nothing_is_a_success_that_writes_nothing(
    call: Caller, shelf: Shelf, body: dict[str, Any]
) -> None:
    state, shown = shelf.state(), call("GET", shelf.url()).body
    repeated = call("POST", shelf.url(), body)
    assert (repeated.status, repeated.body) == (200, shown)
    assert shelf.state() == state


def test_null_means_left_out(call: Caller, shelf: Shelf) -> None:
    changed = call("POST", shelf.url(), {"name": None, "description": "d", "metadata": None}).body
    assert (changed["name"], changed["description"]) == ("Notes", "d")


MALFORMED: list[Any] = [
    {"name": ""},
    {"name": "n" * (STORE_NAME_LENGTH_MAX + 1)},
    {"name": "a\tb"},
    {"name": 1},
    {"description": "d" * (STORE_DESCRIPTION_LENGTH_MAX + 1)},
    {"metadata": "k=v"},
    {"metadata": {"k": 1}},
    {"metadata": {"k": False}},
    {"titel": "x"},
    {"name": "fine", "archived_at": None},
    [],
    None,
]


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body)[:40])
def test_a_malformed_body_is_refused_and_changes_nothing(call: Caller, shelf: Shelf, body: Any) -> None:
    state = shelf.state()
    refused = call("POST", shelf.url(), body)
    assert (refused.status, refused.error_type) == (400, "invalid_request_error")
    assert shelf.state() == state


def test_the_result_of_a_patch_has_at_most_sixteen_pairs(call: Caller, shelf: Shelf) -> None:
    full = {f"k{n:02}": "v" for n in range(METADATA_PAIRS_MAX)}
    assert call("POST", shelf.url(), {"metadata": full}).status == 200
    state = shelf.state()
    assert call("POST", shelf.url(), {"metadata": {"more": "v"}}).refusal == (
        400,
        "invalid_request_error",
        None,
    )
    assert shelf.state() == state
    swapped = call("POST", shelf.url(), {"metadata": {"more": "v", "k00": None}})
    assert swapped.body["metadata"] == {**{k: v for k, v in full.items() if k != "k00"}, "more": "v"}
    # A patch itself may name more: only the result counts.
    removal: dict[str, str | None] = {f"gone{n}": None for n in range(METADATA_PAIRS_MAX + 1)}
    assert call("POST", shelf.url(), {"metadata": removal}).body == swapped.body


@pytest.mark.parametrize("body", [{"name": "New"}, {}])
def test_an_archived_store_is_refused_even_a_change_of_nothing(
    call: Caller, shelf: Shelf, body: dict[str, Any]
) -> None:
    shelf.archive()
    state = shelf.state()
    assert call("POST", shelf.url(), body).refusal == (400, "invalid_request_error", "memory_store_archived")
    assert shelf.state() == state


@pytest.mark.parametrize("body", [{"name": "x"}, {"unknown": 1}, None])
def test_a_missing_store_is_not_found_whatever_is_sent(call: Caller, body: Any) -> None:
    refused = call("POST", f"/v1/memory_stores/{unused_id('memstore')}", body)
    assert refused.refusal == (404, "not_found_error", None)

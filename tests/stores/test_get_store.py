import pytest

from tests.stores.shelf import Shelf
from tests.world import Caller, unused_id


def test_a_store_is_shown_archived_or_not(call: Caller, shelf: Shelf) -> None:
    before = call("GET", shelf.url())
    assert (before.status, before.body["archived_at"]) == (200, None)
    shelf.archive()
    after = call("GET", shelf.url())
    assert after.status == 200
    assert after.body == before.body | {
        "archived_at": after.body["updated_at"],
        "updated_at": after.body["updated_at"],
    }


def test_a_change_of_its_memories_does_not_touch_the_store(call: Caller, shelf: Shelf) -> None:
    before = call("GET", shelf.url()).body
    shelf.delete(shelf.update(shelf.put(), content="two"))
    assert call("GET", shelf.url()).body == before


@pytest.mark.parametrize(
    "store_id",
    [
        unused_id("memstore"),
        unused_id("mem"),
        "memstore_",
        "x",
        "%00",
        "%ff%fe",
        "memstore_" + "0" * 5_000,
        "a%2Fb",
    ],
)
def test_an_id_that_is_not_a_store_is_not_found(call: Caller, store_id: str) -> None:
    refused = call("GET", f"/v1/memory_stores/{store_id}")
    assert refused.refusal == (404, "not_found_error", None)


def test_an_id_is_compared_exactly(call: Caller, shelf: Shelf) -> None:
    assert call("GET", shelf.url().upper().replace("/V1/MEMORY_STORES", "/v1/memory_stores")).status == 404
    assert call("GET", f"{shelf.url()}/").status == 404  # and never a redirect


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE"])
def test_another_method_names_the_allowed_ones(call: Caller, shelf: Shelf, method: str) -> None:
    refused = call(method, shelf.url())
    assert refused.refusal == (405, "invalid_request_error", None)
    assert refused.headers["allow"] == "GET, POST, PATCH, DELETE, HEAD"


def test_head_answers_as_get_does(call: Caller, shelf: Shelf) -> None:
    answer = call("HEAD", shelf.url())
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")

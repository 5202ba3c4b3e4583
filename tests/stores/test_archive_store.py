from typing import Any

import pytest

from memoryhub.audit import AuditAction
from stores import memory_versions
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, unused_id


@pytest.mark.parametrize("body", [None, {}])
def test_archiving_sets_both_times_to_now(call: Caller, shelf: Shelf, body: Any) -> None:
    before = call("GET", shelf.url()).body
    archived = call("POST", shelf.url("archive"), body)
    assert archived.status == 200
    assert list(archived.body) == list(before)
    now = archived.body["archived_at"]
    assert archived.body == before | {"archived_at": now, "updated_at": now}
    assert now > before["updated_at"]
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_STORE_ARCHIVED, shelf.store_id)


def test_archiving_again_changes_nothing(call: Caller, shelf: Shelf) -> None:
    first, state = call("POST", shelf.url("archive")).body, shelf.state()
    again = call("POST", shelf.url("archive"))
    assert (again.status, again.body) == (200, first)
    assert shelf.state() == state


def test_there_is_no_way_back(call: Caller, shelf: Shelf) -> None:
    shelf.archive()
    assert call("POST", shelf.url(), {"archived_at": None}).status == 400
    assert call("DELETE", shelf.url("archive")).status == 405


def test_a_field_in_the_body_is_refused(call: Caller, shelf: Shelf) -> None:
    assert call("POST", shelf.url("archive"), {"force": True}).refusal == (400, "invalid_request_error", None)
    assert shelf.store.archived_at is None


def test_a_missing_store_is_not_found(call: Caller) -> None:
    refused = call("POST", f"/v1/memory_stores/{unused_id('memstore')}/archive")
    assert refused.refusal == (404, "not_found_error", None)


def test_an_archived_store_is_read_in_every_way(call: Caller, shelf: Shelf) -> None:
    memory = shelf.update(shelf.put(), content="two")
    head, first = shelf.versions()
    urls = [
        shelf.url(),
        shelf.memories_url,
        shelf.memory_url(memory),
        shelf.url("memory_versions"),
        shelf.version_url(head),
        shelf.version_url(first),
    ]
    before = [call("GET", url).body for url in urls[1:]]
    shelf.archive()
    assert [call("GET", url).status for url in urls] == [200] * len(urls)
    assert [call("GET", url).body for url in urls[1:]] == before


def test_an_archived_store_refuses_every_write(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", "text")
    shelf.archive()
    state = shelf.state()
    writes = [
        call("POST", shelf.url(), {"name": "x"}),
        call("POST", shelf.memories_url, {"path": "/b", "content": ""}),
        call("POST", shelf.memory_url(memory), {"content": "new"}),
        call("POST", shelf.memory_url(memory), {"content": "text"}),  # also one that would change nothing
        call("POST", shelf.memory_url(memory), {"path": "/b"}),
        call("DELETE", shelf.memory_url(memory)),
    ]
    refused = (400, "invalid_request_error", "memory_store_archived")
    assert [answer.refusal for answer in writes] == [refused] * len(writes)
    assert shelf.state() == state


def test_an_archived_store_allows_redaction_but_of_a_head(call: Caller, shelf: Shelf) -> None:
    shelf.update(shelf.put(), content="two")
    head, first = shelf.versions()
    shelf.archive()
    assert call("POST", f"{shelf.version_url(first)}/redact").status == 200
    refused = call("POST", f"{shelf.version_url(head)}/redact")
    assert refused.refusal == (400, "invalid_request_error", "memory_version_is_head")
    shown = memory_versions.get_version(shelf.store_id, head.wire_id, with_content=True, actor=shelf.actor)
    assert shown.content == "two"

"""A store's settings: what was typed is kept, and a change that came first is shown, not overwritten."""

from typing import Any

import pytest
from django.utils.html import escape

from memoryhub.audit import AuditAction
from stores import memory_stores
from stores.limits import (
    METADATA_KEY_LENGTH_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_LENGTH_MAX,
    STORE_NAME_LENGTH_MAX,
)
from stores.models import MemoryStore, MemoryVersion
from tests.console.site import Site
from tests.stores.shelf import Shelf, audited
from tests.world import Tenant


def page_of(shelf: Shelf) -> str:
    return f"/stores/{shelf.store_id}/settings"


def form(shelf: Shelf, **typed: Any) -> dict[str, Any]:
    """As the page sends it: rows of pairs repeat their names."""
    store = shelf.store
    return {
        "name": store.name,
        "description": store.description,
        "metadata_key": [*store.metadata, ""],
        "metadata_value": [*store.metadata.values(), ""],
        "updated_at": store.updated_at.isoformat(),
        **typed,
    }


def pairs(**metadata: str) -> dict[str, list[str]]:
    return {"metadata_key": [*metadata, "", ""], "metadata_value": [*metadata.values(), "", ""]}


def test_settings_are_saved_as_they_stand_in_the_form(owner: Site, shelf: Shelf) -> None:
    assert owner.post(page_of(shelf), form(shelf, **pairs(team="a", tier="b"))).status_code == 302
    typed = form(shelf, name="New", description="one\r\ntwo", **pairs(team="c"))
    answer = owner.post(page_of(shelf), typed)
    assert answer["Location"] == owner.base + page_of(shelf)
    store = shelf.store
    assert (store.name, store.description, store.metadata) == ("New", "one\ntwo", {"team": "c"})
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_STORE_UPDATED, shelf.store_id)
    shown = owner.get(page_of(shelf)).content.decode()
    assert 'value="team"' in shown
    assert shown.count('name="metadata_key"') == 1 + 3, "with rows to fill"


def test_what_is_already_so_is_no_change(owner: Site, shelf: Shelf) -> None:
    before = shelf.state()
    assert owner.post(page_of(shelf), form(shelf)).status_code == 302
    assert shelf.state() == before


def test_a_form_that_is_behind_is_refused_with_what_changed(owner: Site, shelf: Shelf) -> None:
    behind = form(shelf, name="Mine", description="kept <text>", **pairs(a="1"))
    memory_stores.update_store(shelf.store_id, name="Theirs", metadata={"b": "2"}, actor=shelf.actor)
    answer = owner.post(page_of(shelf), behind)
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert shelf.store.name == "Theirs"
    for text in ('value="Mine"', escape("kept <text>"), 'value="a"', ">Theirs</pre>", ">b: 2</pre>"):
        assert text in shown, text
    assert "Somebody else changed the store" in shown
    again = {**behind, "updated_at": shelf.store.updated_at.isoformat()}
    assert f'value="{again["updated_at"]}"' in shown, "the next one is meant"
    assert owner.post(page_of(shelf), again).status_code == 302
    assert (shelf.store.name, shelf.store.metadata) == ("Mine", {"a": "1"})


REFUSED = {
    "no name": {"name": ""},
    "one past the name": {"name": "n" * (STORE_NAME_LENGTH_MAX + 1)},
    "a value without a name": {"metadata_key": ["", ""], "metadata_value": ["lonely <value>", ""]},
    "a name twice": {"metadata_key": ["same", "same"], "metadata_value": ["one", "two"]},
    "one past a key": pairs(**{"k" * (METADATA_KEY_LENGTH_MAX + 1): "v"}),
    "one past a value": pairs(k="v" * (METADATA_VALUE_LENGTH_MAX + 1)),
    "one pair too many": pairs(**{f"k{n}": "v" for n in range(METADATA_PAIRS_MAX + 1)}),
    "a character that cannot be kept": pairs(k="a\0b"),
}


@pytest.mark.parametrize("typed", REFUSED.values(), ids=REFUSED)
def test_a_refused_form_keeps_what_was_typed(owner: Site, shelf: Shelf, typed: dict[str, Any]) -> None:
    before = shelf.state()
    answer = owner.post(page_of(shelf), form(shelf, description="kept <text>", **typed))
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert shown.count('class="problem"') == 1
    assert escape("kept <text>") in shown
    for text in (*typed.get("metadata_key", []), *typed.get("metadata_value", [])):
        assert escape(text) in shown
    assert shelf.state() == before


def test_pairs_at_the_limit_are_kept(owner: Site, shelf: Shelf) -> None:
    most = {f"k{n}": "v" * METADATA_VALUE_LENGTH_MAX for n in range(METADATA_PAIRS_MAX - 1)}
    most["k" * METADATA_KEY_LENGTH_MAX] = ""
    assert owner.post(page_of(shelf), form(shelf, **pairs(**most))).status_code == 302
    assert shelf.store.metadata == most


def test_a_form_without_its_moment_is_refused(owner: Site, shelf: Shelf) -> None:
    for moment in ("", "yesterday"):
        assert owner.post(page_of(shelf), form(shelf, name="Mine", updated_at=moment)).status_code == 400


def test_an_archived_store_offers_its_end_only(owner: Site, shelf: Shelf) -> None:
    shelf.archive()
    shown = owner.get(page_of(shelf)).content.decode()
    assert "Save the settings" not in shown
    assert f"{shelf.store_id}/archive" not in shown
    assert f"{shelf.store_id}/delete" in shown
    assert owner.post(page_of(shelf), form(shelf, name="Mine")).status_code == 400


def delete_form(shelf: Shelf, **typed: str) -> dict[str, str]:
    return {"name": shelf.store.name, "number": str(memory_stores.newest_number(shelf.store)), **typed}


def test_a_store_is_deleted_by_its_name(owner: Site, shelf: Shelf, tenant: Tenant) -> None:
    memory = shelf.put("/a.md", "x" * 10)
    shelf.update(memory, content="x" * 20)
    url, typed = f"/stores/{shelf.store_id}/delete", delete_form(shelf, name=" Notes ")
    shown = " ".join(owner.get(url).content.decode().split())
    assert "<dt>Memories</dt><dd>1, 20 bytes</dd>" in shown
    assert "<dt>Versions</dt><dd>2, the whole history</dd>" in shown
    answer = owner.post(url, typed)
    assert answer["Location"] == f"{owner.base}/stores"
    assert not MemoryStore.objects.filter(project=tenant.project).exists()
    assert not MemoryVersion.objects.filter(project=tenant.project).exists()


@pytest.mark.parametrize("typed", ["", "notes", "Notes!", "<b>"])
def test_another_name_deletes_nothing_and_is_kept(owner: Site, shelf: Shelf, typed: str) -> None:
    before = shelf.state()
    answer = owner.post(f"/stores/{shelf.store_id}/delete", delete_form(shelf, name=typed))
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert shown.count('class="problem"') == 1
    assert not typed or f'value="{escape(typed)}"' in shown
    assert shelf.state() == before


def test_a_memory_that_changed_meanwhile_is_asked_about(owner: Site, shelf: Shelf) -> None:
    behind = delete_form(shelf)
    shelf.put("/new.md")
    before = shelf.state()
    answer = owner.post(f"/stores/{shelf.store_id}/delete", behind)
    shown = " ".join(answer.content.decode().split())
    assert answer.status_code == 409
    assert "so nothing was deleted" in shown
    assert 'value="Notes"' in shown, "what was typed is kept"
    assert "<dt>Memories</dt><dd>1," in shown
    assert shelf.state() == before
    assert owner.post(f"/stores/{shelf.store_id}/delete", delete_form(shelf)).status_code == 302


def test_a_form_that_is_not_whole_deletes_nothing(owner: Site, shelf: Shelf) -> None:
    for number in ("", "-1", "x", "9" * 19):
        answer = owner.post(f"/stores/{shelf.store_id}/delete", delete_form(shelf, number=number))
        assert answer.status_code == 400
    assert shelf.store

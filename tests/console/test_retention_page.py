"""The page of how long versions are kept: it counts before anything goes, and saves what was seen."""

import pytest

from stores import retention
from stores.retention import Policy
from tests.console.site import Site
from tests.console.test_history_pages import text_of
from tests.stores.aged import age_memory, left
from tests.stores.shelf import Shelf

NONE = {"shown_days": "", "shown_versions_min": ""}


def page(shelf: Shelf) -> str:
    return f"/stores/{shelf.store_id}/retention"


def held(shelf: Shelf) -> Policy | None:
    return retention.get_retention(shelf.store_id, actor=shelf.actor).policy


def test_an_owner_counts_and_then_saves(owner: Site, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40])
    assert "Every version is kept for ever." in text_of(owner.get(page(shelf)))
    typed = {"days": "30", "versions_min": "2", **NONE}
    counted = owner.post(page(shelf), {**typed, "action": "count"})
    assert counted.status_code == 200
    assert "This would remove 1 version of 1 memory now" in text_of(counted)
    assert 'value="30"' in counted.content.decode() and held(shelf) is None
    assert left(shelf, versions) == [0, 1, 2]
    saved = owner.post(page(shelf), {**typed, "action": "save"})
    assert saved["Location"] == owner.base + page(shelf)
    assert held(shelf) == Policy(30, 2)
    shown = text_of(owner.get(page(shelf)))
    assert "more than 30 days ago" in shown and "newest 2 versions always stay." in shown
    retention.remove_old_versions(shelf.store_id, actor=shelf.actor)
    assert "the history is whole from" in text_of(owner.get(page(shelf)))


def test_an_empty_number_of_days_keeps_every_version(owner: Site, shelf: Shelf) -> None:
    retention.set_retention(shelf.store_id, policy=Policy(1, 1), actor=shelf.actor)
    form = {"days": "", "versions_min": "1", "shown_days": "1", "shown_versions_min": "1"}
    assert "This would remove" not in text_of(owner.post(page(shelf), {**form, "action": "count"}))
    owner.post(page(shelf), {**form, "action": "save"})
    assert held(shelf) is None


def test_what_was_not_seen_is_not_replaced(owner: Site, shelf: Shelf) -> None:
    retention.set_retention(shelf.store_id, policy=Policy(7, 3), actor=shelf.actor)
    stale = owner.post(page(shelf), {"days": "30", "versions_min": "1", **NONE, "action": "save"})
    assert stale.status_code == 409 and held(shelf) == Policy(7, 3)
    shown = stale.content.decode()
    assert "Somebody else changed the retention" in shown and 'name="shown_days" value="7"' in shown
    assert 'value="30"' in shown, "what was typed is there still"
    again = {
        "days": "30",
        "versions_min": "1",
        "shown_days": "7",
        "shown_versions_min": "3",
        "action": "save",
    }
    assert owner.post(page(shelf), again).status_code == 302 and held(shelf) == Policy(30, 1)


@pytest.mark.parametrize(
    ("days", "versions_min"), [("0", "1"), ("3651", "1"), ("x", "1"), ("30", "0"), ("30", "1001"), ("30", "")]
)
def test_a_number_past_its_limits_stays_in_its_field(
    owner: Site, shelf: Shelf, days: str, versions_min: str
) -> None:
    form = {"days": days, "versions_min": versions_min, **NONE, "action": "save"}
    answer = owner.post(page(shelf), form)
    assert answer.status_code == 400 and held(shelf) is None
    assert f'value="{days}"' in answer.content.decode()


@pytest.mark.parametrize(
    "shown",
    [{}, {"shown_days": "x", "shown_versions_min": "1"}, {"shown_days": "7", "shown_versions_min": ""}],
)
def test_a_form_that_is_not_whole_is_refused(owner: Site, shelf: Shelf, shown: dict[str, str]) -> None:
    answer = owner.post(page(shelf), {"days": "30", "versions_min": "1", "action": "save", **shown})
    assert answer.status_code == 400 and held(shelf) is None


def test_an_archived_store_shows_its_retention_and_no_form(owner: Site, shelf: Shelf) -> None:
    retention.set_retention(shelf.store_id, policy=Policy(7, 1), actor=shelf.actor)
    shelf.archive()
    shown = owner.get(page(shelf))
    assert "nothing more is removed" in text_of(shown) and b"Save the retention" not in shown.content


def test_pages_say_what_is_gone(owner: Site, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40, 20])
    retention.set_retention(shelf.store_id, policy=Policy(30, 1), actor=shelf.actor)
    retention.remove_old_versions(shelf.store_id, actor=shelf.actor)
    store = f"/stores/{shelf.store_id}"
    compared = text_of(owner.get(f"{store}/compare?after={versions[2].wire_id}"))
    assert "nothing is left of it to compare with" in compared and "first version" not in compared
    for path in (f"{store}/history", f"{store}/memories/{versions[0].memory_wire_id}/history"):
        assert owner.get(path).status_code == 200
    before = owner.get(f"{store}/as-it-was?at=2000-01-01T00:00:00Z")
    assert before.status_code == 400 and "its history is whole from" in text_of(before)


def test_what_was_typed_over_a_version_that_is_gone_is_kept_and_compared(owner: Site, shelf: Shelf) -> None:
    versions = age_memory(shelf, "/a", [90, 60, 40])
    path = f"/stores/{shelf.store_id}/memories/{versions[0].memory_wire_id}/edit"
    form = {"base": versions[0].wire_id, "content_sha256": versions[0].content_sha256, "content": "typed"}
    retention.set_retention(shelf.store_id, policy=Policy(30, 1), actor=shelf.actor)
    retention.remove_old_versions(shelf.store_id, actor=shelf.actor)
    clash = owner.post(path, form)
    assert clash.status_code == 409 and ">typed</textarea>" in clash.content.decode().replace("\n", "")
    unread = owner.post(path, {**form, "content": ""} | {"content_sha256": "x"})
    assert unread.status_code == 400
    assert len(shelf.versions()) == 1

"""The pages that change a memory: what came in between is told, and what was typed stays."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import override_settings
from django.utils.html import escape

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from stores import memory_versions
from stores.limits import MEMORY_CONTENT_BYTES_MAX, PATH_BYTES_MAX
from stores.merges import MARK_MINE
from stores.models import Memory
from tests.console.site import Site, add_person, form_of, sign_in
from tests.stores.shelf import Shelf, audited
from tests.world import Tenant


def url_of(shelf: Shelf, memory: Memory, page: str = "") -> str:
    return f"/stores/{shelf.store_id}/memories/{memory.wire_id}{page}"


def texts(shelf: Shelf) -> list[str | None]:
    """Of every version, newest first."""
    return [version.content for version in shelf.versions()]


# --- a new one ---


def test_a_new_memory_is_saved_where_it_was_asked_for(owner: Site, shelf: Shelf) -> None:
    shelf.put("/acme/old.md")
    shown = owner.get(f"/stores/{shelf.store_id}", directory="/acme/").content.decode()
    assert (
        f'href="{owner.base}/stores/{shelf.store_id}/memories/new?directory=%2Facme%2F">New memory' in shown
    )
    form = form_of(owner.get(f"/stores/{shelf.store_id}/memories/new", directory="/acme/"))
    assert form == {"path": "/acme/", "base": "", "content": ""}
    answer = owner.post(
        f"/stores/{shelf.store_id}/memories/new",
        form | {"path": "/acme/tea.md", "content": "\r\n  green tea \r\n"},
    )
    memory = Memory.objects.select_related("head").get(path="/acme/tea.md")
    assert memory.head.content == "\n  green tea \n"
    assert answer["Location"] == owner.base + url_of(shelf, memory)
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_CREATED, memory.wire_id)


REFUSED_NEW = {
    "no path": ("", "kept <text>", 400, "Give the memory a path."),
    "a relative path": ("a.md", "kept <text>", 400, "It must start with / and name a file."),
    "one past the path": ("/" + "p" * PATH_BYTES_MAX, "kept <text>", 400, "It has 1025 bytes"),
    "a hidden character": ("/a\u200b.md", "kept <text>", 400, "It holds a control, format"),
    "a NUL": ("/a.md", "kept\0<text>", 400, "NUL character"),
    "one past the text": ("/a.md", "x" * (MEMORY_CONTENT_BYTES_MAX + 1), 400, "It has 102401 bytes"),
    "a path that is taken": ("/taken.md", "kept <text>", 409, "is taken by the memory at /taken.md"),
    "a path below a file": ("/taken.md/a", "kept <text>", 409, "is taken by the memory at /taken.md"),
}


@pytest.mark.parametrize(("path", "content", "status", "said"), REFUSED_NEW.values(), ids=REFUSED_NEW)
def test_a_refused_memory_keeps_what_was_typed(
    owner: Site, shelf: Shelf, path: str, content: str, status: int, said: str
) -> None:
    taken = shelf.put("/taken.md")
    before = shelf.state()
    answer = owner.post(f"/stores/{shelf.store_id}/memories/new", {"path": path, "content": content})
    shown = answer.content.decode()
    assert answer.status_code == status
    assert said in unescape(shown)
    assert shown.count('class="problem"') == 1
    kept = form_of(answer)
    assert (kept["path"], kept["content"]) == (path, content)
    assert shelf.state() == before
    assert (f'href="{owner.base}{url_of(shelf, taken)}"' in shown) == (status == 409)


def test_a_text_at_the_limit_is_saved_in_any_script(owner: Site, shelf: Shelf) -> None:
    """Escaped for its way it is three times as long."""
    for index, letter in enumerate(("x", "é", "語")):
        content = letter * (MEMORY_CONTENT_BYTES_MAX // len(letter.encode()))
        answer = owner.post(
            f"/stores/{shelf.store_id}/memories/new", {"path": f"/{index}.md", "content": content}
        )
        assert answer.status_code == 302, letter
        assert texts(shelf)[0] == content


# --- its text ---


def test_an_edit_is_saved_with_what_it_was_made_of(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\ntwo\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    assert form["content_sha256"] == sha256_hex("one\ntwo\n")
    assert form["base"] == shelf.versions()[0].wire_id
    answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "one\r\nthree\r\n"})
    assert answer["Location"] == owner.base + url_of(shelf, memory)
    assert texts(shelf) == ["one\nthree\n", "one\ntwo\n"]
    assert "The memory is saved." in owner.client.get(answer["Location"]).content.decode()


HOSTILE = [
    "",
    "\n",
    "\n\nx",
    "a\r\nb\r\n",
    "a\rb",
    "\r\n",
    "a\n\r\n\rb",
    " a \t\n ",
    "<b>&amp;</textarea>",
    "\u202e\u2028\x0b\x1b",
]


@pytest.mark.parametrize("content", HOSTILE)
def test_saving_without_a_change_writes_nothing(owner: Site, shelf: Shelf, content: str) -> None:
    memory = shelf.put("/a.md", content)
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    before = shelf.state()
    answer = owner.post(url_of(shelf, memory, "/edit"), form)
    assert "Nothing was changed." in owner.client.get(answer["Location"]).content.decode()
    assert shelf.state() == before


def test_a_changed_line_leaves_the_ends_of_the_others(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\r\ntwo\r\nthree\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    owner.post(url_of(shelf, memory, "/edit"), form | {"content": "one\r\n2\r\nthree\r\n"})
    assert texts(shelf)[0] == "one\r\n2\r\nthree\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [("kept\0<text>", "NUL character"), ("é" * (MEMORY_CONTENT_BYTES_MAX // 2 + 1), "It has 102402 bytes")],
)
def test_a_refused_edit_keeps_what_was_typed(owner: Site, shelf: Shelf, content: str, said: str) -> None:
    memory = shelf.put()
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    before = shelf.state()
    answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": content})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert form_of(answer) == form | {"content": content}
    assert shelf.state() == before


def test_an_edit_past_the_quota_keeps_what_was_typed(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    with override_settings(VERSIONS_MAX=0):
        answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "typed"})
    assert answer.status_code == 400
    assert "its quota is 0" in answer.content.decode()
    assert form_of(answer)["content"] == "typed"


def test_a_store_that_was_archived_meanwhile_keeps_what_was_typed(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    edit, new = url_of(shelf, memory, "/edit"), f"/stores/{shelf.store_id}/memories/new"
    form = form_of(owner.get(edit))
    shelf.archive()
    for answer in (
        owner.post(edit, form | {"content": "typed"}),
        owner.post(new, {"path": "/b.md", "content": "typed"}),
    ):
        assert answer.status_code == 400
        assert "archived" in answer.content.decode()
        assert form_of(answer)["content"] == "typed"
    pages = [edit, new, url_of(shelf, memory, "/move"), url_of(shelf, memory, "/delete")]
    assert [owner.get(page).status_code for page in pages] == [400] * 4
    shown = (
        owner.get(url_of(shelf, memory)).content.decode()
        + owner.get(f"/stores/{shelf.store_id}").content.decode()
    )
    assert [page for page in pages if f"{owner.base}{page}" in shown] == []


def test_a_frozen_memory_is_edited_by_people(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    owner.post(url_of(shelf, memory, "/freeze"))
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    assert owner.post(url_of(shelf, memory, "/edit"), form | {"content": "new"}).status_code == 302


# --- a text that changed meanwhile ---

BASE = "tea\nmilk\n-\nsugar\n"


@pytest.fixture
def stale(owner: Site, shelf: Shelf) -> tuple[Memory, dict[str, str]]:
    """A memory, and the form of one who began with BASE and typed; another wrote since."""
    memory = shelf.put("/a.md", BASE)
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="green tea\nmilk\n-\nsugar\n")
    return memory, form | {"content": "tea\r\nmilk\r\n-\r\nno sugar <b>\r\n"}


def test_a_stale_edit_shows_both_changes_and_keeps_the_typed_text(
    owner: Site, shelf: Shelf, stale: tuple[Memory, dict[str, str]]
) -> None:
    memory, form = stale
    before = shelf.state()
    answer = owner.post(url_of(shelf, memory, "/edit"), form)
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert shelf.state() == before
    theirs, mine = re.findall(r"<section.*?</section>", shown, re.DOTALL)
    assert "<ins>green" in theirs
    assert "sugar <b>" not in theirs
    assert "no" in re.findall(r"<ins>(.*?)</ins>", mine)[0]
    assert "green" not in mine
    assert ">Owner</bdi> changed this memory" in shown
    assert form_of(answer) == form | {"content_sha256": sha256_hex("green tea\nmilk\n-\nsugar\n")}


def test_saving_again_replaces_just_what_was_shown(
    owner: Site, shelf: Shelf, stale: tuple[Memory, dict[str, str]]
) -> None:
    memory, form = stale
    again = form_of(owner.post(url_of(shelf, memory, "/edit"), form))
    shelf.update(memory, content="third\n")
    third = owner.post(url_of(shelf, memory, "/edit"), again)
    assert third.status_code == 409, "it changed once more"
    assert owner.post(url_of(shelf, memory, "/edit"), form_of(third)).status_code == 302
    assert texts(shelf)[0] == "tea\nmilk\n-\nno sugar <b>\n"


def test_changes_that_do_not_touch_are_put_together(
    owner: Site, shelf: Shelf, stale: tuple[Memory, dict[str, str]]
) -> None:
    memory, form = stale
    assert "do not touch each other" in owner.post(url_of(shelf, memory, "/edit"), form).content.decode()
    before = shelf.state()
    merged = owner.post(url_of(shelf, memory, "/edit"), form | {"use": "both"})
    assert merged.status_code == 200
    assert shelf.state() == before, "nothing is saved before it was read"
    fields = form_of(merged)
    assert fields["content"] == "green tea\r\nmilk\r\n-\r\nno sugar <b>\r\n"
    assert owner.post(url_of(shelf, memory, "/edit"), fields).status_code == 302
    assert texts(shelf)[0] == "green tea\nmilk\n-\nno sugar <b>\n"


def test_changes_of_one_place_are_marked(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="theirs\n")
    merged = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "mine\r\n", "use": "both"})
    assert "You both changed 1 place:" in merged.content.decode()
    assert MARK_MINE.strip() in form_of(merged)["content"]
    assert 'name="use" value="merged"' in merged.content.decode()


def test_marks_of_a_conflict_are_not_saved_by_an_oversight(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="theirs\n")
    edit = url_of(shelf, memory, "/edit")
    merged = form_of(owner.post(edit, form | {"content": "mine\r\n", "use": "both"})) | {"use": "merged"}
    refused = owner.post(edit, merged)
    assert refused.status_code == 400
    assert "Both changes still stand between marks" in refused.content.decode()
    assert form_of(refused)["content"] == merged["content"]
    assert 'name="use" value="merged"' in refused.content.decode()
    assert texts(shelf)[0] == "theirs\n"
    assert owner.post(edit, merged | {"content": "both\r\n"}).status_code == 302
    assert texts(shelf)[0] == "both\n"


def test_a_text_that_quotes_marks_is_saved(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    quoted = f"{MARK_MINE}a\n"
    assert owner.post(url_of(shelf, memory, "/edit"), form | {"content": quoted}).status_code == 302
    assert texts(shelf)[0] == quoted


def test_one_who_changed_nothing_is_told_so(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="y\n")
    assert "You changed nothing." in owner.post(url_of(shelf, memory, "/edit"), form).content.decode()


def test_what_another_wrote_just_so_is_saved_already(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="y\n")
    assert owner.post(url_of(shelf, memory, "/edit"), form | {"content": "y\r\n"}).status_code == 302
    assert len(shelf.versions()) == 2


def test_a_redacted_base_is_not_shown(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "leaked-secret\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content="clean\n")
    memory_versions.redact_version(shelf.store_id, form["base"], reason="", actor=shelf.actor)
    for use in ({}, {"use": "both"}):
        answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "typed\r\n"} | use)
        assert answer.status_code == 409
        assert "leaked-secret" not in answer.content.decode()
        assert "has been redacted" in answer.content.decode()
        assert 'value="both"' not in answer.content.decode()
    assert owner.post(url_of(shelf, memory, "/edit"), form_of(answer)).status_code == 302


def test_a_deleted_memory_is_offered_as_a_new_one(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\r\ntwo\r\n")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.delete(memory)
    for use in ({}, {"use": "both"}):
        answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "one\r\n2\r\n"} | use)
        assert answer.status_code in (404, 409)
        assert "deleted this memory" in answer.content.decode()
        fields = form_of(answer)
        assert fields == {"path": "/a.md", "content": "one\r\n2\r\n", "base": form["base"]}
    assert owner.post(f"/stores/{shelf.store_id}/memories/new", fields).status_code == 302
    assert texts(shelf)[0] == "one\r\n2\r\n"


def test_an_edit_of_a_memory_that_moved_is_saved_and_told(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md")
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, path="/moved.md")
    answer = owner.post(url_of(shelf, memory, "/edit"), form | {"content": "new"})
    assert "it is now at /moved.md" in owner.client.get(answer["Location"]).content.decode()


def test_the_base_of_another_memory_is_none(owner: Site, shelf: Shelf) -> None:
    memory, other = shelf.put("/a.md"), shelf.put("/b.md")
    form = form_of(owner.get(url_of(shelf, other, "/edit")))
    assert owner.post(url_of(shelf, memory, "/edit"), form | {"content": "x"}).status_code == 404


# --- its path ---


def test_a_memory_is_moved(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md")
    form = form_of(owner.get(url_of(shelf, memory, "/move")))
    assert form["path"] == "/a.md"
    assert owner.post(url_of(shelf, memory, "/move"), form | {"path": "/b/c.md"}).status_code == 302
    assert shelf.paths() == ["/b/c.md"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("b.md", 400, "It must start with /"),
        ("", 400, "Give the memory a path."),
        ("/taken.md", 409, "is taken"),
    ],
)
def test_a_refused_move_keeps_the_typed_path(
    owner: Site, shelf: Shelf, path: str, status: int, said: str
) -> None:
    memory = shelf.put("/a.md")
    shelf.put("/taken.md")
    form = form_of(owner.get(url_of(shelf, memory, "/move")))
    answer = owner.post(url_of(shelf, memory, "/move"), form | {"path": path})
    assert answer.status_code == status
    assert said in answer.content.decode()
    assert form_of(answer) == form | {"path": path}
    assert shelf.paths() == ["/a.md", "/taken.md"]


@pytest.mark.parametrize("change", [{"content": "other"}, {"path": "/elsewhere.md"}])
@pytest.mark.parametrize("page", ["/move", "/delete"])
def test_what_changed_meanwhile_is_neither_moved_nor_deleted(
    owner: Site, shelf: Shelf, page: str, change: dict[str, Any]
) -> None:
    memory = shelf.put("/a.md")
    form = form_of(owner.get(url_of(shelf, memory, page)))
    form |= {"path": "/b.md"} if page == "/move" else {}
    now = shelf.update(memory, **change)
    before = shelf.state()
    answer = owner.post(url_of(shelf, memory, page), form)
    assert answer.status_code == 409
    assert "the memory changed since" in answer.content.decode()
    assert f"<bdi>{now.path}</bdi>" in answer.content.decode()
    assert shelf.state() == before
    again = form_of(answer)
    assert page == "/delete" or again["path"] == "/b.md"
    assert owner.post(url_of(shelf, memory, page), again).status_code == 302
    assert shelf.paths() == (["/b.md"] if page == "/move" else [])


# --- the whole of it ---


def test_a_memory_is_deleted_by_name_and_its_history_stays(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x" * 10)
    asked = owner.get(url_of(shelf, memory, "/delete"))
    assert "Delete <bdi>/a.md</bdi>?" in asked.content.decode()
    answer = owner.post(url_of(shelf, memory, "/delete"), form_of(asked))
    assert answer["Location"] == owner.base + url_of(shelf, memory, "/history")
    assert "The memory is deleted." in owner.client.get(answer["Location"]).content.decode()
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_DELETED, memory.wire_id)
    assert owner.get(url_of(shelf, memory, "/delete")).status_code == 404


@pytest.mark.parametrize("page", ["/edit", "/move", "/delete"])
def test_a_form_that_was_made_up_changes_nothing(owner: Site, shelf: Shelf, page: str) -> None:
    memory = shelf.put()
    form = form_of(owner.get(url_of(shelf, memory, page))) | {"path": "/b.md", "content": "typed"}
    before = shelf.state()
    for name, value in {"content_sha256": "0" * 64}.items():
        assert owner.post(url_of(shelf, memory, page), form | {name: value}).status_code == 409
    for changed in ({}, form | {"content_sha256": "x"}, form | {"base": "", "expected_path": ""}):
        assert owner.post(url_of(shelf, memory, page), changed).status_code in (400, 404)
    assert shelf.state() == before


def test_looking_at_the_pages_changes_nothing(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    before = shelf.state()
    for page in ("/edit", "/move", "/delete", "/raw", ""):
        assert owner.get(url_of(shelf, memory, page)).status_code == 200
    assert shelf.state() == before


def test_typed_markup_comes_back_as_text(owner: Site, shelf: Shelf) -> None:
    payload = "</textarea><script>alert(1)</script>"
    memory = shelf.put("/a.md", payload)
    form = form_of(owner.get(url_of(shelf, memory, "/edit")))
    shelf.update(memory, content=f"other {payload}")
    for answer in (
        owner.get(url_of(shelf, memory, "/edit")),
        owner.post(url_of(shelf, memory, "/edit"), form | {"content": f"mine {payload}"}),
        owner.post(
            f"/stores/{shelf.store_id}/memories/new",
            {"path": f"/{escape(payload)}", "content": payload * 9_000},
        ),
    ):
        assert "<script>alert" not in answer.content.decode()
        assert "alert(1)" in answer.content.decode()


def test_a_developer_edits_and_a_reviewer_may_not(tenant: Tenant, shelf: Shelf) -> None:
    memory = shelf.put()
    for role, status in (("developer", 200), ("reviewer", 403)):
        site = sign_in(add_person(tenant, role), tenant.project)
        assert site.get(url_of(shelf, memory, "/edit")).status_code == status
        offered = f'href="{site.base}{url_of(shelf, memory, "/edit")}"'
        assert (offered in site.get(url_of(shelf, memory)).content.decode()) == (status == 200)

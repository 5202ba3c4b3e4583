"""The pages of the stores: each shows what it is for, and each change is the verb's."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from memoryhub import audit
from memoryhub.audit import AuditAction
from memoryhub.models import User
from stores import memory_versions, totals
from stores.limits import STORE_DESCRIPTION_LENGTH_MAX, STORE_NAME_LENGTH_MAX
from stores.models import MemoryStore
from tests.console.site import Site, add_person, sign_in
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, Tenant


def pages_of(shelf: Shelf) -> list[str]:
    """Every page that shows this store, by its path below the environment; the store has one memory at least."""
    version = shelf.versions()[0]
    memory = f"/stores/{shelf.store_id}/memories/{version.memory_wire_id}"
    store = f"/stores/{shelf.store_id}"
    return [
        "",
        "/search",
        "/stores",
        store,
        f"{store}/archive",
        f"{store}/memories/new",
        f"{store}/settings",
        f"{store}/retention",
        f"{store}/delete",
        f"{store}/upload",
        memory,
        f"{memory}/edit",
        f"{memory}/move",
        f"{memory}/delete",
        f"{memory}/history",
        f"{store}/versions/{version.wire_id}",
        f"{store}/versions/{version.wire_id}/restore",
        f"{store}/versions/{version.wire_id}/redact",
        f"{store}/history",
        f"{store}/as-it-was?at=2100-01-01T00:00:00Z",
        f"{store}/compare?after={version.wire_id}",
        f"{store}/find",
    ]


def test_every_page_has_one_heading_and_no_inline_script_or_style(owner: Site, shelf: Shelf) -> None:
    shelf.put()
    for path in [*pages_of(shelf), "/stores/new"]:
        answer = owner.get(path)
        assert answer.status_code == 200, path
        assert answer.content.count(b"<h1") == 1, path
        assert not re.search(rb"<style|<script(?![^>]* src=)|\son[a-z]+=|\sstyle=", answer.content), path


def test_the_overview_counts_the_stores_of_this_environment(
    owner: Site, shelf: Shelf, tenant: Tenant
) -> None:
    shelf.put()
    audit.seal_all()
    totals.count_totals()
    panel = " ".join(owner.get().content.decode().split())
    assert "<dt>store</dt><dd>1</dd>" in panel
    assert "<dt>memory</dt><dd>1</dd>" in panel
    other = sign_in(tenant.owner, tenant.project, "production").get()
    assert b"<dt>stores</dt><dd>0</dd>" in other.content


def test_the_list_shows_what_a_store_holds_and_who_changed_it(
    owner: Site, shelf: Shelf, tenant: Tenant
) -> None:
    shelf.put("/a.md", "x" * 10)
    shelf.put("/b.md", "x" * 20)
    row = owner.get("/stores").content.decode().partition("<tbody>")[2]
    assert '<td class="number">2</td>' in row
    assert "30 bytes" in row
    assert f'<bdi title="{tenant.owner.wire_id}">Owner</bdi>' in row


def test_an_archived_store_is_listed_as_one(owner: Site, shelf: Shelf) -> None:
    shelf.archive()
    assert "Archived</span>" in owner.get("/stores").content.decode().partition("<tbody>")[2]


def test_one_who_left_the_project_is_shown_by_id(viewer: Site, shelf: Shelf, tenant: Tenant) -> None:
    shelf.put()
    tenant.project.memberships.filter(user=tenant.owner).delete()
    row = viewer.get("/stores").content.decode().partition("<tbody>")[2]
    assert f'data-copy="{tenant.owner.wire_id}"' in row
    assert ">Owner<" not in row


def test_an_empty_list_says_what_a_store_is_for(owner: Site) -> None:
    answer = owner.get("/stores").content.decode()
    assert "No store yet" in answer
    assert "/v1/memory_stores" in answer


def test_a_created_store_is_shown(owner: Site, tenant: Tenant) -> None:
    answer = owner.post("/stores/new", {"name": "Notes", "description": "one\r\ntwo"})
    store = MemoryStore.objects.get(project=tenant.project)
    assert (store.name, store.description, store.environment_id) == (
        "Notes",
        "one\ntwo",
        tenant.development.id,
    )
    assert answer["Location"] == f"{owner.base}/stores/{store.wire_id}"
    assert b"The store is created." in owner.client.get(answer["Location"]).content


REFUSED = {
    "no name": {"name": "", "description": "kept <text>"},
    "one past the name": {"name": "n" * (STORE_NAME_LENGTH_MAX + 1), "description": "kept <text>"},
    "a control character": {"name": "a\x07b", "description": "kept <text>"},
    "one past the description": {
        "name": "kept <name>",
        "description": "d" * (STORE_DESCRIPTION_LENGTH_MAX + 1),
    },
}


@pytest.mark.parametrize("form", REFUSED.values(), ids=REFUSED)
def test_a_refused_form_keeps_the_typed_text_beside_the_reason(
    owner: Site, tenant: Tenant, form: dict[str, str]
) -> None:
    answer = owner.post("/stores/new", form)
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert 'aria-invalid="true"' in shown
    assert all(escape(text) in shown for text in form.values())
    assert shown.count('class="problem"') == 1
    assert "This field is required." not in shown
    assert not MemoryStore.objects.filter(project=tenant.project).exists()


def test_a_name_at_the_limit_is_kept(owner: Site, tenant: Tenant) -> None:
    assert owner.post("/stores/new", {"name": "n" * STORE_NAME_LENGTH_MAX}).status_code == 302
    assert len(MemoryStore.objects.get(project=tenant.project).name) == STORE_NAME_LENGTH_MAX


def test_files_are_shown_one_directory_at_a_time(owner: Site, shelf: Shelf) -> None:
    for path in ("/top.md", "/deep/er/in.md"):
        shelf.put(path)
    store = f"/stores/{shelf.store_id}"
    root = owner.get(store).content.decode()
    assert "top.md" in root
    assert "in.md" not in root
    assert "?directory=%2Fdeep%2F" in root
    assert "in.md" in owner.get(store, directory="/deep/er/").content.decode()
    assert owner.get(store, directory="deep").status_code == 400


def test_the_next_page_of_files_goes_on(owner: Site, shelf: Shelf) -> None:
    shelf.fill([f"/{number:02}.md" for number in range(25)])
    first = owner.get(f"/stores/{shelf.store_id}").content.decode()
    following = re.search(r'href="[^"]*\?page=([^"]+)" rel="next"', first)
    assert following
    second = owner.get(f"/stores/{shelf.store_id}", page=following[1]).content.decode()
    assert "19.md" in first
    assert "20.md" not in first
    assert "24.md" in second
    assert owner.get(f"/stores/{shelf.store_id}", page="page_nonsense").status_code == 400


def test_a_search_marks_what_it_found(owner: Site, shelf: Shelf) -> None:
    shelf.put("/tea.md", "She likes green tea & <b>no</b> milk")
    found = owner.get(f"/stores/{shelf.store_id}", q="tea").content.decode()
    assert "green <mark>tea</mark> &amp; &lt;b&gt;no&lt;/b&gt;" in found
    assert "Nothing found" in owner.get(f"/stores/{shelf.store_id}", q="coffee").content.decode()


def test_a_query_that_is_too_long_stays_in_its_field(owner: Site, shelf: Shelf) -> None:
    answer = owner.get(f"/stores/{shelf.store_id}", q="q" * 5_000)
    assert answer.status_code == 400
    assert "q" * 5_000 in answer.content.decode()


def test_a_store_is_frozen_unfrozen_and_archived(owner: Site, shelf: Shelf) -> None:
    url = f"/stores/{shelf.store_id}"
    for action in ("freeze", "unfreeze", "archive"):
        assert owner.post(f"{url}/{action}")["Location"] == owner.base + url
    assert shelf.audit()[-3:] == [
        audited(action, shelf.store_id)
        for action in (
            AuditAction.MEMORY_STORE_FROZEN,
            AuditAction.MEMORY_STORE_UNFROZEN,
            AuditAction.MEMORY_STORE_ARCHIVED,
        )
    ]
    shown = owner.get(url).content.decode()
    assert "Archived</span>" in shown
    assert "Archive…" not in shown


def test_looking_at_a_change_changes_nothing(owner: Site, shelf: Shelf) -> None:
    before = shelf.state()
    assert owner.get(f"/stores/{shelf.store_id}/freeze").status_code == 405
    assert owner.get(f"/stores/{shelf.store_id}/archive").status_code == 200
    assert shelf.state() == before


def test_a_memory_shows_its_lines_writer_and_versions(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "first\n")
    shelf.update(memory, content="one\ntwo\n")
    shown = owner.get(f"/stores/{shelf.store_id}/memories/{memory.wire_id}").content.decode()
    assert "<span>one</span><span>two</span></div>" in shown
    assert shown.count("/versions/memver_") == 2
    assert ">Owner</bdi>" in shown


def test_a_memory_is_frozen_and_unfrozen(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    url = f"/stores/{shelf.store_id}/memories/{memory.wire_id}"
    owner.post(f"{url}/freeze")
    assert b"Frozen</span>" in owner.get(url).content
    owner.post(f"{url}/unfreeze")
    assert b"Frozen</span>" not in owner.get(url).content


def test_an_older_version_says_so(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "the old text")
    shelf.update(memory, content="the new text")
    newest, oldest = (version.wire_id for version in shelf.versions())
    shown = owner.get(f"/stores/{shelf.store_id}/versions/{oldest}").content.decode()
    assert "the old text" in shown
    assert "This is an older version" in shown
    assert "older version" not in owner.get(f"/stores/{shelf.store_id}/versions/{newest}").content.decode()


def test_history_tells_who_did_what_and_by_how_much(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x" * 10)
    shelf.update(memory, content="x" * 25)
    shelf.update(memory, content="x" * 5)
    url = f"/stores/{shelf.store_id}/memories/{memory.wire_id}"
    shown = owner.get(f"{url}/history").content.decode()
    assert re.findall(r"[+−]\d+ bytes", shown) == ["−20 bytes", "+15 bytes", "+10 bytes"]
    shelf.delete(memory)
    assert owner.get(url).status_code == 404
    after = owner.get(f"{url}/history").content.decode()
    assert "Deleted</span>" in after
    assert f'href="{owner.base}{url}"' not in after, "it is gone"


def test_history_tells_of_a_move_once(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md")
    shelf.update(memory, path="/moved.md")
    shelf.update(memory, content="more")
    shown = owner.get(f"/stores/{shelf.store_id}/memories/{memory.wire_id}/history").content.decode()
    assert shown.count("Moved to <code><bdi>/moved.md</bdi>") == 1


def test_a_writer_with_a_key_is_shown_by_the_keys_name(owner: Site, shelf: Shelf, call: Caller) -> None:
    memory = call("POST", shelf.memories_url, {"path": "/a.md", "content": "x"}).body
    shown = owner.get(f"/stores/{shelf.store_id}/memories/{memory['id']}").content.decode()
    assert re.search(r'by the key <bdi title="apikey_[0-9a-f]{32}">admin</bdi>', shown)


def test_growth_is_right_across_pages(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x")
    for size in range(2, 23):
        shelf.update(memory, content="x" * size)
    url = f"/stores/{shelf.store_id}/memories/{memory.wire_id}/history"
    first = owner.get(url).content.decode()
    assert len(re.findall(r"\+1 byte<", first)) == 20


def test_a_redacted_version_shows_nothing_of_its_text(owner: Site, viewer: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "leaked-secret")
    shelf.update(memory, content="clean")
    old = shelf.versions()[1].wire_id
    memory_versions.redact_version(shelf.store_id, old, reason=None, actor=shelf.actor)
    for path in (f"/versions/{old}", f"/memories/{memory.wire_id}", f"/memories/{memory.wire_id}/history"):
        for site in (owner, viewer):
            answer = site.get(f"/stores/{shelf.store_id}{path}")
            assert answer.status_code == 200
            assert b"leaked-secret" not in answer.content
    assert (
        b"size change no longer known"
        in owner.get(f"/stores/{shelf.store_id}/memories/{memory.wire_id}").content
    )


def test_pages_make_as_many_queries_for_200_memories_as_for_10(owner: Site, shelf: Shelf) -> None:
    def counts() -> list[int]:
        found = []
        for path in pages_of(shelf):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert owner.get(path).status_code == 200
            found.append(len(queries))
        return found

    shelf.fill([f"/{number:03}.md" for number in range(10)])
    few = counts()
    shelf.fill([f"/{number:03}.md" for number in range(10, 200)])
    assert counts() == few
    assert max(few) < 40  # the overview asks every room


PAYLOAD = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 }}"


def test_text_of_agents_is_never_markup(owner: Site, tenant: Tenant) -> None:
    owner.post("/stores/new", {"name": PAYLOAD, "description": PAYLOAD})
    shelf = Shelf(MemoryStore.objects.get(project=tenant.project).wire_id, tenant.actor)
    shelf.put(f"/{PAYLOAD.replace('/', '')}/a.md", PAYLOAD)
    User.objects.filter(id=tenant.owner.id).update(name=PAYLOAD)
    store = f"/stores/{shelf.store_id}"
    directory = f"/{PAYLOAD.replace('/', '')}/"
    answers = [owner.get(path) for path in pages_of(shelf)]
    answers += [owner.get(store, directory=directory), owner.get(store, q=f"alert {PAYLOAD}")]
    answers += [owner.post("/stores/new", {"name": PAYLOAD, "description": PAYLOAD + "d" * 2_000})]
    for answer in answers:
        shown = answer.content.decode()
        assert (
            "alert(1)" in shown
            or re.search("<h1>(Stores|Search)", shown)
            or answer.request["PATH_INFO"] == owner.base
        )
        assert "<script>alert" not in shown
        assert "<img" not in shown


def test_colleagues_names_are_shown_and_their_addresses_are_not(
    viewer: Site, tenant: Tenant, shelf: Shelf
) -> None:
    shelf.put()
    for path in pages_of(shelf):
        assert tenant.owner.email.encode() not in viewer.get(path).content


def test_a_developer_creates_and_a_reviewer_may_not(tenant: Tenant) -> None:
    for role, status in (("developer", 302), ("reviewer", 403)):
        site = sign_in(add_person(tenant, role), tenant.project)
        assert site.post("/stores/new", {"name": "Notes"}).status_code == status

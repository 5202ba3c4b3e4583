"""The pages that make the hub forget: find a text in all versions, erase it everywhere, see what was erased."""

import re
from html import unescape
from typing import Any

import pytest

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from providers import declared
from stores import memory_stores, redaction_runs, redactions
from stores.models import Memory, MemoryVersion
from stores.reasons import REASON_LENGTH_MAX
from stores.redactions import CONTAINS_LENGTH_MAX
from tests.console.site import Site, add_person, sign_in
from tests.console.test_history_pages import text_of
from tests.providers.desk import Desk
from tests.providers.manifests import connection, http_resource
from tests.providers.test_endpoint_wire import Host
from tests.stores.shelf import Shelf
from tests.stores.test_redactions import tables_that_hold
from tests.world import Tenant

CANARY = "canary7f3a canary9b1c"


@pytest.fixture
def other(tenant: Tenant, shelf: Shelf) -> Shelf:
    """A second store of the environment."""
    created = memory_stores.create_store(
        environment="development", name="Other", description="", metadata={}, actor=tenant.actor
    )
    return Shelf(created.wire_id, tenant.actor)


def form_of(page: Any, action: str) -> dict[str, str]:
    """The fields that a form of the page would send, as its inputs stand."""
    shown = page.content.decode()
    found = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', shown, re.DOTALL)
    assert found, f"no form to {action}"
    fields: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", found[0]):
        attributes = dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
        if attributes.get("type") != "radio" or " checked" in tag:
            fields[attributes["name"]] = unescape(attributes.get("value", ""))
    return fields


def find_url(shelf: Shelf | None) -> str:
    return "/redactions/find" if shelf is None else f"/stores/{shelf.store_id}/find"


def redact_url(shelf: Shelf | None) -> str:
    return "/redactions/new" if shelf is None else f"/stores/{shelf.store_id}/redact"


def plan(owner: Site, shelf: Shelf | None, text: str = CANARY) -> Any:
    """From the page that finds to the one that shows what would go, as a person goes."""
    found = owner.post(find_url(shelf), {"sought-contains": text})
    assert found.status_code == 200, text_of(found)
    return owner.post(redact_url(shelf), form_of(found, owner.base + redact_url(shelf)))


def carry_out(owner: Site, shelf: Shelf | None, planned: Any, **fields: str) -> Any:
    chosen = {f"sought-{name}": value for name, value in fields.items()}
    return owner.post(redact_url(shelf), form_of(planned, owner.base + redact_url(shelf)) | chosen)


# --- one version ---


def version_url(version: MemoryVersion) -> str:
    return f"/stores/{'memstore_' + version.store_id.hex}/versions/{version.wire_id}"


def test_a_version_is_redacted_with_a_reason(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "hunter2-hunter2\n")
    shelf.update(memory, content="clean\n")
    old = shelf.versions()[1]
    page = owner.get(version_url(old)).content.decode()
    assert f'href="{owner.base}{version_url(old)}/redact" data-confirm' in page
    answer = owner.post(f"{version_url(old)}/redact", {"reason": "ticket 12"})
    assert answer["Location"] == owner.base + version_url(old)
    event = AuditEvent.objects.get(action=AuditAction.MEMORY_VERSION_REDACTED)
    assert event.details == {"memory_id": memory.wire_id, "reason": "ticket 12"}
    assert "The version is redacted" in text_of(owner.client.get(answer["Location"]))
    assert tables_that_hold("hunter2-hunter2") == []


REPEATING = {
    "a line": "erase hunter2-hunter2 at once",
    "the path": "stood at /keys/acme.md",
    "the digest": sha256_hex("the password:\nhunter2-hunter2\nAKIA1234567890 is the key\n"),
    "what looks like a secret": "key AKIA1234567890.",
}


@pytest.mark.parametrize("reason", REPEATING.values(), ids=REPEATING)
def test_a_reason_that_repeats_the_text_stays_in_its_field(owner: Site, shelf: Shelf, reason: str) -> None:
    memory = shelf.put("/keys/acme.md", "the password:\nhunter2-hunter2\nAKIA1234567890 is the key\n")
    shelf.update(memory, content="clean\n")
    old, before = shelf.versions()[1], shelf.state()
    answer = owner.post(f"{version_url(old)}/redact", {"reason": reason})
    assert answer.status_code == 400
    assert "It repeats what is to be erased" in text_of(answer)
    assert f'value="{reason}"' in answer.content.decode()
    assert shelf.state() == before


def test_a_reason_has_its_limit(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "secret\n")
    shelf.update(memory, content="clean\n")
    old = shelf.versions()[1]
    too_long = owner.post(f"{version_url(old)}/redact", {"reason": "r" * (REASON_LENGTH_MAX + 1)})
    assert too_long.status_code == 400
    assert owner.post(f"{version_url(old)}/redact", {"reason": "r" * REASON_LENGTH_MAX}).status_code == 302


def test_the_current_text_cannot_be_redacted_and_the_page_leads_on(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", f"{CANARY}\n")
    head = shelf.versions()[0]
    page = owner.get(f"{version_url(head)}/redact")
    assert "First write a newer text , or delete the memory ." in text_of(page)
    for change in ("edit", "delete"):
        url = f"{owner.base}/stores/{shelf.store_id}/memories/{memory.wire_id}/{change}"
        assert f'href="{url}"'.encode() in page.content
        assert owner.client.get(url).status_code == 200
    assert b"Redact this version</button>" not in page.content
    copies = form_of(page, owner.base + find_url(shelf))
    assert "1 version holds it" in text_of(owner.post(find_url(shelf), copies))
    answer = owner.post(f"{version_url(head)}/redact")
    assert (answer.status_code, shelf.versions()[0].redacted_at) == (400, None)
    shelf.archive()
    page = owner.get(f"{version_url(head)}/redact")
    assert "It goes only with the whole store." in text_of(page)
    assert f'/{memory.wire_id}/edit"'.encode() not in page.content


def test_a_redacted_version_is_not_offered_again(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "secret\n")
    shelf.update(memory, content="clean\n")
    old = shelf.versions()[1]
    owner.post(f"{version_url(old)}/redact")
    assert b"Redact\xe2\x80\xa6" not in owner.get(version_url(old)).content
    assert "is redacted already" in text_of(owner.get(f"{version_url(old)}/redact"))


# --- find ---


def test_a_text_is_found_in_former_and_current_texts_and_in_paths(
    owner: Site, viewer: Site, shelf: Shelf, other: Shelf
) -> None:
    memory = shelf.put("/a.md", f"before {CANARY} after")
    shelf.update(memory, content="clean")
    other.put(f"/{CANARY}/x", "y")
    for site in (owner, viewer):
        here = site.post(find_url(shelf), {"sought-contains": CANARY})
        everywhere = site.post(find_url(None), {"sought-contains": CANARY})
        assert "1 version holds it" in text_of(here)
        assert "Former version" in text_of(here)
        assert "2 versions hold it" in text_of(everywhere)
        assert "Current text" in text_of(everywhere)
        for answer in (here, everywhere):
            assert CANARY not in answer.request["PATH_INFO"] + answer.request["QUERY_STRING"]
            assert (b"Redact everywhere" in answer.content) is (site is owner)
    assert "Found nowhere" in text_of(owner.post(find_url(shelf), {"sought-contains": "nowhere at all"}))


def test_a_text_is_found_as_a_textarea_sends_it(owner: Site, shelf: Shelf) -> None:
    shelf.put("/a.md", "-----BEGIN\nKEY-----\n")
    found = owner.post(find_url(shelf), {"sought-contains": "-----BEGIN\r\nKEY-----\r\n"})
    assert "1 version holds it" in text_of(found)
    planned = owner.post(redact_url(shelf), form_of(found, owner.base + redact_url(shelf)))
    assert "1 current text holds it" in text_of(planned)


def test_copies_are_found_by_their_digest(owner: Site, shelf: Shelf, other: Shelf) -> None:
    shelf.put("/a.md", CANARY)
    other.put("/b.md", CANARY)
    other.put("/c.md", f"{CANARY}.")
    found = owner.post(find_url(None), {"sought-content_sha256": sha256_hex(CANARY)})
    assert "2 versions hold it" in text_of(found)


REFUSED = {
    "nothing": ({}, "Type the text to look for, or else"),
    "both": (
        {"sought-contains": CANARY, "sought-content_sha256": "0" * 64},
        "Type the text to look for, or else",
    ),
    "too short": ({"sought-contains": "a b"}, "at least 4 characters"),
    "one past the longest": ({"sought-contains": "<b>" + "x" * (CONTAINS_LENGTH_MAX - 2)}, "1024"),
    "no digest": ({"sought-content_sha256": "<b>"}, "64"),
    "a foreign cursor": (
        {"sought-contains": CANARY, "sought-page": "page_x"},
        "not the text that was looked for before",
    ),
}


@pytest.mark.parametrize(("fields", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_looked_for_stays_in_its_field(
    owner: Site, shelf: Shelf, fields: dict[str, str], sentence: str
) -> None:
    for url in (find_url(shelf), redact_url(shelf)):
        answer = owner.post(url, fields)
        assert answer.status_code == 400
        assert sentence in text_of(answer)
        shown = unescape(answer.content.decode())
        assert all(value in shown for name, value in fields.items() if name != "sought-page")


def test_found_versions_go_on_page_by_page_without_the_text_in_a_url(
    owner: Site, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactions, "SCAN_VERSIONS_MAX", 30)
    shelf.fill([f"/{number:03}.md" for number in range(45)], CANARY)
    shelf.fill([f"/clean/{number:03}.md" for number in range(95)])
    first = owner.post(
        find_url(shelf), {"sought-contains": CANARY}
    )  # three parts hold nothing, and are passed over
    seen, page = [], first
    while True:
        seen += re.findall(r"<bdi>/(\d+)\.md</bdi>", page.content.decode())
        if b"Next page" not in page.content:
            break
        page = owner.post(find_url(shelf), form_of(page, owner.base + find_url(shelf)) | next_of(page))
    assert sorted(seen) == [f"{number:03}" for number in range(45)]
    assert b"Some of the versions" in first.content


def next_of(page: Any) -> dict[str, str]:
    cursors = re.findall(r'name="sought-page" value="(page_[^"]+)"', page.content.decode())
    return {"sought-contains": CANARY, "sought-page": cursors[-1]}


# --- redact everywhere ---


def fill_with_canary(shelf: Shelf, other: Shelf) -> None:
    memory = shelf.put("/a.md", CANARY)
    shelf.update(memory, path=f"/{CANARY}/b")
    shelf.update(memory, content=f"say {CANARY}")
    shelf.update(memory, content="clean", path="/a.md")
    shelf.delete(shelf.put("/gone.md", CANARY))
    other.put("/c.md", CANARY)


def reachable(site: Site, start: str) -> dict[str, bytes]:
    """Every page that links lead to from one, and what it holds; exports too."""
    seen: dict[str, bytes] = {}
    waiting = [start]
    while waiting:
        url = waiting.pop()
        if url not in seen:
            answer = site.client.get(url)
            assert answer.status_code == 200, url
            seen[url] = answer.getvalue()
            waiting += [unescape(link.decode()) for link in re.findall(rb'href="(/p/[^"#]*)"', seen[url])]
    return seen


def test_a_leaked_text_is_gone_from_every_page(owner: Site, shelf: Shelf, other: Shelf) -> None:
    fill_with_canary(shelf, other)
    words = [CANARY, CANARY.split()[0], sha256_hex(CANARY)]
    first = owner.get(version_url(shelf.versions()[-1])).content
    assert all(word.encode() in first for word in words)  # else the search would find nothing anyway
    planned = plan(owner, None)
    assert "4 former versions will lose their texts" in text_of(planned)
    assert "1 current text holds it" in text_of(planned)
    done = carry_out(owner, None, planned, heads="delete", reason="a leaked word")
    assert done.status_code == 200
    assert "5 versions redacted" in text_of(done)
    assert "1 memory was deleted" in text_of(done)
    pages = {"done": done.content} | reachable(owner, f"{owner.base}/stores/{shelf.store_id}")
    assert len(pages) > 30
    assert [url for url, page in pages.items() if any(word.encode() in page for word in words)] == []
    assert {word: tables_that_hold(word) for word in words} == {word: [] for word in words}
    assert "Found nowhere" in text_of(owner.post(find_url(None), {"sought-contains": CANARY}))


def test_looking_at_the_plan_changes_nothing(owner: Site, shelf: Shelf, other: Shelf) -> None:
    fill_with_canary(shelf, other)
    before = [shelf.state(), other.state()]
    assert plan(owner, None).status_code == 200
    assert owner.get(redact_url(None)).status_code == 200
    assert [shelf.state(), other.state()] == before


def test_current_texts_are_left_and_named_unless_told_otherwise(
    owner: Site, shelf: Shelf, other: Shelf
) -> None:
    fill_with_canary(shelf, other)
    done = carry_out(owner, None, plan(owner, None))
    shown = text_of(done)
    assert "4 versions redacted" in shown
    assert "1 current text still holds it" in shown
    kept = other.versions()[0]
    assert f"/memories/{kept.memory_wire_id}".encode() in done.content
    assert CANARY.encode() not in done.content
    assert kept.content == CANARY


def test_an_archived_store_keeps_its_current_text_and_the_page_says_so(
    owner: Site, shelf: Shelf, other: Shelf
) -> None:
    fill_with_canary(shelf, other)
    other.archive()
    planned = plan(owner, None)
    assert "1 of them stands in an archived store" in text_of(planned)
    done = carry_out(owner, None, planned, heads="delete")
    assert "1 current text still holds it, 1 of them in an archived store" in text_of(done)


@pytest.mark.parametrize("change", ["one more", "one became a former version", "one less"])
def test_what_was_found_and_changed_meanwhile_comes_back(
    owner: Site, shelf: Shelf, other: Shelf, change: str
) -> None:
    fill_with_canary(shelf, other)
    planned = plan(owner, None)
    if change == "one more":
        shelf.put("/new.md", CANARY)
    elif change == "one less":
        owner.post(f"{version_url(shelf.versions()[-1])}/redact")
    else:
        other.delete(Memory.objects.get(store=other.store))
    before = [shelf.state(), other.state()]
    answer = carry_out(owner, None, planned, heads="delete", reason="typed before")
    assert answer.status_code == 409
    assert "changed since it was shown, so nothing was redacted" in text_of(answer)
    assert 'value="typed before"' in answer.content.decode()
    assert [shelf.state(), other.state()] == before
    again = form_of(answer, owner.base + redact_url(None)) | {"sought-heads": "delete"}
    assert owner.post(redact_url(None), again).status_code == 200
    assert tables_that_hold(CANARY) == []


def test_a_reason_that_repeats_the_text_comes_back_with_the_choice(
    owner: Site, shelf: Shelf, other: Shelf
) -> None:
    fill_with_canary(shelf, other)
    before = [shelf.state(), other.state()]
    answer = carry_out(owner, None, plan(owner, None), heads="delete", reason=f"see {CANARY}")
    assert answer.status_code == 400
    assert "It repeats what is to be erased" in text_of(answer)
    assert re.search(r'value="delete"[^>]* checked', answer.content.decode())
    assert [shelf.state(), other.state()] == before


def test_a_run_of_several_parts_does_what_it_showed(
    owner: Site, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactions, "REDACTION_VERSIONS_MAX", 3)
    memory = shelf.put("/a.md", f"{CANARY} 0")
    for number in range(1, 10):
        shelf.update(memory, content=f"{CANARY} {number}")
    planned = plan(owner, shelf)
    assert "9 former versions will lose" in text_of(planned)
    assert "10 versions redacted" in text_of(carry_out(owner, shelf, planned, heads="delete"))
    assert tables_that_hold(CANARY) == []


def test_a_run_that_is_cut_goes_on_with_the_same_text_typed_again(
    owner: Site, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactions, "REDACTION_VERSIONS_MAX", 2)
    monkeypatch.setattr(redaction_runs, "RUN_VERSIONS_MAX", 4)
    memory = shelf.put("/a.md", f"{CANARY} 0")
    for number in range(1, 6):
        shelf.update(memory, content=f"{CANARY} {number}")
    planned = plan(owner, shelf)
    assert "as much as one run looks at" in text_of(planned)
    done = carry_out(owner, shelf, planned)
    assert "A part of the history was not looked at" in text_of(done)
    assert CANARY.encode() not in done.content
    form = form_of(done, owner.base + redact_url(shelf))
    assert "not the text that was looked for before" in text_of(
        owner.post(redact_url(shelf), form | {"sought-contains": "another text"})
    )
    rest = owner.post(redact_url(shelf), form | {"sought-contains": CANARY})
    assert "2 former versions will lose" in text_of(rest)
    assert "2 versions redacted" in text_of(carry_out(owner, shelf, rest))
    assert [version.content for version in shelf.versions() if version.content] == [f"{CANARY} 5"]


def test_nothing_is_erased_that_was_not_shown(
    owner: Site, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text written between the last look at the plan and the run: the run stops, and touches nothing of it."""
    memory = shelf.put("/a.md", CANARY)
    shelf.update(memory, content="clean")
    planned = plan(owner, shelf)
    looked = redaction_runs.plan_run

    def look_and_write(*args: Any, **options: Any) -> Any:
        found = looked(*args, **options)
        if not shelf.paths()[1:]:
            shelf.put("/late.md", CANARY)
        return found

    monkeypatch.setattr(redaction_runs, "plan_run", look_and_write)
    answer = carry_out(owner, shelf, planned, heads="delete")
    assert answer.status_code == 409
    assert shelf.paths() == ["/a.md", "/late.md"]
    assert all(version.redacted_at is None for version in shelf.versions())


@pytest.mark.parametrize("role", ["developer", "reviewer", "viewer"])
def test_others_see_the_finding_and_may_not_redact_everywhere(
    tenant: Tenant, shelf: Shelf, role: str
) -> None:
    site = sign_in(add_person(tenant, role), tenant.project)
    shelf.put("/a.md", CANARY)
    found = site.post(find_url(shelf), {"sought-contains": CANARY})
    assert "1 version holds it" in text_of(found)
    assert b"Redact everywhere" not in found.content
    before = shelf.state()
    for url in (redact_url(shelf), redact_url(None)):
        answer = site.post(url, {"sought-contains": CANARY, "expected_plan": "0" * 64})
        assert answer.status_code == 403
        assert CANARY.encode() not in answer.content
    assert shelf.state() == before


# --- the list ---


def test_the_list_tells_who_when_and_why(owner: Site, viewer: Site, shelf: Shelf, other: Shelf) -> None:
    assert "Nothing is redacted here" in text_of(owner.get("/redactions"))
    fill_with_canary(shelf, other)
    owner.post(f"{version_url(shelf.versions()[-1])}/redact")
    carry_out(owner, None, plan(owner, None), heads="delete", reason="a <b>leak</b>")
    for site in (owner, viewer):
        page = site.get("/redactions").content.decode().partition("<tbody>")[2]
        assert page.count("<tr>") == 5  # the version of the deletion of /c.md holds no text, and stays
        assert page.count("a &lt;b&gt;leak&lt;/b&gt;") == 4
        assert ">Owner</bdi>" in page
    links = re.findall(r'href="([^"]*/versions/[^"]+)"', page)
    assert all(viewer.client.get(link).status_code == 200 for link in links)


def test_the_list_is_of_one_environment_and_goes_on(owner: Site, shelf: Shelf, tenant: Tenant) -> None:
    memory = shelf.put("/a.md", f"{CANARY} 0")
    for number in range(1, 25):
        shelf.update(memory, content=f"{CANARY} {number}")
    carry_out(owner, shelf, plan(owner, shelf))
    first = owner.get("/redactions").content.decode()
    following = re.search(r'href="[^"]*\?page=([^"]+)" rel="next"', first)
    assert following
    second = owner.get("/redactions", page=following[1]).content.decode()
    rows = [re.findall(r'href="[^"]*/versions/([^"]+)"', page) for page in (first, second)]
    assert (len(rows[0]), len(rows[1]), len({*rows[0], *rows[1]})) == (20, 4, 24)
    production = sign_in(tenant.owner, tenant.project, "production")
    assert "Nothing is redacted here" in text_of(production.get("/redactions"))
    assert production.get("/redactions", page=following[1]).status_code == 400


# --- beside versions ---


def bind_elsewhere(tenant: Tenant) -> None:
    """A session on a namespace of another service, which is not called."""
    declared.declare_resource(
        environment="development",
        resource=http_resource(),
        connection=connection(),
        acknowledge_endpoint_change=False,
        actor=tenant.actor,
    )
    Desk(tenant).open({"knowledge": {"scope": "namespace", "id": "tenant-17"}})


@pytest.mark.parametrize("heads", ["refuse", "delete"])
def test_a_text_that_only_hosts_keep_is_found_and_redacted(owner: Site, tenant: Tenant, heads: str) -> None:
    host = Host(tenant)
    host.remember(CANARY)
    bind_elsewhere(tenant)
    found = text_of(owner.post(find_url(None), {"sought-contains": CANARY}))
    assert (
        "No version holds it" in found
        and "1 record that hosts keep in endpoints or agents remember holds it" in found
    )
    planned = plan(owner, None)
    assert "What shall become of what hosts keep?" in text_of(planned)
    assert "Other services may hold it" in text_of(planned)
    assert "https://memory.example.com/memory" in text_of(planned)
    done = text_of(carry_out(owner, None, planned, heads=heads))
    if heads == "delete":
        assert "1 record that hosts keep in endpoints or agents remember was deleted" in done
        assert tables_that_hold(CANARY) == []
    else:
        assert "1 record that hosts keep in endpoints or agents remember still holds it" in done
        assert "providers_externalrecord" in tables_that_hold(CANARY)
    assert "Other services may hold it" in done


def test_a_record_that_came_meanwhile_is_not_deleted_unseen(owner: Site, tenant: Tenant) -> None:
    host = Host(tenant)
    host.remember(CANARY)
    planned = plan(owner, None)
    host.remember(f"Again {CANARY}.")
    answer = carry_out(owner, None, planned, heads="delete")
    assert answer.status_code == 409
    assert "providers_externalrecord" in tables_that_hold(CANARY)

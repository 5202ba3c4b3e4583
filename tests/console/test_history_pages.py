"""The pages of the history: what changed, the store as it was, and putting a version back."""

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from stores import memory_stores, memory_versions
from stores.models import Memory, MemoryVersion
from tests.console.site import Site
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant


def text_of(answer: Any) -> str:
    """The page's words, with one blank between them."""
    plain = re.sub(r"<[^>]+>", " ", answer.content.decode().partition("<main")[2])
    return " ".join(plain.split())


def store_url(shelf: Shelf, *parts: str) -> str:
    return "/".join([f"/stores/{shelf.store_id}", *parts])


def redact(shelf: Shelf, version: MemoryVersion) -> None:
    memory_versions.redact_version(shelf.store_id, version.wire_id, reason=None, actor=shelf.actor)


# --- compare ---


def test_two_chosen_versions_are_compared_word_by_word(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "She likes green tea.\n")
    shelf.update(memory, content="She likes black tea.\n")
    shelf.update(memory, content="She likes black coffee.\n")
    newest, _, oldest = (version.wire_id for version in shelf.versions())
    history = owner.get(store_url(shelf, "memories", memory.wire_id, "history")).content.decode()
    for name, chosen in (("before", 1), ("after", 0)):
        radios = re.findall(rf'<input type="radio" name="{name}" value="([^"]+)"( checked)?>', history)
        assert [value for value, _ in radios] == [version.wire_id for version in shelf.versions()]
        assert [index for index, (_, checked) in enumerate(radios) if checked] == [chosen]
    shown = owner.get(store_url(shelf, "compare"), before=oldest, after=newest).content.decode()
    assert "She likes <del>green tea</del>." in shown
    assert "She likes <ins>black coffee</ins>." in shown


def test_a_version_is_compared_with_the_one_before_it(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\n")
    shelf.update(memory, content="two\n", path="/b.md")
    newest, oldest = (version.wire_id for version in shelf.versions())
    shown = text_of(owner.get(store_url(shelf, "compare"), after=newest))
    assert "From /a.md to /b.md" in shown
    assert "1 line added, 1 removed." in shown
    assert "the first version of the memory" in text_of(owner.get(store_url(shelf, "compare"), after=oldest))


def test_each_state_of_a_side_is_said_in_a_sentence(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\n")
    for content in ("two\n", "three\n"):
        shelf.update(memory, content=content)
    shelf.delete(memory)
    deleted, third, second, first = shelf.versions()
    redact(shelf, second)
    redact(shelf, first)
    said = {
        (None, deleted): "The memory was deleted: all of the text that it had is gone.",
        (deleted, third): "The old version records a deletion, so all of the text is new.",
        (None, third): "The old version is redacted",
        (third, second): "The new version is redacted",
        (None, second): "Both versions are redacted",
        (third, third): "Old and new are the same version.",
    }
    for (before, after), sentence in said.items():
        query = {"after": after.wire_id} | ({"before": before.wire_id} if before else {})
        assert sentence in text_of(owner.get(store_url(shelf, "compare"), **query)), sentence
    assert owner.get(store_url(shelf, "compare")).status_code == 404


def test_a_difference_longer_than_a_page_says_how_much_is_left(owner: Site, shelf: Shelf) -> None:
    shelf.put("/a.md", "x\n" * 2_001)
    shown = text_of(owner.get(store_url(shelf, "compare"), after=shelf.versions()[0].wire_id))
    assert "1 more row follow" in shown


# --- restore ---


def restore_url(shelf: Shelf, version: MemoryVersion) -> str:
    return store_url(shelf, "versions", version.wire_id, "restore")


def expected_in(page: Any) -> dict[str, str]:
    found = re.search(rb'name="expected_sha256" value="([0-9a-f]{64})"', page.content)
    return {"expected_sha256": found[1].decode()} if found else {}


def test_a_version_is_put_back_as_the_page_showed(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "right\n")
    shelf.update(memory, content="wrong\n", path="/b.md")
    old = shelf.versions()[1]
    page = owner.get(restore_url(shelf, old))
    assert b"<del>wrong</del>" in page.content
    assert "moves from /b.md back to /a.md" in text_of(page)
    assert expected_in(page) == {"expected_sha256": sha256_hex("wrong\n")}
    answer = owner.post(restore_url(shelf, old), expected_in(page))
    assert answer["Location"] == owner.base + store_url(shelf, "memories", memory.wire_id)
    newest = shelf.versions()[0]
    assert (newest.path, newest.content, len(shelf.versions())) == ("/a.md", "right\n", 3)
    assert AuditAction.MEMORY_RESTORED in [action for action, _ in shelf.audit()]


def test_a_memory_that_changed_meanwhile_comes_back_with_the_new_difference(
    owner: Site, shelf: Shelf
) -> None:
    memory = shelf.put("/a.md", "right\n")
    shelf.update(memory, content="wrong\n")
    old = shelf.versions()[1]
    form = expected_in(owner.get(restore_url(shelf, old)))
    shelf.update(memory, content="newer\n")
    before = shelf.state()
    answer = owner.post(restore_url(shelf, old), form)
    assert answer.status_code == 409
    assert shelf.state() == before
    assert "changed after this page was shown, so nothing was restored" in text_of(answer)
    assert b"<del>newer</del>" in answer.content
    assert owner.post(restore_url(shelf, old), expected_in(answer)).status_code == 302
    assert shelf.versions()[0].content == "right\n"


def test_a_deleted_memory_comes_back_as_a_new_one(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "kept\n")
    shelf.delete(memory)
    old = shelf.versions()[1]
    page = owner.get(restore_url(shelf, old))
    assert "comes back as a new memory" in text_of(page)
    answer = owner.post(restore_url(shelf, old), expected_in(page))
    made = Memory.objects.get(store=shelf.store)
    assert (made.path, made.id == memory.id) == ("/a.md", False)
    assert answer["Location"].endswith(made.wire_id)


def test_a_memory_deleted_meanwhile_comes_back_before_it_is_made_anew(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "right\n")
    shelf.update(memory, content="wrong\n")
    old = shelf.versions()[1]
    form = expected_in(owner.get(restore_url(shelf, old)))
    shelf.delete(memory)
    answer = owner.post(restore_url(shelf, old), form)
    assert answer.status_code == 409
    assert "comes back as a new memory" in text_of(answer)
    assert shelf.paths() == []


def test_a_taken_path_is_said_with_the_way_on(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "kept\n")
    shelf.delete(memory)
    taker = shelf.put("/a.md/b", "other\n")
    answer = owner.post(restore_url(shelf, shelf.versions()[2]))
    assert answer.status_code == 409
    assert "The path /a.md is taken by the memory at /a.md/b. Move or delete that memory first" in text_of(
        answer
    )
    assert f'href="{owner.base}{store_url(shelf, "memories", taker.wire_id)}"'.encode() in answer.content


def test_what_cannot_be_restored_is_not_offered_and_says_why(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\n")
    shelf.update(memory, content="two\n")
    shelf.delete(memory)
    deleted, former, first = shelf.versions()
    redact(shelf, first)
    current = shelf.put("/b.md", "now\n")
    shelf.update(current, content="then\n")
    shelf.update(current, content="now\n")
    cases = {
        deleted: "records a deletion",
        first: "nothing is left of it to restore",
        shelf.versions()[2]: "already has this text",
    }
    for version, sentence in cases.items():
        page = owner.get(restore_url(shelf, version))
        assert sentence in text_of(page)
        assert b'<form method="post" action="' + restore_url(shelf, version).encode() not in page.content
        assert (
            f'{restore_url(shelf, version)}"'.encode()
            not in owner.get(store_url(shelf, "versions", version.wire_id)).content
        )
    assert (
        f'{restore_url(shelf, former)}"'.encode()
        in owner.get(store_url(shelf, "versions", former.wire_id)).content
    )
    shelf.archive()
    answer = owner.post(restore_url(shelf, former))
    assert (answer.status_code, "is archived" in text_of(answer)) == (400, True)


# --- the timeline of a store ---


def test_the_timeline_tells_every_change_with_its_size(owner: Site, shelf: Shelf) -> None:
    memory, other = shelf.put("/a.md", "x" * 10), shelf.put("/b.md", "y")
    shelf.update(memory, content="x" * 4)
    shelf.update(other, path="/c.md")
    shelf.delete(memory)
    page = owner.get(store_url(shelf, "history")).content.decode().partition("<tbody>")[2]
    assert re.findall(r"[+−]\d+ bytes?|same size", page) == [
        "−4 bytes", "same size", "−6 bytes", "+1 byte", "+10 bytes",
    ]  # fmt: skip
    assert re.findall(r"<bdi>(/\w\.md)</bdi>", page) == ["/a.md", "/c.md", "/a.md", "/b.md", "/a.md"]
    assert page.count("Moved here") == 1


def test_the_timeline_is_filtered_by_change_and_by_writer(
    owner: Site, shelf: Shelf, call: Caller, tenant: Tenant
) -> None:
    memory = shelf.put("/mine.md", "x")
    call("POST", shelf.memories_url, {"path": "/theirs.md", "content": "x"})
    shelf.update(memory, content="y")
    key = shelf.versions()[1].created_by_id

    def shown(**query: str) -> list[str]:
        page = owner.get(store_url(shelf, "history"), **query).content.decode()
        return re.findall(r"<bdi>/(\w+)\.md</bdi>", page.partition("<tbody>")[2])

    assert shown() == ["mine", "theirs", "mine"]
    assert shown(change="modified") == ["mine"]
    assert shown(by=key) == ["theirs"]
    assert shown(by=tenant.owner.wire_id, change="created") == ["mine"]
    assert shown(change="nonsense") == ["mine", "theirs", "mine"]
    assert "No such change" in text_of(owner.get(store_url(shelf, "history"), by="user_nobody"))
    form = owner.get(store_url(shelf, "history"), by=key).content.decode()
    assert f'<option value="{key}" selected>admin</option>' in form


def test_the_timeline_goes_on_page_by_page(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "x")
    for size in range(2, 26):
        shelf.update(memory, content="x" * size)
    first = owner.get(store_url(shelf, "history")).content.decode()
    following = re.search(r'href="[^"]*\?page=([^"]+)" rel="next"', first)
    assert following
    second = owner.get(store_url(shelf, "history"), page=following[1]).content.decode()
    assert (len(re.findall(r"\+1 byte<", first)), len(re.findall(r"\+1 byte<", second))) == (20, 5)
    assert owner.get(store_url(shelf, "history"), page=following[1], change="created").status_code == 400


# --- the store as it was ---


def test_the_store_is_shown_as_it_was(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "old")
    then = shelf.versions()[0]
    shelf.update(memory, content="new")
    shelf.put("/b.md", "later")
    timeline = owner.get(store_url(shelf, "history")).content.decode()
    links = re.findall(r'href="([^"]+)">As it was then', timeline)
    page = owner.client.get(links[-1])
    shown = page.content.decode()
    assert re.findall(r"<bdi>(/\w\.md)</bdi>", shown) == ["/a.md"]
    assert f"/versions/{then.wire_id}" in shown
    assert "held nothing then" in text_of(owner.get(store_url(shelf, "as-it-was"), at="2020-01-01T00:00"))


def test_a_time_sent_again_by_the_field_loses_nothing(owner: Site, shelf: Shelf) -> None:
    """The field of a browser has no microseconds: it shows the next second."""
    shelf.put("/a.md")
    at = shelf.versions()[0].created_at.replace(microsecond=1)
    page = owner.get(store_url(shelf, "as-it-was"), at=at.isoformat().replace("+00:00", "Z")).content.decode()
    shown = (at + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S")
    assert f'name="at" value="{shown}"' in page


@pytest.mark.parametrize("at", ["", "yesterday", "2026-13-01T00:00", "9" * 70, "<b>"])
def test_a_time_that_is_none_stays_in_its_field(owner: Site, shelf: Shelf, at: str) -> None:
    answer = owner.get(store_url(shelf, "as-it-was"), at=at)
    assert answer.status_code == 400
    assert b'aria-invalid="true"' in answer.content
    assert b"<b>" not in answer.content


# --- many versions ---


def add_versions(shelf: Shelf, memory: Memory, count: int) -> None:
    """Past the verb: hundreds in a moment."""
    last = shelf.versions()[0]
    versions = [
        MemoryVersion(
            project_id=memory.project_id, store_id=memory.store_id, memory_id=memory.id, operation="modified",
            path=memory.path, content=f"{last.content}line {number}\n", content_size_bytes=10,
            content_sha256=sha256_hex(str(number)), created_by_type="user_actor", created_by_id=shelf.actor.actor_id,
        )
        for number in range(count)
    ]  # fmt: skip
    MemoryVersion.objects.bulk_create(versions)
    head = versions[-1]
    Memory.objects.filter(id=memory.id).update(head_id=head.id, content_sha256=head.content_sha256)


def pages_of_history(shelf: Shelf, memory: Memory) -> list[str]:
    newest, former = shelf.versions()[0], shelf.versions()[1]
    return [
        store_url(shelf, "memories", memory.wire_id, "history"),
        store_url(shelf, "versions", former.wire_id),
        store_url(shelf, "versions", former.wire_id, "restore"),
        store_url(shelf, "versions", former.wire_id, "redact"),
        store_url(shelf, f"compare?after={newest.wire_id}"),
        store_url(shelf, "history"),
        store_url(shelf, "as-it-was?at=2100-01-01T00:00:00Z"),
        "/redactions",
    ]


def queries_of(owner: Site, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert owner.get(path).status_code == 200
    return len(queries)


def seconds_of(owner: Site, path: str) -> float:
    started = time.perf_counter()
    assert owner.get(path).status_code == 200
    return time.perf_counter() - started


@pytest.fixture
def known(shelf: Shelf) -> tuple[Shelf, Memory]:
    """A memory with 5 versions, of which two are redacted."""
    return add_memory(shelf)


def add_memory(shelf: Shelf) -> tuple[Shelf, Memory]:
    memory = shelf.put("/a.md", "first\n")
    add_versions(shelf, memory, 4)
    for version in shelf.versions()[2:4]:
        redact(shelf, version)
    return shelf, memory


def test_500_versions_cost_as_many_queries_as_5(owner: Site, known: tuple[Shelf, Memory]) -> None:
    shelf, memory = known
    few = [queries_of(owner, path) for path in pages_of_history(shelf, memory)]
    add_versions(shelf, memory, 495)
    assert len(shelf.versions()) == 500
    assert [queries_of(owner, path) for path in pages_of_history(shelf, memory)] == few
    assert max(few) < 20


def test_500_versions_answer_within_twice_the_time_of_10(
    owner: Site, known: tuple[Shelf, Memory], tenant: Tenant
) -> None:
    """Asked in turns, and the best of each counts, so that a busy machine makes neither slow."""
    store = memory_stores.create_store(
        environment="development", name="Large", description="", metadata={}, actor=tenant.actor
    )
    few, many = known, add_memory(Shelf(store.wire_id, tenant.actor))
    add_versions(*few, 5)
    add_versions(*many, 495)
    pairs = list(zip(pages_of_history(*few), pages_of_history(*many), strict=True))
    slow: dict[str, float] = {}
    for few_path, many_path in pairs[:-1]:  # the last is of both stores
        turns = [(seconds_of(owner, few_path), seconds_of(owner, many_path)) for _ in range(7)]
        ratio = min(after for _, after in turns) / min(before for before, _ in turns)
        slow |= {many_path: ratio} if ratio > 2 else {}
    assert slow == {}

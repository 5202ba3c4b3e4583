from typing import Any

import pytest
from django.db import connection

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from stores import memory_stores, redactions
from stores.models import MemoryVersion
from stores.reasons import REASON_LENGTH_MAX
from stores.redactions import CONTAINS_LENGTH_MAX
from tests.answers import Answer
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id

CANARY = "canary7f3a canary9b1c"


def redact(call: Any, **body: Any) -> Answer:
    return call("POST", "/v1/redactions", body)  # type: ignore[no-any-return]


def done(call: Any, **body: Any) -> Any:
    answer = redact(call, **body)
    assert answer.status == 200, answer.body
    return answer.body


def search(call: Any, **body: Any) -> Any:
    answer = call("POST", "/v1/memory_versions/search", body)
    assert answer.status == 200, answer.body
    return answer.body


def ids(entries: list[Any], name: str = "memory_version_id") -> list[str]:
    return [entry[name] for entry in entries]


def tables_that_hold(text: str) -> list[str]:
    """The tables of which a row, written as text, holds it: what a dump would show."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" AS row WHERE strpos(lower(row::text), lower(%s)) > 0', [text]
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return sorted(found)


@pytest.fixture
def other(call: Caller, tenant: Tenant) -> Shelf:
    """A second store of the environment."""
    return Shelf(call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"], tenant.actor)


def test_versions_that_hold_a_text_are_found_in_contents_and_paths(
    call: Caller, shelf: Shelf, other: Shelf
) -> None:
    memory = shelf.put("/a", f"before {CANARY} after")
    shelf.update(memory, content="clean")
    shelf.put("/clean", CANARY.upper())  # letters are compared as they are
    moved = other.put(f"/{CANARY}/x", "y")
    body = search(call, contains=CANARY)
    assert {item["id"]: item["is_head"] for item in body["data"]} == {
        shelf.versions()[-1].wire_id: False,
        other.versions()[0].wire_id: True,
    }
    assert [item["content"] for item in body["data"]] == [None, None]
    assert (body["has_more"], body["next_page"]) == (False, None)
    within = search(call, contains=CANARY, memory_store_id=other.store_id)
    assert ids(within["data"], "memory_id") == [moved.wire_id]


def test_versions_of_a_content_are_found_by_its_digest(call: Caller, shelf: Shelf, other: Shelf) -> None:
    shelf.put("/a", CANARY)
    other.put("/b", CANARY)
    other.put("/c", f"{CANARY}.")
    found = search(call, content_sha256=sha256_hex(CANARY))["data"]
    assert sorted(ids(found, "path")) == ["/a", "/b"]


@pytest.mark.parametrize("by", ["contains", "content_sha256"])
def test_pages_show_every_version_once(
    call: Caller, shelf: Shelf, other: Shelf, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(redactions, "SCAN_VERSIONS_MAX", 4)
    for store in (shelf, other):
        for number in range(6):
            store.put(f"/{number}", CANARY)
            store.put(f"/clean/{number}", "clean")
    sought = {"contains": CANARY} if by == "contains" else {"content_sha256": sha256_hex(CANARY)}
    found, page, pages = [], {}, 0
    while True:
        body = search(call, **sought, limit=2, **page)
        found += ids(body["data"], "id")
        pages += 1
        if body["next_page"] is None:
            break
        page = {"page": body["next_page"]}
    everywhere = MemoryVersion.objects.filter(content=CANARY, project_id=shelf.actor.project_id)
    assert sorted(found) == sorted(version.wire_id for version in everywhere) and len(found) == 12
    assert pages >= 6


def test_a_scan_is_bounded_in_bytes_and_goes_on(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactions, "SCAN_BYTES_MAX", 10)
    for number in range(3):
        shelf.put(f"/{number}", "0123456789")
    first = search(call, contains="nowhere")
    assert (first["data"], first["has_more"]) == ([], True)
    second = search(call, contains="nowhere", page=first["next_page"])
    third = search(call, contains="nowhere", page=second["next_page"])
    assert [second["has_more"], third["has_more"]] == [True, False]


def test_a_cursor_is_of_one_text(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "text one")
    shelf.put("/b", "text one")
    page = search(call, contains="text one", limit=1)["next_page"]
    assert CANARY not in page and sha256_hex("text one") not in page
    answer = call("POST", "/v1/memory_versions/search", {"contains": "text two", "limit": 1, "page": page})
    assert answer.refusal == (400, "invalid_request_error", None)


BAD_BODIES: list[dict[str, Any]] = [
    {},
    {"contains": CANARY, "content_sha256": "0" * 64},
    {"contains": "abc"},
    {"contains": "a b\tc\u2003 "},
    {"contains": "x" * (CONTAINS_LENGTH_MAX + 1)},
    {"contains": 1234},
    {"contains": "nul\0nul"},
    {"content_sha256": "0" * 63},
    {"content_sha256": "A" * 64},
    {"contains": CANARY, "unknown": 1},
    {"contains": CANARY, "page": "page_x"},
]


@pytest.mark.parametrize("url", ["/v1/memory_versions/search", "/v1/redactions"])
@pytest.mark.parametrize("body", BAD_BODIES)
def test_malformed_bodies_are_refused(call: Caller, shelf: Shelf, url: str, body: dict[str, Any]) -> None:
    shelf.put("/a", "abc")
    before = shelf.state()
    assert call("POST", url, body).refusal == (400, "invalid_request_error", None)
    assert shelf.state() == before


@pytest.mark.parametrize(
    "body", [{"heads": "keep"}, {"dry_run": "yes"}, {"reason": ""}, {"reason": "x" * (REASON_LENGTH_MAX + 1)}]
)
def test_malformed_words_of_a_redaction_are_refused(call: Caller, body: dict[str, Any]) -> None:
    assert redact(call, contains=CANARY, **body).refusal == (400, "invalid_request_error", None)


@pytest.mark.parametrize("text", ["abcd", " a b\nc d ", "日本語だ", "x" * CONTAINS_LENGTH_MAX])
def test_texts_at_the_limits_are_accepted(call: Caller, shelf: Shelf, text: str) -> None:
    shelf.put("/a", f"-{text}-")
    assert len(search(call, contains=text)["data"]) == 1
    assert done(call, contains=text, reason="r" * REASON_LENGTH_MAX)["counts"]["memory_versions_left"] == 1


def test_former_versions_are_erased_and_heads_are_left_and_named(
    call: Caller, shelf: Shelf, other: Shelf
) -> None:
    memory = shelf.put("/a", CANARY)
    shelf.update(memory, content=f"{CANARY} again")
    shelf.update(memory, content="clean")
    kept = other.put("/b", CANARY)
    body = done(call, contains=CANARY, heads="refuse", reason="ticket 12")
    former = [version.wire_id for version in shelf.versions()[1:]]
    assert sorted(ids(body["redacted"])) == sorted(former)
    assert body["left"] == [
        {
            "memory_store_id": other.store_id,
            "memory_id": kept.wire_id,
            "memory_version_id": other.versions()[0].wire_id,
            "reason": "is_head",
        }
    ]
    assert body["deleted"] == [] and body["counts"] == {
        "memory_versions_redacted": 2,
        "memories_deleted": 0,
        "memory_versions_left": 1,
        "copies_blanked": 0,
        "records_deleted": 0,
        "records_left": 0,
    }
    assert (body["type"], body["dry_run"], body["complete"], body["next_page"]) == (
        "redaction", False, True, None,
    )  # fmt: skip
    assert [version.redacted_at is not None for version in shelf.versions()] == [False, True, True]
    assert call("GET", other.memory_url(kept)).body["content"] == CANARY


def test_heads_are_erased_by_deleting_their_memory_first(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a", CANARY)
    body = done(call, contains=CANARY, heads="delete")
    assert ids(body["deleted"], "memory_id") == [memory.wire_id] and body["left"] == []
    deletion, created = shelf.versions()
    assert (deletion.operation, deletion.path, deletion.redacted_at) == ("deleted", "/a", None)
    assert ids(body["redacted"]) == [created.wire_id] and created.redacted_at is not None
    assert call("GET", shelf.memory_url(memory)).status == 404


def test_a_path_that_holds_the_text_goes_with_the_deletion_that_repeats_it(
    call: Caller, shelf: Shelf
) -> None:
    memory = shelf.put(f"/{CANARY}.md", "x")
    body = done(call, contains=CANARY, heads="delete")
    assert ids(body["deleted"], "memory_id") == [memory.wire_id]
    assert [version.path for version in shelf.versions()] == [None, None]


def test_repeating_finds_nothing_more_and_writes_nothing(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", CANARY)
    done(call, contains=CANARY, heads="delete")
    before = shelf.state()
    again = done(call, contains=CANARY, heads="delete")
    assert (again["redacted"], again["deleted"], again["left"], again["complete"]) == ([], [], [], True)
    assert shelf.state() == before


@pytest.mark.parametrize("heads", ["refuse", "delete"])
@pytest.mark.parametrize("by", ["contains", "content_sha256"])
def test_a_dry_run_changes_nothing_and_names_what_the_run_then_does(
    call: Caller, shelf: Shelf, other: Shelf, heads: str, by: str
) -> None:
    memory = shelf.put("/a", CANARY)
    shelf.update(memory, content="clean")
    shelf.update(memory, content=CANARY)
    shelf.delete(other.put("/gone", CANARY)) if False else other.delete(other.put("/gone", CANARY))
    other.put("/b", CANARY)
    other.archive()
    sought = {"contains": CANARY} if by == "contains" else {"content_sha256": sha256_hex(CANARY)}
    before = [shelf.state(), other.state()]
    planned = done(call, **sought, heads=heads, dry_run=True)
    assert [shelf.state(), other.state()] == before
    assert len(planned["redacted"]) >= 2 and len(planned["left"]) >= 1
    carried_out = done(call, **sought, heads=heads)
    assert carried_out == {**planned, "dry_run": False}


def test_a_large_run_goes_on_page_by_page(
    call: Caller, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redactions, "REDACTION_VERSIONS_MAX", 3)
    memory = shelf.put("/a", f"{CANARY} 0")
    for number in range(1, 8):
        shelf.update(memory, content=f"{CANARY} {number}")
    erased, deleted, page, runs = [], [], {}, 0
    while True:
        body = done(call, contains=CANARY, heads="delete", **page)
        erased += ids(body["redacted"])
        deleted += ids(body["deleted"], "memory_id")
        runs += 1
        assert body["complete"] == (body["next_page"] is None)
        if body["complete"]:
            break
        page = {"page": body["next_page"]}
    assert (len(erased), len(set(erased)), deleted, runs) == (8, 8, [memory.wire_id], 3)
    assert search(call, contains=CANARY)["data"] == []


def test_an_archived_store_keeps_its_heads_and_a_frozen_one_does_not(
    call: Caller, tenant: Tenant, shelf: Shelf, other: Shelf
) -> None:
    archived = shelf.put("/a", CANARY)
    shelf.update(archived, content=f"{CANARY} now")
    shelf.archive()
    frozen = other.put("/a", CANARY)
    memory_stores.freeze_store(other.store_id, actor=tenant.actor)
    body = done(call, contains=CANARY, heads="delete")
    assert [(entry["memory_id"], entry["reason"]) for entry in body["left"]] == [
        (archived.wire_id, "store_archived")
    ]
    assert ids(body["deleted"], "memory_id") == [frozen.wire_id]
    assert [version.redacted_at is not None for version in shelf.versions()] == [False, True]


def test_nothing_that_answers_holds_the_text_or_its_digest_afterwards(
    call: Caller, shelf: Shelf, other: Shelf
) -> None:
    memory = shelf.put("/a", CANARY)
    shelf.update(memory, path=f"/{CANARY}/b")
    shelf.update(memory, content=f"say {CANARY}")
    shelf.delete(shelf.put("/gone", CANARY))
    other.put("/c", CANARY)
    digest = sha256_hex(CANARY)
    words = [CANARY, CANARY.split()[0], digest]
    assert all(tables_that_hold(word) for word in words)  # else the search would find nothing anyway
    versions = [version.wire_id for store in (shelf, other) for version in store.versions()]
    done(call, contains=CANARY, heads="delete", reason="a leaked word")
    assert {word: tables_that_hold(word) for word in words} == {word: [] for word in words}
    answers = [
        call("GET", url, query=query)
        for store in (shelf, other)
        for url, query in (
            (store.url(), {}),
            (store.memories_url, {"view": "full"}),
            (store.url("memory_versions"), {"view": "full"}),
            (store.url("changes"), {}),
            (store.url("snapshot"), {"at": "2100-01-01T00:00:00Z", "view": "full"}),
            *((store.url("memory_versions", version), {}) for version in versions),
            *((store.url("memory_versions", version, "diff"), {}) for version in versions),
        )
    ]
    answers += [
        call("POST", "/v1/memory_versions/search", {"contains": CANARY}),
        call("POST", "/v1/redactions", {"contains": CANARY, "dry_run": True}),
        call("GET", "/v1/audit_events", query={"limit": 100}),
        call("GET", f"{shelf.memories_url}", query={"query": CANARY.split()[0]}),
    ]
    for answer in answers:
        assert not [word for word in words if word.encode() in answer.content], answer.content
    assert AuditEvent.objects.filter(action=AuditAction.TEXT_REDACTED).count() == 1


def test_the_trail_tells_what_was_done_without_the_text(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    shelf.put("/a", CANARY)
    done(call, content_sha256=sha256_hex(CANARY), heads="delete", reason="ticket 12")
    row = AuditEvent.objects.get(action=AuditAction.TEXT_REDACTED)
    assert (row.subject_id, row.environment_id) == (tenant.development.wire_id, tenant.development.id)
    assert row.details == {
        "by": "content_sha256",
        "memory_versions": 1,
        "memories_deleted": 1,
        "left": 0,
        "reason": "ticket 12",
    }
    assert [action for action, _ in shelf.audit()][-3:] == [
        AuditAction.MEMORY_DELETED,
        AuditAction.MEMORY_VERSION_REDACTED,
        AuditAction.TEXT_REDACTED,
    ]


def test_a_reason_that_repeats_the_text_is_refused(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", f"{CANARY}\n")
    before = shelf.state()
    digest = sha256_hex(f"{CANARY}\n")
    for body in (
        {"contains": CANARY, "reason": f"erase {CANARY}"},
        {"content_sha256": digest, "reason": f"erase {CANARY} please"},
        {"content_sha256": digest, "reason": f"see {digest}"},
    ):
        for dry_run in (True, False):
            answer = redact(call, **body, heads="delete", dry_run=dry_run)
            assert answer.refusal == (400, "invalid_request_error", "reason_holds_text")
            assert CANARY.encode() not in answer.content
    assert shelf.state() == before


def test_the_other_environment_and_other_projects_are_not_touched(
    call: Caller, tenant: Tenant, stranger: Tenant, shelf: Shelf
) -> None:
    production, foreign = Caller(tenant.production_key), stranger.call()
    elsewhere = [
        Shelf(caller("POST", "/v1/memory_stores", {"name": "Theirs"}).body["id"], world.actor)
        for caller, world in ((production, tenant), (foreign, stranger))
    ]
    for store in (shelf, *elsewhere):
        store.put("/a", CANARY)
    before = [store.state()[:3] for store in elsewhere]
    assert ids(search(call, contains=CANARY)["data"], "memory_store_id") == [shelf.store_id]
    by_digest = search(call, content_sha256=sha256_hex(CANARY))["data"]
    assert ids(by_digest, "memory_store_id") == [shelf.store_id]
    assert ids(done(call, contains=CANARY, heads="delete")["redacted"], "memory_store_id") == [shelf.store_id]
    assert [store.state()[:3] for store in elsewhere] == before


def test_a_key_of_the_whole_project_names_the_environment(tenant: Tenant, shelf: Shelf) -> None:
    whole = tenant.caller("admin", whole=True)
    shelf.put("/a", CANARY)
    assert redact(whole, contains=CANARY).refusal == (400, "invalid_request_error", None)
    assert done(whole, contains=CANARY, environment="production")["left"] == []
    for scope in ({"environment": "development"}, {"memory_store_id": shelf.store_id}):
        assert len(done(whole, contains=CANARY, **scope)["left"]) == 1
    mixed = redact(whole, contains=CANARY, environment="production", memory_store_id=shelf.store_id)
    assert mixed.status == 200 and mixed.body["left"] == []


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(shelf: Shelf, stranger: Tenant) -> None:
    theirs = stranger.call()
    for url in ("/v1/memory_versions/search", "/v1/redactions"):
        foreign = theirs("POST", url, {"contains": CANARY, "memory_store_id": shelf.store_id})
        absent = theirs("POST", url, {"contains": CANARY, "memory_store_id": unused_id("memstore")})
        assert foreign.status == absent.status == 404 and foreign.body["error"] == absent.body["error"]
        environment = theirs("POST", url, {"contains": CANARY, "environment": unused_id("env")})
        assert environment.refusal == (404, "not_found_error", None)


def test_only_an_admin_erases_and_agents_search_nothing(tenant: Tenant, shelf: Shelf) -> None:
    agent = tenant.caller("agent", stores={shelf.store.id: "read_write"})
    missing = (403, "permission_error", "scope_missing")
    for caller in (agent, tenant.caller("read"), tenant.caller("host")):
        assert redact(caller, contains=CANARY, dry_run=True).refusal == missing
    assert agent("POST", "/v1/memory_versions/search", {"contains": CANARY}).refusal == missing
    assert search(tenant.caller("read"), contains=CANARY)["data"] == []


def test_a_redaction_that_races_updates_erases_only_what_is_no_head(
    live: LiveHub, live_tenant: Tenant
) -> None:
    owner = live_tenant.call()
    shelf = Shelf(owner("POST", "/v1/memory_stores", {"name": "Race"}).body["id"], live_tenant.actor)
    memories = [shelf.put(f"/{number}", CANARY) for number in range(4)]
    statuses: list[int] = []

    def update(number: int) -> None:
        caller = live.caller(live_tenant.key)
        for turn in range(15):
            content = f"{CANARY} {number}.{turn}"
            statuses.append(caller("POST", shelf.memory_url(memories[number]), {"content": content}).status)

    def erase() -> None:
        caller = live.caller(live_tenant.key)
        for _ in range(15):
            done(caller, contains=CANARY)

    run_together([*(lambda number=number: update(number) for number in range(4)), erase, erase])
    assert statuses == [200] * 60
    caller = live.caller(live_tenant.key)
    left = done(caller, contains=CANARY)["left"]
    assert sorted(ids(left, "memory_id")) == sorted(memory.wire_id for memory in memories)
    for number, memory in enumerate(memories):
        assert caller("GET", shelf.memory_url(memory)).body["content"] == f"{CANARY} {number}.14"

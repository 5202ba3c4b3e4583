from typing import Any

import pytest

from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory
from tests.answers import Answer
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, Tenant, unused_id


def etag(content: str) -> str:
    return f'"{sha256_hex(content)}"'


def put(call: Any, shelf: Shelf, path: str, content: str, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return call("PUT", shelf.url(f"files{path}"), {"content": content}, headers=names)  # type: ignore[no-any-return]


def test_a_put_creates_then_updates_then_changes_nothing(call: Caller, shelf: Shelf) -> None:
    made = put(call, shelf, "/a/b.md", "one")
    assert (made.status, made.body["path"], made.headers["etag"]) == (200, "/a/b.md", etag("one"))
    updated = put(call, shelf, "/a/b.md", "two")
    assert (updated.status, updated.body["id"]) == (200, made.body["id"])
    before = shelf.state()
    again = put(call, shelf, "/a/b.md", "two", If_Match=etag("one"))
    assert (again.status, again.body) == (200, updated.body)
    assert shelf.state() == before
    assert [version.operation for version in shelf.versions()] == ["modified", "created"]
    assert shelf.audit()[-2:] == [
        audited(AuditAction.MEMORY_CREATED, made.body["id"]),
        audited(AuditAction.MEMORY_UPDATED, made.body["id"]),
    ]


def test_a_get_answers_the_memory(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "héllo\n")
    answer = call("GET", shelf.url("files/a.md"))
    assert answer.body == call("GET", shelf.memory_url(memory)).body
    assert answer.body["content"] == "héllo\n"
    assert (answer.headers["etag"], answer.headers["vary"]) == (etag("héllo\n"), "Accept")
    assert call("GET", shelf.url("files/a.md"), query={"view": "basic"}).body["content"] is None


@pytest.mark.parametrize(
    "accept", ["application/json", "*/*", "text/html", "text/plain;q=0.1, application/json"]
)
def test_json_is_the_answer_unless_text_is_preferred(call: Caller, shelf: Shelf, accept: str) -> None:
    shelf.put("/a.md", "x")
    answer = call("GET", shelf.url("files/a.md"), headers={"Accept": accept})
    assert answer.headers["content-type"] == "application/json"


def test_the_text_itself_is_a_download_that_no_browser_shows(call: Caller, shelf: Shelf) -> None:
    content = "<script>alert(1)</script>\r\n\ufeffé\u2028"
    shelf.put('/dir/ü "x".html', content)
    answer = call("GET", shelf.url('files/dir/ü "x".html'), headers={"Accept": "text/plain"})
    assert answer.content == content.encode()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=utf-8''") and "\n" not in disposition
    assert answer.headers["etag"] == etag(content)


@pytest.mark.parametrize(
    ("known", "status"),
    [
        (etag("x"), 304),
        ("*", 304),
        (f"W/{etag('x')}", 304),
        (f'"other", {etag("x")}', 304),
        (etag("y"), 200),
        ("nonsense", 200),
    ],
)
def test_a_copy_that_is_current_is_not_sent_again(
    call: Caller, shelf: Shelf, known: str, status: int
) -> None:
    shelf.put("/a", "x")
    for accept in ("application/json", "text/plain"):
        answer = call("GET", shelf.url("files/a"), headers={"If-None-Match": known, "Accept": accept})
        assert (answer.status, answer.headers["etag"]) == (status, etag("x"))
        assert status == 200 or answer.content == b""


@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/plain; charset=utf-8", "application/octet-stream"]
)
def test_a_raw_body_is_kept_byte_for_byte(call: Caller, shelf: Shelf, content_type: str) -> None:
    raw = "\ufeff héllo\r\n\u2028 \n".encode()
    answer = call("PUT", shelf.url("files/a.md"), raw=raw, content_type=content_type)
    assert answer.status == 200
    text = call("GET", shelf.url("files/a.md"), headers={"Accept": "text/plain"})
    assert text.content == raw


def test_an_empty_raw_body_is_an_empty_memory(call: Caller, shelf: Shelf) -> None:
    made = call("PUT", shelf.url("files/a"), raw=b"", headers={"Content-Type": "text/plain"})
    assert made.body["content_size_bytes"] == 0
    no_json = call("PUT", shelf.url("files/b"), raw=b"", headers={"Content-Type": "application/json"})
    assert no_json.refusal == (400, "invalid_request_error", None)


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b"\xff\xfe", "text/plain"),
        (b"\xed\xa0\x80", "application/octet-stream"),
        (b"a\0b", "text/plain"),
        (b"x", "text/plain; charset=latin-1"),
        (b"x", "text/html"),
        (b"x", ""),
        (b"x", "application/json"),
        (b'{"content": 1}', "application/json"),
        (b'{"content": null}', "application/json"),
        (b'{"content": "x", "path": "/b"}', "application/json"),
        (b'{"content": "\\ud800"}', "application/json"),
        (b"{}", "application/json"),
    ],
)
def test_a_body_that_is_no_text_is_refused(call: Caller, shelf: Shelf, raw: bytes, content_type: str) -> None:
    answer = call("PUT", shelf.url("files/a"), raw=raw, content_type=content_type)
    assert answer.refusal == (400, "invalid_request_error", None)
    assert shelf.paths() == []


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_a_content_may_have_the_most_bytes_and_not_one_more(
    call: Caller, shelf: Shelf, content_type: str
) -> None:
    def send(size: int) -> Answer:
        raw = b"x" * size
        if content_type == "application/json":
            raw = b'{"content":"' + raw + b'"}'
        return call("PUT", shelf.url("files/a"), raw=raw, content_type=content_type)

    assert send(MEMORY_CONTENT_BYTES_MAX).status == 200
    refused = send(MEMORY_CONTENT_BYTES_MAX + 1)
    assert refused.refusal == (413, "request_too_large", "memory_content_too_large")
    assert send(2_000_000).refusal == (413, "request_too_large", "body_too_large")


def test_a_stale_tag_is_refused_and_writes_no_version(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "one")
    before = shelf.state()
    stale = (412, "memory_precondition_failed_error", None)
    assert put(call, shelf, "/a", "two", If_Match=etag("other")).refusal == stale
    assert call("DELETE", shelf.url("files/a"), headers={"If-Match": etag("other")}).refusal == stale
    assert shelf.state() == before
    assert put(call, shelf, "/a", "two", If_Match=etag("one")).status == 200


def test_a_star_needs_a_memory_to_be_there(call: Caller, shelf: Shelf) -> None:
    for tag in ("*", etag("x")):
        answer = put(call, shelf, "/a", "x", If_Match=tag)
        assert answer.refusal == (412, "memory_precondition_failed_error", None)
    assert shelf.paths() == []
    shelf.put("/a", "x")
    assert put(call, shelf, "/a", "y", If_Match="*").status == 200


def test_create_only_never_overwrites_not_even_with_the_same_content(call: Caller, shelf: Shelf) -> None:
    assert put(call, shelf, "/a", "x", If_None_Match="*").status == 200
    before = shelf.state()
    for content in ("x", "y"):
        answer = put(call, shelf, "/a", content, If_None_Match="*")
        assert answer.refusal == (412, "memory_precondition_failed_error", None)
    assert shelf.state() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"If-Match": sha256_hex("x")},
        {"If-Match": f"W/{etag('x')}"},
        {"If-Match": ""},
        {"If-Match": '""'},
        {"If-Match": f"{etag('x')}, {etag('y')}"},
        {"If-Match": etag("x").upper()},
        {"If-None-Match": etag("x")},
        {"If-Match": "*", "If-None-Match": "*"},
    ],
)
def test_a_condition_that_is_not_understood_is_never_unconditional(
    call: Caller, shelf: Shelf, headers: dict[str, str]
) -> None:
    shelf.put("/a", "x")
    before = shelf.state()
    written = call("PUT", shelf.url("files/a"), {"content": "y"}, headers=headers)
    deleted = call("DELETE", shelf.url("files/a"), headers=headers)
    assert [written.refusal, deleted.refusal] == [(400, "invalid_request_error", None)] * 2
    assert shelf.state() == before


def test_a_delete_removes_the_memory_once(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a/b", "x")
    answer = call("DELETE", shelf.url("files/a/b"), headers={"If-Match": etag("x")})
    assert (answer.status, answer.body) == (200, {"id": memory.wire_id, "type": "memory_deleted"})
    assert shelf.audit()[-1] == audited(AuditAction.MEMORY_DELETED, memory.wire_id)
    again = call("DELETE", shelf.url("files/a/b"))
    assert again.refusal == (404, "not_found_error", None)


def test_a_path_above_or_below_a_memory_is_taken(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a/b", "x")
    for path in ("/a", "/a/b/c"):
        answer = put(call, shelf, path, "y")
        assert answer.refusal == (409, "memory_path_conflict_error", None)
        assert answer.body["error"]["conflicting_memory_id"] == memory.wire_id


def test_a_full_store_takes_updates_and_no_new_path(call: Caller, shelf: Shelf) -> None:
    shelf.fill([f"/{number}" for number in range(MEMORIES_PER_STORE_MAX - 1)])
    assert put(call, shelf, "/last", "x").status == 200
    assert put(call, shelf, "/more", "x").refusal == (400, "invalid_request_error", "memory_store_full")
    assert put(call, shelf, "/7", "changed").status == 200


def test_an_archived_store_is_read_only(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "x")
    shelf.archive()
    refusal = (400, "invalid_request_error", "memory_store_archived")
    assert put(call, shelf, "/a", "x").refusal == refusal
    assert call("DELETE", shelf.url("files/a")).refusal == refusal
    assert call("GET", shelf.url("files/a")).status == 200


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("files/%C3%BC%20%25.md", "/ü %.md"),
        ("files/%252e%252e/x", "/%2e%2e/x"),
        ("files/a%2Fb", "/a/b"),
        ("files/a;b=c", "/a;b=c"),
        ("files/%5C%3F%23", "/\\?#"),
    ],
)
def test_the_url_is_decoded_once(call: Caller, shelf: Shelf, url: str, path: str) -> None:
    assert call("PUT", shelf.url(url), {"content": "x"}).body["path"] == path
    assert call("GET", shelf.url(url)).body["path"] == path


@pytest.mark.parametrize(
    "url",
    [
        "files/%00",
        "files/a%00b",
        "files//a",
        "files/a/",
        "files/a/../b",
        "files/.",
        "files/%E2%80%8B",
        "files/%0A",
        "files/e%CC%81",
        "files/" + "a/" * 20 + "a",
        "files/" + "a" * 1_024,
        "files/.memoryhub-store",
    ],
)
def test_a_path_that_no_memory_can_have_is_refused(call: Caller, shelf: Shelf, url: str) -> None:
    assert call("GET", shelf.url(url)).refusal == (404, "not_found_error", None)
    assert call("DELETE", shelf.url(url)).refusal == (404, "not_found_error", None)
    written = call("PUT", shelf.url(url), {"content": "x"})
    assert written.status in (400, 404)
    assert shelf.paths() == []


def test_the_longest_and_deepest_paths_are_accepted(call: Caller, shelf: Shelf) -> None:
    assert put(call, shelf, "/" + "a" * 1_023, "x").status == 200
    assert put(call, shelf, "/b" * 20, "x").status == 200


def test_a_missing_file_is_not_found(call: Caller, shelf: Shelf) -> None:
    for answer in (
        call("GET", shelf.url("files/none")),
        call("DELETE", shelf.url("files/none"), headers={"If-Match": "nonsense"}),
        call("GET", shelf.url("files/none"), query={"view": "all"}),
    ):
        assert answer.refusal == (404, "not_found_error", None)
    assert call("POST", shelf.url("files/none")).status == 405


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(shelf: Shelf, stranger: Tenant) -> None:
    shelf.put("/a", "x")
    theirs, unknown = stranger.call(), Shelf(unused_id("memstore"), shelf.actor)
    for method, body in (("GET", None), ("PUT", {"content": "x"}), ("PUT", {"unknown": 1}), ("DELETE", None)):
        for path in ("files/a", "files/%00", "files/a/../b"):
            foreign = theirs(method, shelf.url(path), body)
            absent = theirs(method, unknown.url(path), body)
            assert foreign.status == absent.status == 404
            assert foreign.body["error"] == absent.body["error"]


def test_a_reader_may_get_and_an_agent_may_not_use_paths(tenant: Tenant, shelf: Shelf) -> None:
    shelf.put("/a", "x")
    reader, agent = tenant.caller("read"), tenant.caller("agent", stores={shelf.store.id: "read_write"})
    assert reader("GET", shelf.url("files/a")).status == 200
    missing = (403, "permission_error", "scope_missing")
    assert reader("PUT", shelf.url("files/a"), {"content": "y"}).refusal == missing
    assert reader("DELETE", shelf.url("files/a")).refusal == missing
    assert agent("GET", shelf.url("files/a")).refusal == missing


def test_bytes_that_are_no_utf8_name_no_file(live: LiveHub, live_tenant: Tenant) -> None:
    """A real server only: Django would read `%FF` as the name `%FF`, which is another file."""
    owner, call = live_tenant.call(), live.caller(live_tenant.key)
    shelf = Shelf(owner("POST", "/v1/memory_stores", {"name": "Files"}).body["id"], live_tenant.actor)
    assert call("PUT", shelf.url("files/%25FF"), {"content": "x"}).body["path"] == "/%FF"
    for method, body in (("GET", None), ("PUT", {"content": "y"}), ("DELETE", None)):
        assert call(method, shelf.url("files/%FF"), body).refusal == (404, "not_found_error", None)
    assert call("GET", shelf.url("files/%25FF")).body["content"] == "x"
    assert call("GET", shelf.url("files/%00")).status == 404


def test_puts_of_one_new_path_make_one_memory(live: LiveHub, live_tenant: Tenant) -> None:
    owner = live_tenant.call()
    shelf = Shelf(owner("POST", "/v1/memory_stores", {"name": "Files"}).body["id"], live_tenant.actor)
    for name in range(10):
        answers: list[tuple[str, Answer]] = []

        def write(content: str, name: int = name, answers: Any = answers) -> None:
            caller = live.caller(live_tenant.key)
            answers.append((content, put(caller, shelf, f"/{name}", content)))
            answers.append(("create", put(caller, shelf, f"/new/{name}", content, If_None_Match="*")))

        run_together([lambda index=index: write(f"content {index}") for index in range(8)])
        upserts = [answer for kind, answer in answers if kind != "create"]
        creates = sorted(answer.status for kind, answer in answers if kind == "create")
        assert {answer.status for answer in upserts} == {200}
        assert len({answer.body["id"] for answer in upserts}) == 1
        assert creates == [200] + [412] * 7
        memory = Memory.objects.get(store_id=shelf.store.id, path=f"/{name}")
        versions = [version for version in shelf.versions() if version.memory_id == memory.id]
        assert [version.operation for version in versions][-1] == "created"
        assert len(versions) == 8 and memory.head_id == versions[0].id


def test_a_put_that_races_a_delete_always_ends_with_its_content_or_none(
    live: LiveHub, live_tenant: Tenant
) -> None:
    owner = live_tenant.call()
    shelf = Shelf(owner("POST", "/v1/memory_stores", {"name": "Files"}).body["id"], live_tenant.actor)
    statuses: list[int] = []
    url = shelf.url("files/a")

    def write(number: int) -> None:
        caller = live.caller(live_tenant.key)
        for turn in range(25):
            statuses.append(put(caller, shelf, "/a", f"{number}.{turn}").status)

    def delete() -> None:
        caller = live.caller(live_tenant.key)
        for _ in range(50):
            assert caller("DELETE", url).status in (200, 404)

    run_together([lambda: write(1), lambda: write(2), lambda: write(3), delete])
    assert statuses == [200] * 75
    assert sum(version.operation != "deleted" for version in shelf.versions()) == 75

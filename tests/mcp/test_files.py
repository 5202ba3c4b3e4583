"""Files of memory stores through tools, with the SDK's own client over a socket."""

import json
from typing import Any

import pytest

from memoryhub.models import AuditEvent
from providers import session_tokens, sessions
from providers.sessions import WantedSession
from stores import memories, memory_stores
from stores.attachments import WantedStore
from stores.models import MemoryVersion
from tests.mcp.conftest import Desk
from tests.mcp.live import Agent, ask, call_body, text_of

PATH = "/notes/today.md"


def named(desk: Desk, path: str = PATH, **more: Any) -> dict[str, Any]:
    return {"memory_store_id": desk.store_id, "path": path, **more}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_file_from_its_creation_to_its_end(desk: Desk, mode: str) -> None:
    agent = desk.agent(mode=mode)
    listed = agent.call("list_memory_stores")
    assert (
        json.loads(text_of(listed)) == listed.structured_content
    )  # for clients that know no structured content
    [store] = agent.give("list_memory_stores")["memory_stores"]
    assert (store["memory_store_id"], store["access"]) == (desk.store_id, "read_write")
    made = agent.give("create_memory_file", **named(desk), content="one\ntwo\n")
    read = agent.give("read_memory_file", **named(desk))
    assert (read["content"], read["length"], read["next_offset"]) == ("one\ntwo\n", 8, None)
    assert read["content_sha256"] == made["content_sha256"]
    edited = agent.give("edit_memory_file", **named(desk), old_text="two", new_text="zwei")
    longer = agent.give(
        "insert_into_memory_file",
        **named(desk, after_line=1, text="between", expected_content_sha256=edited["content_sha256"]),
    )
    assert agent.give("read_memory_file", **named(desk))["content"] == "one\nbetween\nzwei\n"
    moved = agent.give("rename_memory_file", **named(desk), new_path="/old.md")
    assert (moved["path"], moved["memory_id"]) == ("/old.md", made["memory_id"])
    sha256 = longer["content_sha256"]
    gone = agent.give("delete_memory_file", **named(desk, "/old.md", expected_content_sha256=sha256))
    assert gone == {"memory_id": made["memory_id"], "deleted": True}
    assert agent.refuse("read_memory_file", **named(desk, "/old.md"))["type"] == "not_found_error"

    versions = MemoryVersion.objects.filter(store_id=desk.store.id).order_by("number")
    assert [version.operation for version in versions] == ["created", *["modified"] * 3, "deleted"]
    assert len({version.created_by_id for version in versions}) == 1
    assert {version.created_by_type for version in versions} == {"api_actor"}
    written = AuditEvent.objects.filter(parent_id=desk.store_id, actor_type="api_actor")
    assert written.count() == 5 and all(event.request_id for event in written)


def test_a_long_text_comes_in_pieces(desk: Desk) -> None:
    agent = desk.agent()
    text = "".join(chr(0x4E00 + number % 500) for number in range(30_000))
    agent.give("create_memory_file", **named(desk), content=text)
    first = agent.give("read_memory_file", **named(desk))
    assert (first["next_offset"], first["length"]) == (20_000, 30_000)
    second = agent.give("read_memory_file", **named(desk, offset=first["next_offset"]))
    assert second["next_offset"] is None and first["content"] + second["content"] == text
    assert agent.give("read_memory_file", **named(desk, offset=99_999))["content"] == ""
    assert agent.give("read_memory_file", **named(desk, offset=3, length=2))["content"] == text[3:5]


def test_lists_have_pages_and_directories(desk: Desk) -> None:
    agent = desk.agent("read_only")
    for number in range(5):
        memories.create_memory(
            desk.store_id, path=f"/d{number // 2}/{number}.md", content="x", actor=desk.tenant.actor
        )
    listed: list[str] = []
    page = None
    while True:
        given = agent.give("list_memory_files", memory_store_id=desk.store_id, limit=2, page=page)
        listed += [file["path"] for file in given["files"]]
        page = given["next_page"]
        if page is None:
            break
    assert listed == ["/d0/0.md", "/d0/1.md", "/d1/2.md", "/d1/3.md", "/d2/4.md"]
    top = agent.give("list_memory_files", memory_store_id=desk.store_id, recursive=False)
    assert top["files"] == [] and [one["path"] for one in top["directories"]] == ["/d0/", "/d1/", "/d2/"]
    below = agent.give("list_memory_files", memory_store_id=desk.store_id, path_prefix="/d1/")
    assert [file["path"] for file in below["files"]] == ["/d1/2.md", "/d1/3.md"]
    assert agent.refuse("list_memory_files", memory_store_id=desk.store_id, page="page_x")["type"] == (
        "invalid_request_error"
    )


def test_a_search_covers_the_stores_of_the_key_and_no_other(desk: Desk) -> None:
    hidden = memory_stores.create_store(
        environment="development", name="Hidden", description="", metadata={}, actor=desk.tenant.actor
    )
    for store_id in (desk.store_id, hidden.wire_id):
        memories.create_memory(
            store_id, path="/harbour.md", content="The harbour opens at nine.", actor=desk.tenant.actor
        )
    agent = desk.agent("read_only")
    for more in ({}, {"memory_store_id": desk.store_id}):
        [found] = agent.give("search_memory_files", query="harbour", **more)["found"]
        assert found["memory_store_id"] == desk.store_id and "harbour" in found["snippet"]["text"]
    assert agent.give("search_memory_files", query='"opens at ten"', mode="operators")["found"] == []
    foreign = agent.refuse("search_memory_files", query="harbour", memory_store_id=hidden.wire_id)
    assert foreign["type"] == "not_found_error"


def test_a_stale_digest_overwrites_nothing(desk: Desk) -> None:
    agent = desk.agent()
    seen = agent.give("create_memory_file", **named(desk), content="one")["content_sha256"]
    agent.give("update_memory_file", **named(desk), content="two", expected_content_sha256=seen)
    stale = {"expected_content_sha256": seen}
    for name, more in (
        ("update_memory_file", {"content": "three"}),
        ("edit_memory_file", {"old_text": "two", "new_text": "three"}),
        ("insert_into_memory_file", {"after_line": 0, "text": "three"}),
        ("delete_memory_file", {}),
    ):
        assert (
            agent.refuse(name, **named(desk), **more, **stale)["type"] == "memory_precondition_failed_error"
        )
    assert agent.give("read_memory_file", **named(desk))["content"] == "two"
    again = agent.give("update_memory_file", **named(desk), content="two", **stale)
    assert again["content_size_bytes"] == 3  # it is as wanted already
    assert MemoryVersion.objects.filter(store_id=desk.store.id).count() == 2


def test_an_edit_says_why_it_cannot_be_made(desk: Desk) -> None:
    agent = desk.agent()
    agent.give("create_memory_file", **named(desk), content="a\na\n")
    wrong = [
        ("edit_memory_file", {"old_text": "b", "new_text": ""}, "edit_passage_missing"),
        ("edit_memory_file", {"old_text": "a", "new_text": ""}, "edit_passage_ambiguous"),
        ("insert_into_memory_file", {"after_line": 3, "text": "x"}, "edit_line_missing"),
    ]
    for name, more, code in wrong:
        assert agent.refuse(name, **named(desk), **more)["details"]["error_code"] == code
    agent.give("edit_memory_file", **named(desk), old_text="a\na", new_text="")
    assert agent.give("read_memory_file", **named(desk))["content"] == "\n"


def test_what_may_not_be_written_is_refused_with_the_code_of_rest(desk: Desk) -> None:
    agent = desk.agent()
    agent.give("create_memory_file", **named(desk, "/a/b.md"), content="x")
    taken = agent.refuse("create_memory_file", **named(desk, "/a"), content="x")
    assert (taken["type"], taken["conflicting_path"]) == ("memory_path_conflict_error", "/a/b.md")
    large = agent.refuse("create_memory_file", **named(desk, "/c.md"), content="x" * 102_401)
    assert (large["type"], large["details"]["error_code"]) == (
        "request_too_large",
        "memory_content_too_large",
    )
    grown = agent.give("create_memory_file", **named(desk, "/d.md"), content="x" * 102_400)
    assert grown["content_size_bytes"] == 102_400
    over = agent.refuse("insert_into_memory_file", **named(desk, "/d.md"), after_line=0, text="y")
    assert over["details"]["error_code"] == "memory_content_too_large"
    for path in ("a.md", "/a/../b", "//", "/.memoryhub-store", "/x\u200b"):
        refused = agent.refuse("create_memory_file", **named(desk, path), content="x")
        assert refused["details"]["error_code"] == "memory_path_invalid", path


def test_a_freeze_and_an_archive_hold_for_agents(desk: Desk) -> None:
    agent = desk.agent()
    made = agent.give("create_memory_file", **named(desk), content="one")
    frozen = f"/v1/memory_stores/{desk.store_id}/memories/{made['memory_id']}/freeze"
    assert desk.call("POST", frozen).status == 200
    write = {**named(desk), "content": "two"}
    assert agent.refuse("update_memory_file", **write)["details"]["error_code"] == "memory_frozen"
    assert agent.give("read_memory_file", **named(desk))["frozen"] is True
    memory_stores.freeze_store(desk.store_id, actor=desk.tenant.actor)
    other = {**named(desk, "/new.md"), "content": "x"}
    assert agent.refuse("create_memory_file", **other)["details"]["error_code"] == "store_frozen"
    memory_stores.archive_store(desk.store_id, actor=desk.tenant.actor)
    assert agent.refuse("create_memory_file", **other)["details"]["error_code"] == "memory_store_archived"
    [store] = agent.give("list_memory_stores")["memory_stores"]
    assert (store["archived"], store["frozen"]) == (True, True)


def test_read_access_offers_and_allows_no_writing(desk: Desk) -> None:
    agent = desk.agent("read_only")
    assert all(tool.annotations.read_only_hint for tool in agent.tools().values())
    second = memory_stores.create_store(
        environment="development", name="Second", description="", metadata={}, actor=desk.tenant.actor
    )
    key = desk.tenant.new_key("agent", stores={desk.store.id: "read_only", second.id: "read_write"})
    mixed = type(agent)(agent.url, key)
    refused = mixed.refuse("create_memory_file", **named(desk), content="x")
    assert (refused["type"], refused["details"]["error_code"]) == ("permission_error", "store_read_only")
    assert mixed.give("create_memory_file", memory_store_id=second.wire_id, path="/a.md", content="x")


def test_a_session_uses_its_stores_by_its_token_until_it_ends(desk: Desk) -> None:
    wanted = WantedSession(
        environment="development",
        agent=None,
        deployment_id=None,
        bindings=[],
        stores=[WantedStore(desk.store_id, "read_write", None)],
        title="",
    )
    session = sessions.create_session(wanted, idempotency_key=None, actor=desk.tenant.actor).session
    issued = session_tokens.create_token(session.wire_id, seconds=60, actor=desk.tenant.actor)
    agent = Agent(desk.server.url, issued.secret)
    assert "save_memory" not in agent.tools()
    agent.give("create_memory_file", **named(desk), content="mine")
    version = MemoryVersion.objects.get(store_id=desk.store.id)
    assert (version.created_by_type, version.created_by_id) == ("session_actor", session.wire_id)
    sessions.end_session(session.wire_id, actor=desk.tenant.actor)
    body = json.dumps(call_body("list_memory_stores", {})).encode()
    assert ask(desk.server.port, "POST", "/mcp", body, issued.secret).status == 401

"""The official Python SDK, unmodified, against a running hub."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory, BetaManagedAgentsMemoryPrefix

from memoryhub.digests import sha256_hex
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from tests.conformance.sent import Sent
from tests.live import LiveHub
from tests.world import Tenant, unused_id


def precondition(content: str) -> Any:
    return {"type": "content_sha256", "content_sha256": sha256_hex(content)}


def test_lists_page_by_themselves(client: Anthropic, store_id: str, sent: Sent) -> None:
    memories = client.beta.memory_stores.memories
    paths = [f"/{n:02}.md" for n in range(23)]
    for path in paths:
        memories.create(store_id, path=path, content=path)
    sent.clear()
    assert [memory.path for memory in memories.list(store_id)] == paths
    assert sent.methods == ["GET", "GET"]  # 20 and 3
    full = list(memories.list(store_id, view="full", limit=100))
    assert [memory.content for memory in full if memory.type == "memory"] == paths
    versions = client.beta.memory_stores.memory_versions.list(store_id, limit=5)
    assert [version.path for version in versions] == paths[::-1]
    page = memories.list(store_id, limit=2)
    assert page.has_next_page() and page.next_page
    following = page.get_next_page()
    assert [memory.path for memory in following.data] == paths[2:4]


def test_memories_and_prefixes_are_told_apart_by_type(client: Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    for path in ("/a/1", "/a/2", "/b"):
        memories.create(store_id, path=path, content="")
    prefix, memory = list(memories.list(store_id, depth=1, limit=1))
    assert isinstance(prefix, BetaManagedAgentsMemoryPrefix) and prefix.path == "/a/"
    assert isinstance(memory, BetaManagedAgentsMemory) and memory.path == "/b"
    assert [item.path for item in memories.list(store_id, path_prefix=prefix.path)] == ["/a/1", "/a/2"]


def test_every_refusal_is_the_sdks_class_for_it(
    client: Anthropic, store_id: str, live: LiveHub, live_tenant: Tenant
) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="x")
    with pytest.raises(anthropic.BadRequestError) as bad:
        memories.create(store_id, path="a", content="x")
    assert (bad.value.status_code, bad.value.type) == (400, "invalid_request_error")
    with pytest.raises(anthropic.NotFoundError) as missing:
        memories.retrieve(unused_id("mem"), memory_store_id=store_id)
    assert missing.value.type == "not_found_error"
    with pytest.raises(anthropic.ContentTooLargeError) as large:
        memories.create(store_id, path="/b", content="x" * (MEMORY_CONTENT_BYTES_MAX + 1))
    assert large.value.type == "request_too_large"
    with pytest.raises(anthropic.ConflictError) as stale:
        memories.delete(made.id, memory_store_id=store_id, expected_content_sha256=sha256_hex("y"))
    assert stale.value.type == "memory_precondition_failed_error"
    with pytest.raises(anthropic.APIStatusError) as method:
        client.put("/v1/memory_stores", cast_to=object)
    assert method.value.status_code == 405
    with (
        Anthropic(base_url=live.url, api_key="wrong") as stranger,
        pytest.raises(anthropic.AuthenticationError) as unknown,
    ):
        stranger.beta.memory_stores.retrieve(store_id)
    assert unknown.value.type == "authentication_error"
    with (
        Anthropic(base_url=live.url, api_key=live_tenant.new_key("read")) as reader,
        pytest.raises(anthropic.PermissionDeniedError) as forbidden,
    ):
        reader.beta.memory_stores.archive(store_id)
    assert forbidden.value.type == "permission_error"


def test_a_path_conflict_names_what_is_in_the_way(client: Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a/b", content="x")
    with pytest.raises(anthropic.ConflictError) as taken:
        memories.create(store_id, path="/a", content="x")
    body: Any = taken.value.body
    assert taken.value.type == "memory_path_conflict_error"
    assert (body["error"]["conflicting_memory_id"], body["error"]["conflicting_path"]) == (made.id, "/a/b")
    assert taken.value.request_id == body["request_id"]


def test_a_conflict_is_sent_once(client: Anthropic, store_id: str, sent: Sent) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="x")
    sent.clear()
    with pytest.raises(anthropic.ConflictError):
        memories.update(made.id, memory_store_id=store_id, content="y", precondition=precondition("stale"))
    with pytest.raises(anthropic.ConflictError):
        memories.create(store_id, path="/a", content="y")
    with pytest.raises(anthropic.ConflictError):
        memories.delete(made.id, memory_store_id=store_id, expected_content_sha256=sha256_hex("stale"))
    assert sent.methods == ["POST", "POST", "DELETE"]


def test_an_update_whose_answer_was_lost_is_repeated_without_a_second_version(
    client: Anthropic, store_id: str, sent: Sent
) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="one")
    sent.clear()
    sent.answers_to_lose = 1
    updated = memories.update(
        made.id, memory_store_id=store_id, content="two", path="/b", precondition=precondition("one")
    )
    assert sent.methods == ["POST", "POST"]
    assert (updated.path, updated.content_sha256) == ("/b", sha256_hex("two"))
    versions = client.beta.memory_stores.memory_versions.list(store_id, memory_id=made.id)
    assert [version.operation for version in versions] == ["modified", "created"]


def test_a_create_whose_answer_was_lost_names_what_it_made(
    client: Anthropic, store_id: str, sent: Sent
) -> None:
    memories = client.beta.memory_stores.memories
    sent.clear()
    sent.answers_to_lose = 1
    with pytest.raises(anthropic.ConflictError) as taken:
        memories.create(store_id, path="/a", content="one")
    assert sent.methods == ["POST", "POST"]
    body: Any = taken.value.body
    made = memories.retrieve(body["error"]["conflicting_memory_id"], memory_store_id=store_id)
    assert made.content_sha256 == sha256_hex("one")


def test_archive_and_redact_whose_answers_were_lost_change_nothing_the_second_time(
    client: Anthropic, store_id: str, sent: Sent
) -> None:
    stores = client.beta.memory_stores
    made = stores.memories.create(store_id, path="/a", content="one")
    stores.memories.delete(made.id, memory_store_id=store_id)
    sent.clear()
    sent.answers_to_lose = 1
    redacted = stores.memory_versions.redact(made.memory_version_id, memory_store_id=store_id)
    assert (
        redacted.redacted_at
        == stores.memory_versions.redact(redacted.id, memory_store_id=store_id).redacted_at
    )
    sent.answers_to_lose = 1
    archived = stores.archive(store_id)
    assert archived == stores.archive(store_id)
    assert sent.methods == ["POST"] * 6


def test_the_raw_answer_carries_the_request_id(client: Anthropic, store_id: str) -> None:
    raw = client.beta.memory_stores.with_raw_response.retrieve(store_id)
    assert raw.headers["request-id"].startswith("req_")
    assert raw.request_id == raw.headers["request-id"]
    store = raw.parse()
    assert (store.id, store._request_id) == (store_id, raw.headers["request-id"])


def test_times_without_an_offset_are_utc(client: Anthropic, store_id: str) -> None:
    stores = client.beta.memory_stores
    created = stores.retrieve(store_id).created_at
    assert created.tzinfo is not None
    naive, tick = created.astimezone(UTC).replace(tzinfo=None), timedelta(microseconds=1)
    elsewhere = created.astimezone(datetime.strptime("+0530", "%z").tzinfo)
    for since, until in ((naive, naive), (created, created), (elsewhere, elsewhere)):
        found = stores.list(created_at_gte=since, created_at_lte=until)
        assert [store.id for store in found] == [store_id]
    assert list(stores.list(created_at_gte=naive + tick)) == []
    assert list(stores.list(created_at_lte=naive - tick)) == []


def test_null_in_an_update_means_left_out(client: Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="x")
    renamed = memories.update(made.id, memory_store_id=store_id, path="/b", content=None)
    assert (renamed.path, renamed.content_sha256) == ("/b", made.content_sha256)


def test_every_filter_of_versions(client: Anthropic, store_id: str) -> None:
    stores = client.beta.memory_stores
    made = stores.memories.create(store_id, path="/a", content="x")
    stores.memories.delete(made.id, memory_store_id=store_id)
    deleted, created = stores.memory_versions.list(store_id).data
    actor = created.created_by
    assert actor is not None and actor.type == "api_actor"
    found = stores.memory_versions.list(
        store_id,
        memory_id=made.id,
        operation="created",
        api_key_id=actor.api_key_id,
        created_at_gte=created.created_at,
        created_at_lte=created.created_at,
        view="full",
    )
    assert [(version.id, version.content) for version in found] == [(created.id, "x")]
    assert list(stores.memory_versions.list(store_id, session_id="sesn_x")) == []
    assert list(stores.memory_versions.list(store_id, service_account_id="svac_x")) == []
    assert (deleted.operation, deleted.content_sha256, deleted.path) == ("deleted", None, "/a")


@pytest.mark.parametrize("memory_id", ["a/../b?x=1", "%00", "mem_é", "mem_" + "0" * 3_000])
def test_an_id_that_cannot_exist_is_not_found(client: Anthropic, store_id: str, memory_id: str) -> None:
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store_id)
    assert missing.value.type == "not_found_error"


def test_any_beta_header_is_accepted(client: Anthropic, store_id: str) -> None:
    betas: Any = ["managed-agents-2026-04-01", "whatever"]
    assert client.beta.memory_stores.retrieve(store_id, betas=betas).id == store_id


def test_a_key_may_come_as_an_auth_token(live: LiveHub, live_tenant: Tenant) -> None:
    with Anthropic(base_url=live.url, auth_token=live_tenant.key) as client:
        assert client.beta.memory_stores.list().data == []


def test_the_async_client(live: LiveHub, live_tenant: Tenant) -> None:
    async def walk() -> None:
        async with AsyncAnthropic(base_url=live.url, api_key=live_tenant.key) as client:
            stores = client.beta.memory_stores
            store = await stores.create(name="Async")
            paths = [f"/{n}.md" for n in range(5)]
            await asyncio.gather(*(stores.memories.create(store.id, path=p, content="old") for p in paths))
            assert [memory.path async for memory in stores.memories.list(store.id, limit=2)] == paths
            (first, *_) = (await stores.memories.list(store.id, limit=1)).data
            assert isinstance(first, BetaManagedAgentsMemory)
            # Five writers who saw the same content: one wins.
            outcomes = await asyncio.gather(
                *(
                    stores.memories.update(
                        first.id, memory_store_id=store.id, content=f"{n}", precondition=precondition("old")
                    )
                    for n in range(5)
                ),
                return_exceptions=True,
            )
            lost = [outcome for outcome in outcomes if isinstance(outcome, anthropic.ConflictError)]
            assert len(lost) == 4
            assert {str(error.type) for error in lost} == {"memory_precondition_failed_error"}
            await stores.delete(store.id)

    asyncio.run(walk())

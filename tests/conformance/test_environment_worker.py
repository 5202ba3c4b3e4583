"""The official SDK's worker, unmodified, takes the work of a running hub: it mounts the stores, runs tools, and saves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.environments import EnvironmentWorker
from anthropic.lib.tools._memories import SessionMemoryStores
from django.db import connection

from memoryhub import session_events
from providers import sessions
from stores import memories
from stores.models import Memory, MemoryVersion, Work
from tests.conformance.test_readme import INSTALLED
from tests.live import LiveHub
from tests.work.bench import Bench, token_of
from tests.world import Tenant

SECONDS_MAX = 60


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the hub says that stores are mounted, in a place of the test's own."""
    monkeypatch.setattr("stores.attachments.MOUNTS_ROOT", str(tmp_path / "memory"))
    yield tmp_path / "memory"


def worker_of(bench: Bench, live: LiveHub, workdir: Path) -> EnvironmentWorker:
    client = AsyncAnthropic(base_url=live.url, api_key="never sent", max_retries=0)
    return EnvironmentWorker(
        client,
        environment_id=bench.environment.wire_id,
        environment_key=bench.worker.key,
        workdir=workdir,
        max_idle=1,
        memory_sync_interval=5,
    )


async def aside[Found](ask: Callable[[], Found]) -> Found:
    """Aside from the loop, and leaving no connection behind."""

    def run() -> Found:
        try:
            return ask()
        finally:
            connection.close()

    return await asyncio.to_thread(run)


async def until(look: Callable[[], Any]) -> Any:
    """What `look` finds."""
    async with asyncio.timeout(SECONDS_MAX):
        while not (found := await aside(look)):
            await asyncio.sleep(0.1)
        return found


async def run_worker(worker: EnvironmentWorker, meanwhile: Awaitable[None]) -> None:
    running = asyncio.create_task(worker.run())
    try:
        await meanwhile
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    await worker._client.close()


def tell(bench: Bench, type_: str, **data: Any) -> str:
    return session_events.add_event(
        bench.session_id, type_=type_, data=data, actor=bench.tenant.actor
    ).wire_id


def results(bench: Bench) -> list[dict[str, Any]]:
    events = session_events.list_events(bench.session_id, after=0, limit=100, actor=bench.tenant.actor)
    return [event.data for event in events if event.type == "user.tool_result"]


def test_its_version_is_the_one_that_is_pinned() -> None:
    assert anthropic.__version__ == INSTALLED


def test_the_worker_of_the_sdk_serves_a_session(
    live: LiveHub, live_tenant: Tenant, mounts: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It reads what is mounted, writes a file, is refused in a store to read, saves at the end and stops its item."""
    caplog.set_level(logging.INFO, logger="anthropic")
    bench = Bench(live_tenant)
    for store, path in ((bench.notes, "/old.md"), (bench.rules, "/rule.md")):
        memories.create_memory(store.wire_id, path=path, content=f"{path}\n", actor=live_tenant.actor)

    async def converse() -> None:
        asked = await aside(
            lambda: tell(
                bench, "agent.tool_use", name="read", input={"file_path": str(mounts / "notes/old.md")}
            )
        )
        (answered,) = await until(lambda: results(bench))
        assert answered["tool_use_id"] == asked, answered
        assert "/old.md" in str(answered["content"]) and not answered["is_error"], answered
        write = {"file_path": str(mounts / "notes/new.md"), "content": "written\n"}
        await aside(lambda: tell(bench, "agent.tool_use", name="write", input=write))
        refused = {"file_path": str(mounts / "rules/new.md"), "content": "refused\n"}
        await aside(lambda: tell(bench, "agent.tool_use", name="write", input=refused))
        await until(lambda: len(results(bench)) == 3)
        assert [one["is_error"] for one in await until(lambda: results(bench))] == [False, False, True]
        await aside(lambda: tell(bench, "session.status_idle", stop_reason={"type": "end_turn"}))
        await until(lambda: Work.objects.get(environment=bench.environment).state == "stopped")

    asyncio.run(run_worker(worker_of(bench, live, tmp_path), converse()))
    version = MemoryVersion.objects.get(store=bench.notes, path="/new.md")
    item = Work.objects.get(environment=bench.environment)
    assert (version.content, version.created_by_type) == ("written\n", "session_actor")
    assert (version.created_by_id, version.work_id) == (bench.session_id, item.id)
    assert set(Memory.objects.filter(store=bench.rules).values_list("path", flat=True)) == {"/rule.md"}
    assert not (mounts / "notes").exists(), "the worker disposes of what it made"
    assert item.claims_count == 1
    problems = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert problems == []


def test_the_worker_of_the_sdk_ends_when_its_session_does(
    live: LiveHub, live_tenant: Tenant, mounts: Path, tmp_path: Path
) -> None:
    bench = Bench(live_tenant)
    bench.queue()

    async def end_it() -> None:
        await until(lambda: Work.objects.filter(environment=bench.environment, state="active").exists())
        await until(lambda: (mounts / "notes").exists())
        await aside(lambda: sessions.end_session(bench.session_id, actor=live_tenant.actor))
        await until(lambda: not (mounts / "notes").exists())

    asyncio.run(run_worker(worker_of(bench, live, tmp_path), end_it()))
    assert Work.objects.get(environment=bench.environment).state == "stopped"


def test_the_sync_engine_of_the_sdk_runs_with_a_work_items_token(
    live: LiveHub, live_tenant: Tenant, mounts: Path, tmp_path: Path
) -> None:
    bench = Bench(live_tenant)
    memories.create_memory(bench.notes.wire_id, path="/a.md", content="one\n", actor=live_tenant.actor)
    bench.queue()
    polled = live.caller(bench.worker.key)("GET", bench.url("poll")).body

    async def sync() -> None:
        token = token_of(polled["secret"])
        place = {"environment_id": bench.environment.wire_id}
        async with AsyncAnthropic(base_url=live.url, auth_token=token) as client:
            await aside(lambda: live.caller(bench.worker.key)("POST", bench.url(polled["id"], "ack")))
            work = client.beta.environments.work
            await work.heartbeat(polled["id"], expected_last_heartbeat="NO_HEARTBEAT", **place)
            session = await client.beta.sessions.retrieve(bench.session_id)
            stores = SessionMemoryStores(client, workdir=tmp_path, sync_interval=5)
            await stores.download(session)
            (mounts / "notes/a.md").write_text("two\n")
            (mounts / "notes/b.md").write_text("three\n")
            await stores.finish()
            await stores.dispose()
            stopped = await work.stop(polled["id"], force=True, **place)
            assert stopped.state == "stopped"

    asyncio.run(sync())
    contents = {
        memory.path: memory.head.content
        for memory in Memory.objects.filter(store=bench.notes).select_related("head")
    }
    assert contents == {"/a.md": "two\n", "/b.md": "three\n"}


def test_the_poller_of_the_sdk_reads_an_empty_queue(live: LiveHub, live_tenant: Tenant) -> None:
    bench = Bench(live_tenant)
    with anthropic.Anthropic(base_url=live.url, auth_token=bench.worker.key) as client:
        work = client.beta.environments.work
        assert work.poll(bench.environment.wire_id) is None
        bench.queue()
        item = work.poll(bench.environment.wire_id, block_ms=999, anthropic_worker_id="one")
        assert item is not None and item.data.id == bench.session_id
        assert work.stats(bench.environment.wire_id).pending == 1
        assert [one.id for one in work.list(bench.environment.wire_id)] == [item.id]
        assert work.retrieve(item.id, environment_id=bench.environment.wire_id).secret is None
        assert work.update(
            item.id, environment_id=bench.environment.wire_id, metadata={"box": "one"}
        ).metadata == {"box": "one"}

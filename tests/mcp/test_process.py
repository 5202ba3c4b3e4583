"""Many calls at once, two tenants in one process, and its end."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from memoryhub.embedded import processes
from stores import memories, memory_stores
from stores.models import Memory, MemoryVersion
from tests.live import url_of
from tests.mcp.conftest import Desk
from tests.mcp.live import LiveMcp, connect

PARALLEL = 50


def test_fifty_edits_at_once_lose_nothing(desk: Desk) -> None:
    agent = desk.agent()
    lines = "".join(f"line {number}\n" for number in range(PARALLEL))
    named = {"memory_store_id": desk.store_id, "path": "/a.md"}
    agent.give("create_memory_file", **named, content=lines)

    async def edit_all() -> list[bool]:
        done: list[bool] = []
        async with connect(agent.url, agent.key) as client, anyio.create_task_group() as group:

            async def edit(number: int) -> None:
                arguments = {**named, "old_text": f"line {number}\n", "new_text": f"done {number}\n"}
                for _ in range(PARALLEL):
                    result = await client.call_tool("edit_memory_file", arguments)
                    if not result.is_error:
                        done.append(True)
                        return

            for number in range(PARALLEL):
                group.start_soon(edit, number)
        return done

    assert len(anyio.run(edit_all)) == PARALLEL
    text = agent.give("read_memory_file", **named)["content"]
    assert text == "".join(f"done {number}\n" for number in range(PARALLEL))
    assert MemoryVersion.objects.filter(store_id=desk.store.id).count() == PARALLEL + 1


def test_two_tenants_in_one_process_never_see_each_other(desk: Desk, other: Desk) -> None:
    """Z8 of the promises, in small: 16 callers, and a canary of each tenant."""
    sides = [(desk, "CANARY-ONE"), (other, "CANARY-TWO")]
    for side, canary in sides:
        memories.create_memory(
            side.store_id, path="/a.md", content=f"harbour {canary}", actor=side.tenant.actor
        )
    agents = [(side.agent(), side.store_id, canary) for side, canary in sides]

    def ask(number: int) -> str:
        agent, store_id, canary = agents[number % 2]
        calls = [
            ("list_memory_stores", {}),
            ("search_memory_files", {"query": "harbour"}),
            ("read_memory_file", {"memory_store_id": store_id, "path": "/a.md"}),
        ]
        name, arguments = calls[number % 3]
        shown = json.dumps(agent.post(name, arguments))
        assert canary in shown or store_id in shown
        return shown

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(300)))
    for number, shown in enumerate(answers):
        assert sides[1 - number % 2][1] not in shown and sides[1 - number % 2][0].store_id not in shown


@pytest.fixture
def alone(test_database: None, tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[LiveMcp]:
    """A process of the test's own, to be ended."""
    own = LiveMcp(
        tmp_path, database_url=url_of(connection.settings_dict), settings={"MEMORYHUB_MCP_THREADS": "2"}
    )
    with django_db_blocker.unblock():
        try:
            own.start()
            yield own
        finally:
            own.stop()
            connection.close()


def test_a_call_under_way_is_answered_before_the_end_and_waiters_hold_up_no_one_else(alone: LiveMcp) -> None:
    desk = Desk(alone)
    agent = desk.agent()
    named = {"memory_store_id": desk.store_id, "path": "/a.md"}
    agent.give("create_memory_file", **named, content="one")
    given: list[dict[str, object]] = []

    def update() -> None:
        given.append(agent.post("update_memory_file", {**named, "content": "two"}))

    caller = threading.Thread(target=update)
    with transaction.atomic():
        Memory.objects.select_for_update().get(store_id=desk.store.id)
        caller.start()
        assert processes.wait_until(_somebody_waits, 10)
        assert alone.ask("GET", "/healthz").status == 200  # the other thread is free
        pid = alone.program.pid()
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        time.sleep(0.5)
        assert alone.program.pid() is not None and not given
    caller.join(20)
    [answer] = given
    assert answer["result"]["isError"] is False  # type: ignore[index]
    assert processes.wait_until(lambda: alone.program.pid() is None, 20)
    child = alone.program._child
    assert child is not None and child.returncode == 0
    assert "Traceback" not in alone.log.read_text()
    assert memory_stores.get_store(desk.store_id, actor=desk.tenant.actor)
    assert MemoryVersion.objects.filter(store_id=desk.store.id).count() == 2


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])

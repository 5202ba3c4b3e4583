"""A whole hub: its one line, its parts under kill -9, its end and its second start."""

import os
import signal
from collections.abc import Callable

import pytest

from memoryhub.embedded import EmbeddedPostgres, hub_url_file, processes
from memoryhub.exits import Exit
from tests.mcp.live import Agent
from tests.up.hubs import RECOVER_SECONDS_MAX, RunningHub, list_parts, new_data_dir, run_command, run_up
from tests.up.test_refusals import refuse

FACTS = ["url", "mcp_url", "api_key", "project", "environment", "sign_in_url", "data_dir"]


def create_store(hub: RunningHub, name: str) -> str:
    status, store = hub.call("POST", "/v1/memory_stores", {"name": name})
    assert status == 200, store
    return str(store["id"])


def store_names(hub: RunningHub, key: str | None = None) -> list[str]:
    status, page = hub.call("GET", "/v1/memory_stores?limit=100", key=key)
    assert status == 200, page
    return [store["name"] for store in page["data"]]


def test_one_line_says_where_and_how(hub: RunningHub) -> None:
    assert list(hub.facts) == FACTS
    assert hub.facts["data_dir"] == str(hub.data_dir)
    assert (hub.facts["project"], hub.facts["environment"]) == ("default", "development")
    assert hub.facts["sign_in_url"].startswith(hub.facts["url"] + "/")
    assert hub.is_ready()


def test_when_it_is_ready_its_workers_take_jobs(hub: RunningHub) -> None:
    """The caller of the first call of a service waits for two seconds only."""
    ready = hub.data_dir / "run"
    parts = ("mcp", "provider-worker", "worker")
    assert {file.name for file in ready.glob("*.ready")} == {f"{name}.ready" for name in parts}
    for module in ("memoryhub.worker", "memoryhub.celery"):
        [pid] = list_parts(hub.data_dir, module)
        assert processes.is_running(pid)


def test_a_command_beside_it_knows_its_address(hub: RunningHub) -> None:
    done = run_command(hub.data_dir, "sign_in_link")
    assert done.stdout.startswith(f"{hub.facts['url']}/sign-in/"), done.stderr


def test_the_first_store_holds_the_products_own_pages(hub: RunningHub) -> None:
    status, page = hub.call("GET", "/v1/memory_stores")
    assert status == 200
    [store] = [store for store in page["data"] if "handbook" in store["name"]]
    status, page = hub.call("GET", f"/v1/memory_stores/{store['id']}/memories?limit=100")
    assert status == 200 and "/docs/operations.md" in [memory["path"] for memory in page["data"]]


def test_a_second_hub_on_the_folder_is_refused(hub: RunningHub) -> None:
    refuse(run_up(hub.data_dir), Exit.BUSY, str(hub.data_dir))
    assert hub.is_ready()


@pytest.mark.parametrize(
    "arguments",
    [
        ("create_key", "--project", "nowhere", "--scope", "read"),
        ("export_store", "memstore_nowhere", "store.tar"),
        ("sign_in_link", "nowhere@example.com"),
    ],
)
def test_a_command_that_is_refused_says_so_in_one_sentence(
    hub: RunningHub, arguments: tuple[str, ...]
) -> None:
    refuse(run_command(hub.data_dir, *arguments), Exit.REFUSED, "nowhere")


def web_parent(hub: RunningHub) -> int:
    return min(list_parts(hub.data_dir, "gunicorn"))


def web_child(hub: RunningHub) -> int:
    return max(list_parts(hub.data_dir, "gunicorn"))


def worker(hub: RunningHub) -> int:
    [pid] = list_parts(hub.data_dir, "memoryhub.worker")
    return pid


def mcp(hub: RunningHub) -> int:
    [pid] = list_parts(hub.data_dir, "memoryhub.mcp")
    return pid


def queue(hub: RunningHub) -> int:
    [pid] = hub.queue_pids()
    return pid


def postmaster(hub: RunningHub) -> int:
    pid = EmbeddedPostgres(hub.data_dir).pid()
    assert pid is not None
    return pid


def backend(hub: RunningHub) -> int:
    parent = postmaster(hub)
    title = f"{hub.data_dir}/pgdata"
    return max(
        pid
        for pid in processes.list_processes()
        if pid != parent and str(processes.folder_of(pid)) == title and processes.name_of(pid) == "postgres"
    )


@pytest.mark.parametrize("find", [web_parent, web_child, mcp, worker, queue, backend, postmaster])
def test_a_killed_part_is_back_and_nothing_acknowledged_is_lost(
    hub: RunningHub, find: Callable[[RunningHub], int]
) -> None:
    assert processes.wait_until(lambda: list_parts(hub.data_dir, "memoryhub.worker") != [], 5)
    name = f"written before the kill of {find.__name__}"
    create_store(hub, name)
    killed = find(hub)
    os.kill(killed, signal.SIGKILL)
    assert processes.wait_until(lambda: not processes.is_running(killed), 5)
    assert processes.wait_until(hub.is_ready, RECOVER_SECONDS_MAX, step_seconds=0.05)
    assert name in store_names(hub)
    assert processes.wait_until(lambda: _has_new(hub, find, killed), RECOVER_SECONDS_MAX)
    assert hub.process.poll() is None


def test_agents_connect_at_mcp_url_and_a_killed_server_is_back_for_them(hub: RunningHub) -> None:
    store_id = create_store(hub, "for an agent")
    stores = [{"memory_store_id": store_id, "access": "read_write"}]
    wanted = {"name": "agent", "environment": "development", "scopes": ["agent"], "stores": stores}
    status, key = hub.call("POST", "/v1/api_keys", wanted)
    assert status == 200, key
    agent = Agent(hub.facts["mcp_url"], key["key"])
    named = {"memory_store_id": store_id, "path": "/a.md"}
    agent.give("create_memory_file", **named, content="kept")
    os.kill(mcp(hub), signal.SIGKILL)
    assert (
        agent.give("read_memory_file", **named)["content"] == "kept"
    )  # it waits at the port, which stays open


def _has_new(hub: RunningHub, find: Callable[[RunningHub], int], killed: int) -> bool:
    try:
        return find(hub) != killed
    except (ValueError, AssertionError):
        return False


def test_the_end_is_orderly_and_a_second_start_finds_everything() -> None:
    with new_data_dir() as folder:
        first = RunningHub(folder / "data")
        create_store(first, "kept")
        assert first.stop(signal.SIGTERM) == (0, "")
        assert list_parts(first.data_dir) == [] and first.queue_pids() == []
        assert EmbeddedPostgres(first.data_dir).pid() is None
        assert not hub_url_file(first.data_dir).exists()
        log = (first.data_dir / "logs" / "postgres.log").read_text()
        assert "database system is shut down" in log.splitlines()[-1]

        second = RunningHub(folder / "data")
        assert list(second.facts) == FACTS and second.facts["api_key"] != first.facts["api_key"]
        assert "kept" in store_names(second)
        assert "kept" in store_names(second, key=first.facts["api_key"])

        second.process.kill()  # the whole hub loses its head
        second.process.communicate(timeout=10)
        assert processes.wait_until(lambda: list_parts(first.data_dir) == [], 15)
        third = RunningHub(folder / "data")
        assert "kept" in store_names(third)
        assert third.stop(signal.SIGINT) == (0, "")
        assert not (folder / "data" / "backups").exists()

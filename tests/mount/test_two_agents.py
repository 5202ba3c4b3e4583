"""Two agents in two folders and an owner in the console work on one store; one agent is killed, one is paused past its lease."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from stores.models import Memory, Work
from tests.console.site import Site, add_person, form_of, sign_in
from tests.live import LiveHub
from tests.mount.ground import Bench, files_of
from tests.source import ROOT
from tests.world import Tenant

SECONDS_MAX = 60


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < ends_at, what
        time.sleep(0.2)


@dataclass
class Agents:
    """The workers of one store's sessions, each with a folder of its own."""

    live: LiveHub
    tenant: Tenant
    bench: Bench
    started: "list[Agent]" = field(default_factory=list)

    def open_session(self) -> str:
        call = self.live.caller(self.tenant.key)
        resource = {"type": "memory_store", "memory_store_id": self.bench.shelf.store_id}
        session = call("POST", "/v1/sessions", {"environment": "development", "resources": [resource]}).body
        assert call("POST", f"/v1/sessions/{session['id']}/work").status == 201
        return str(session["id"])

    def start(self, name: str) -> "Agent":
        """A worker takes the item that waits, and its agent is at work."""
        environment = {
            **os.environ,
            "MEMORYHUB_URL": self.live.url,
            "MEMORYHUB_KEY": self.tenant.new_key("worker"),
            "PYTHONPATH": str(ROOT),
        }
        folder = self.bench.folder / name
        words = ["--work", "development", "--once", "--interval", "5", "--root", str(folder)]
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "stores.mount.command",
                *words,
                "--",
                "sh",
                "-c",
                "echo $$; exec sleep 600",
            ],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        agent = Agent(process, int(process.stdout.readline()), folder / "notes")
        self.started.append(agent)
        return agent

    def take_lease_away(self, session_id: str) -> None:
        """Its time is over now, and nobody has beaten for it."""
        live = Work.objects.filter(session_id=ids.from_wire(ids.SESSION, session_id)).exclude(state="stopped")
        assert live.update(lease_expires_at=ClockTimestamp()) == 1


@dataclass
class Agent:
    """`pid`: of what runs under the mount of `process`."""

    process: "subprocess.Popen[str]"
    pid: int
    root: Path

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def kill(self) -> None:
        """With its mount, as when their machine is gone."""
        if self.process.poll() is None:
            for pid in (self.process.pid, self.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.communicate(timeout=30)

    def sees(self, files: dict[str, str]) -> bool:
        return files_of(self.root) == files


@pytest.fixture
def agents(live: LiveHub, live_tenant: Tenant, bench: Bench) -> Iterator[Agents]:
    made = Agents(live, live_tenant, bench)
    yield made
    for agent in made.started:
        agent.kill()


@pytest.fixture
def owner(live: LiveHub, live_tenant: Tenant) -> Site:
    return sign_in(add_person(live_tenant, "owner"), live_tenant.project)


def edit(owner: Site, bench: Bench, path: str, text: str) -> None:
    """As the owner does it, on the page."""
    url = f"/stores/{bench.shelf.store_id}/memories/{bench.memory(path).wire_id}/edit"
    answer = owner.post(url, form_of(owner.get(url)) | {"content": text})
    assert answer.status_code == 302, answer.content


def explain(agents: Agents) -> list[dict[str, Any]]:
    """Every version, oldest first, as the API tells it."""
    call = agents.live.caller(agents.tenant.key)
    listed = call("GET", agents.bench.shelf.url("memory_versions"), query={"view": "full"})
    return list(reversed(listed.body["data"]))


def test_the_history_explains_every_byte(agents: Agents, owner: Site) -> None:
    bench = agents.bench
    bench.shelf.put("/plan", "v0\n")
    first_session = agents.open_session()
    first = agents.start("first")
    second_session = agents.open_session()
    second = agents.start("second")

    first.write("of-first", "1\n")
    second.write("of-second", "2\n")
    edit(owner, bench, "/plan", "the owner's\n")
    all_three = {"/plan": "the owner's\n", "/of-first": "1\n", "/of-second": "2\n"}
    wait_until(lambda: first.sees(all_three) and second.sees(all_three), "both folders are equal")

    os.kill(first.process.pid, signal.SIGSTOP)  # so that no pass comes between the edit and the end
    first.write("never-saved", "lost with its agent\n")
    first.kill()
    agents.take_lease_away(first_session)
    heir = agents.start("heir")
    assert heir.sees(all_three)

    os.kill(second.process.pid, signal.SIGSTOP)
    second.write("plan", "too late\n")
    agents.take_lease_away(second_session)
    successor = agents.start("successor")
    successor.write("plan", "the successor's\n")
    wait_until(lambda: bench.memories()["/plan"] == "the successor's\n", "the successor saves")
    os.kill(second.process.pid, signal.SIGCONT)
    _, said = second.process.communicate(timeout=SECONDS_MAX)
    assert second.process.returncode == 75, said
    kept = [
        file.read_text() for file in (second.root.parent / ".memoryhub-kept").rglob("*") if file.is_file()
    ]
    assert "too late\n" in kept

    wait_until(lambda: heir.sees(all_three | {"/plan": "the successor's\n"}), "the heir sees it")
    for agent in (heir, successor):
        agent.process.send_signal(signal.SIGTERM)
        agent.process.communicate(timeout=SECONDS_MAX)
        assert not agent.root.exists()

    history = [
        (one["path"], one["operation"], one["content"], one["created_by"]["type"]) for one in explain(agents)
    ]
    own_files = sorted(history[1:-1], key=lambda one: str(one[2]))
    assert history[0] == ("/plan", "created", "v0\n", "user_actor")
    assert own_files == [
        ("/of-first", "created", "1\n", "session_actor"),
        ("/of-second", "created", "2\n", "session_actor"),
        ("/plan", "modified", "the owner's\n", "user_actor"),
    ]
    assert history[-1] == ("/plan", "modified", "the successor's\n", "session_actor")
    by = {one["content"]: one["created_by"] for one in explain(agents)}
    assert by["1\n"]["session_id"] == first_session
    assert by["2\n"]["session_id"] == by["the successor's\n"]["session_id"] == second_session
    assert by["2\n"]["work_id"] == by["the successor's\n"]["work_id"]
    held = Memory.objects.filter(store_id=bench.shelf.store.id).select_related("head")
    assert {one.path: one.head.content for one in held} == all_three | {"/plan": "the successor's\n"}

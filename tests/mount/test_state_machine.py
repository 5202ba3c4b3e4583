"""Two mounts and an owner on one store, with faults between. Nothing that was written is lost, and at rest all are equal.

An agent's own overwriting or deleting of what it wrote is no loss. Everything else is in the history, in its file, or aside.
"""

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memoryhub.errors import HubError
from stores import memory_stores
from stores.models import Memory
from tests.live import LiveHub
from tests.mount.ground import Bench, FaultyTransport
from tests.stores.shelf import Shelf
from tests.world import Tenant

EXAMPLES = int(os.environ.get("MEMORYHUB_TEST_MOUNT_EXAMPLES", "6"))
STEPS = int(os.environ.get("MEMORYHUB_TEST_MOUNT_STEPS", "25"))
PATHS = ["/a", "/b", "/d", "/d/x", "/d/y", "/e/f/g", "/e/f"]
ROUNDS_TO_REST = 12

sides = st.sampled_from([0, 1])
paths = st.sampled_from(PATHS)
faults = st.lists(st.sampled_from([None, None, "lose", "drop", "503"]), max_size=8)


class Agent:
    """One mount, and what its agent wrote and did not take back."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.written: dict[str, str] = {}  # text -> path

    def forget(self, path: str) -> None:
        """The agent itself replaces or removes what is at a path."""
        file = self.bench.root / path[1:]
        if file.is_file():
            self.written.pop(file.read_text(), None)

    def write(self, path: str, text: str) -> None:
        file = self.bench.root / path[1:]
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.is_dir():
                self.forget(path)
                file.write_text(text)
                self.written[text] = path

    def delete(self, path: str) -> None:
        file = self.bench.root / path[1:]
        if file.is_file():
            self.forget(path)
            file.unlink()
            for above in (file.parent, file.parent.parent):
                if above != self.bench.root and not any(above.iterdir()):
                    above.rmdir()

    def move(self, old: str, new: str) -> None:
        source, target = self.bench.root / old[1:], self.bench.root / new[1:]
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_file() and not target.is_dir():
                if target.is_file() and source != target:
                    self.forget(new)
                source.rename(target)

    def sync(self, planned: list[str | None]) -> None:
        waiting = list(planned)
        self.bench.transport.fault = lambda method, path: waiting.pop() if waiting else None
        self.bench.sync()
        self.bench.transport.fault = lambda method, path: None


class Machine(RuleBasedStateMachine):
    live: LiveHub
    tenant: Tenant

    def __init__(self) -> None:
        super().__init__()
        store = memory_stores.create_store(
            environment="development", name="Notes", description="", metadata={}, actor=self.tenant.actor
        )
        self.shelf = Shelf(store.wire_id, self.tenant.actor)
        self.folder = TemporaryDirectory()
        self.numbers = count()
        self.agents = [self._mount(name) for name in ("one", "two")]

    def _mount(self, name: str) -> Agent:
        folder = Path(self.folder.name) / name
        folder.mkdir()
        bench = Bench(self.shelf, FaultyTransport(self.live.url, self.tenant.key), folder)
        bench.mount()
        return Agent(bench)

    @rule(side=sides, path=paths)
    def agent_writes(self, side: int, path: str) -> None:
        self.agents[side].write(path, f"{side}-{next(self.numbers)}")

    @rule(side=sides, path=paths)
    def agent_deletes(self, side: int, path: str) -> None:
        self.agents[side].delete(path)

    @rule(side=sides, old=paths, new=paths)
    def agent_moves(self, side: int, old: str, new: str) -> None:
        self.agents[side].move(old, new)

    @rule(path=paths)
    def owner_writes(self, path: str) -> None:
        text = f"owner-{next(self.numbers)}"
        memory = self._find(path)
        with suppress(HubError):
            if memory is None:
                self.shelf.put(path, text)
            else:
                self.shelf.update(memory, content=text)

    @rule(path=paths)
    def owner_deletes(self, path: str) -> None:
        memory = self._find(path)
        if memory is not None:
            self.shelf.delete(memory)

    @rule(old=paths, new=paths)
    def owner_moves(self, old: str, new: str) -> None:
        memory = self._find(old)
        with suppress(HubError):
            if memory is not None:
                self.shelf.update(memory, path=new)

    @rule(side=sides, planned=faults)
    def pass_runs(self, side: int, planned: list[str | None]) -> None:
        self.agents[side].sync(planned)

    @rule(side=sides)
    def time_goes_by(self, side: int) -> None:
        pending = self.agents[side].bench.disk.pending_delete
        for path in pending:
            pending[path] -= 31

    @invariant()
    def nothing_written_is_lost(self) -> None:
        for agent in self.agents:
            here = set(agent.bench.files().values()) | set(agent.bench.kept())
            missing = agent.written.keys() - here
            if missing:
                history = {version.content for version in self.shelf.versions()}
                assert missing <= history, (missing, agent.bench.events)

    def teardown(self) -> None:
        try:
            self._rest()
        finally:
            for agent in self.agents:
                assert agent.bench.mounted is not None
                agent.bench.mounted.dispose()
                agent.bench.transport.close()
            self.folder.cleanup()

    def _rest(self) -> None:
        for _ in range(ROUNDS_TO_REST):
            for agent in self.agents:
                agent.bench.confirm_deletes()
            one, two = (agent.bench for agent in self.agents)
            if one.files() == two.files() == one.memories():
                break
        said = [agent.bench.events[-8:] for agent in self.agents]
        assert one.files() == one.memories(), said
        assert two.files() == one.memories(), said
        self.nothing_written_is_lost()

    def _find(self, path: str) -> Memory | None:
        return Memory.objects.filter(store_id=self.shelf.store.id, path_key=path.encode()).first()


def test_two_mounts_and_an_owner_lose_nothing_and_meet(live: LiveHub, live_tenant: Tenant) -> None:
    class OnThisHub(Machine):
        pass

    OnThisHub.live, OnThisHub.tenant = live, live_tenant
    run_state_machine_as_test(
        OnThisHub,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

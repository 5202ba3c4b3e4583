"""Clients write while the parts of a hub are killed: nothing acknowledged is lost, nothing is done twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.answers import Answer, Call
from tests.concurrency.clients import (
    Editor,
    Race,
    created,
    digest,
    judge,
    list_versions,
    make_editors,
    make_memory,
    make_store,
    run_together,
)
from tests.concurrency.histories import Recorder
from tests.crash.hub import ANSWER_AGAIN_SECONDS_MAX, CrashHub
from tests.live import NoAnswerError

EDITORS = 6
MAKERS = 2
PATHS = 3
PAUSE_SECONDS_MAX = 0.8

type Harm = Callable[[CrashHub, random.Random], None]

# Each with how often it is done, relative to the others.
type Harms = Mapping[str, tuple[Harm, int]]
HARMS: Harms = {
    "kill a web process": (CrashHub.kill_web_process, 4),
    "pause a web process": (CrashHub.pause_web_process, 2),
    "end connections": (CrashHub.end_backends, 4),
    "kill a backend": (CrashHub.kill_backend, 2),
    "kill PostgreSQL": (CrashHub.kill_postgres, 2),
    "restart PostgreSQL at once": (CrashHub.restart_postgres_at_once, 1),
    "kill the queue": (CrashHub.kill_queue, 2),
}


def only(name: str) -> Harms:
    return {name: HARMS[name]}


@dataclass
class Maker:
    """One client: creates memories and deletes them, and sends each again until it is certain of the outcome."""

    name: str
    call: Call
    store_id: str
    made: int = 0  # paths whose creation is certain
    removed: int = 0  # of these, whose deletion is certain
    answers: Counter[int] = field(default_factory=Counter)

    def path(self, number: int) -> str:
        return f"/{self.name}/{number}"

    def make_and_remove(self, ended: threading.Event) -> None:
        path, content = self.path(self.made), f"{self.name} {self.made}"
        memory_id = self._create(path, content, ended)
        if memory_id is None:
            return
        self.made += 1
        if self._delete(memory_id, content, ended):
            self.removed += 1

    def _create(self, path: str, content: str, ended: threading.Event) -> str | None:
        """The id, also when an earlier try that got no answer made it; None when the run ended first."""
        base = f"/v1/memory_stores/{self.store_id}/memories"
        answer = self._repeat(lambda: self.call("POST", base, {"path": path, "content": content}), ended)
        if answer is None:
            return None
        if answer.status != 409:
            return str(created(answer)["id"])
        existing = str(answer.body["error"]["conflicting_memory_id"])
        found = self._repeat(lambda: self.call("GET", f"{base}/{existing}", query={"view": "basic"}), ended)
        if found is None:
            return None
        assert created(found)["content_sha256"] == digest(content), "another's memory is at our path"
        return existing

    def _delete(self, memory_id: str, content: str, ended: threading.Event) -> bool:
        path = f"/v1/memory_stores/{self.store_id}/memories/{memory_id}"
        query = {"expected_content_sha256": digest(content)}
        answer = self._repeat(lambda: self.call("DELETE", path, query=query), ended)
        assert answer is None or answer.status in (200, 404), answer.body
        return answer is not None

    def _repeat(self, ask: Callable[[], Answer], ended: threading.Event) -> Answer | None:
        """Ask until an answer leaves nothing open."""
        while not ended.is_set():
            try:
                answer = ask()
            except NoAnswerError:
                self.answers[0] += 1
                continue
            self.answers[answer.status] += 1
            if answer.status < 500:
                return answer
        return None


@dataclass(frozen=True)
class Crashes:
    """What came of a run."""

    seed: int
    race: Race
    harms: Counter[str]
    acknowledged: int
    faults: list[str]


def run_crashes(
    hub: CrashHub,
    *,
    seconds: float,
    seed: int,
    harms: Harms = HARMS,
    pause_seconds_max: float = PAUSE_SECONDS_MAX,
    sealers: int = 0,
    again_seconds_max: float = ANSWER_AGAIN_SECONDS_MAX,
) -> Crashes:
    """Write and harm for some seconds, then let everything recover and look. `sealers`: of the audit trail."""
    call = hub.caller()
    store_id = make_store(call, f"Crash {seed}")
    memory_ids = [make_memory(call, store_id, f"/{number}") for number in range(PATHS)]
    recorder, rng, ended = Recorder(), random.Random(seed), threading.Event()
    editors = make_editors([call] * EDITORS, store_id, memory_ids, recorder, seed)
    makers = [Maker(f"maker-{number}", call, store_id) for number in range(MAKERS)]
    done: Counter[str] = Counter()
    sealing = [hub.inside("seal") for _ in range(sealers)]

    def harm() -> None:
        try:
            end = time.monotonic() + seconds
            first = rng.sample(list(harms), len(harms))  # each is done once, whatever is drawn after
            while time.monotonic() < end:
                ended.wait(rng.random() * pause_seconds_max)
                name = first.pop() if first else rng.choices(list(harms), [of for _, of in harms.values()])[0]
                harms[name][0](hub, rng)
                done[name] += 1
            hub.await_postgres()
            assert hub.await_answers(again_seconds_max), f"the hub does not answer again: {hub.web_log()}"
        finally:
            ended.set()

    try:
        run_together([*_works(editors, makers, ended)], meanwhile=harm)
    finally:
        for sealer in sealing:
            sealer.kill()
            sealer.communicate()
    call = hub.caller()  # the old one's connection may be to a process that was killed
    race = judge(call, store_id, memory_ids, recorder, editors, seed)
    faults = [*race.faults, *_check_makers(call, store_id, makers), *hub.find_faults()]
    faults += [f"{status} was answered" for status in race.statuses if status not in (0, 200, 409, 503)]
    acknowledged = race.acknowledged + sum(maker.made + maker.removed for maker in makers)
    return Crashes(seed, race, done, acknowledged, faults)


def _works(
    editors: Sequence[Editor], makers: Sequence[Maker], ended: threading.Event
) -> list[Callable[[], None]]:
    def edit(editor: Editor) -> None:
        while not ended.is_set():
            editor.edit()

    def make(maker: Maker) -> None:
        while not ended.is_set():
            maker.make_and_remove(ended)

    return [
        *[lambda editor=editor: edit(editor) for editor in editors],
        *[lambda maker=maker: make(maker) for maker in makers],
    ]


def _check_makers(call: Call, store_id: str, makers: Sequence[Maker]) -> list[str]:
    """Each creation and deletion that was certain stands in the history once; of the last one at most one try does."""
    by_path: dict[str, Counter[str]] = {}
    for version in list_versions(call, store_id):
        by_path.setdefault(version["path"], Counter())[version["operation"]] += 1
    faults = []
    for maker in makers:
        paths = [maker.path(number) for number in range(maker.made)]
        removed = sum(by_path.get(path, Counter())["deleted"] for path in paths)
        faults += [f"VANISHED: {path}" for path in paths if not by_path.get(path)]
        faults += (
            [f"REMOVALS LOST: {maker.name}, {removed} of {maker.removed}"] if removed < maker.removed else []
        )
    return faults + [
        f"DOUBLED: {path}: {dict(operations)}"
        for path, operations in by_path.items()
        if operations["created"] > 1 or operations["deleted"] > 1
    ]

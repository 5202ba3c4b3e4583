"""Clients that change the same memories at once, and what they saw. Sizes are arguments, callers are given."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import connections

from tests.answers import Answer, Call
from tests.concurrency.histories import (
    Outcome,
    Recorder,
    by_memory,
    find_chain_faults,
    find_order,
    without_effectless,
)
from tests.live import NoAnswerError

type Work = Callable[[], None]

END_SECONDS_MAX = 240.0
LIST_LIMIT = 100
WRITES_MAX = 10_000


def run_together(works: Sequence[Work], *, meanwhile: Work = lambda: None) -> None:
    """Run each in a thread of its own, all begun at once, and `meanwhile` in this one.

    Raises what the first of them raised.
    """
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Work) -> None:
        try:
            barrier.wait(30)
            work()
        except threading.BrokenBarrierError as error:
            failures.append(error)
        except BaseException as error:
            failures.insert(0, error)
        finally:
            if settings.configured:  # else every caller is outside this process
                connections.close_all()

    threads = [threading.Thread(target=run, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    meanwhile()
    end = time.monotonic() + END_SECONDS_MAX
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads), "a client does not end"


def in_rounds(rounds: int, *works: Callable[[int], None], between: Work = lambda: None) -> None:
    """Each work once a round; in every round all of them begin at once. `between` runs alone before each round."""
    barrier = threading.Barrier(len(works), action=between)

    def play(work: Callable[[int], None]) -> None:
        try:
            for number in range(rounds):
                barrier.wait(60)
                work(number)
        except BaseException:
            barrier.abort()  # else the others would wait for this one
            raise

    run_together([lambda work=work: play(work) for work in works])  # type: ignore[misc]
    between()


def digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()


def created(answer: Answer) -> dict[str, Any]:
    """The body of a successful answer."""
    assert answer.status == 200, (answer.status, answer.content)
    body: dict[str, Any] = answer.body
    return body


def make_store(call: Call, name: str = "Race") -> str:
    return str(created(call("POST", "/v1/memory_stores", {"name": name}))["id"])


def make_memory(call: Call, store_id: str, path: str, content: str = "first") -> str:
    body = {"path": path, "content": content}
    return str(created(call("POST", f"/v1/memory_stores/{store_id}/memories", body))["id"])


def list_all(call: Call, path: str, **query: Any) -> list[dict[str, Any]]:
    """Every item of a list, page by page."""
    items: list[dict[str, Any]] = []
    page: str | None = None
    while True:
        answer = created(
            call("GET", path, query={"limit": LIST_LIMIT, **query, **({"page": page} if page else {})})
        )
        items += answer["data"]
        page = answer["next_page"]
        if page is None:
            return items


def write_until_refused(write: Callable[[int], Answer]) -> Answer:
    """Write again and again; the first answer that is no success."""
    for number in range(WRITES_MAX):
        answer = write(number)
        if answer.status != 200:
            return answer
    raise AssertionError(f"{WRITES_MAX} writes were never refused")


def list_versions(call: Call, store_id: str, **query: Any) -> list[dict[str, Any]]:
    """Oldest first."""
    return list_all(call, f"/v1/memory_stores/{store_id}/memory_versions", **query)[::-1]


@dataclass
class Editor:
    """One client: reads a memory, then updates what it read on condition that it is still so."""

    name: str
    call: Call
    store_id: str
    memory_ids: Sequence[str]
    recorder: Recorder
    rng: random.Random
    edits: int = 0
    answers: Counter[int] = field(default_factory=Counter)

    def edit(self) -> None:
        memory_id = self.rng.choice(self.memory_ids)
        seen = self._read(memory_id)
        if seen is not None:
            self._update(memory_id, seen)

    def _read(self, memory_id: str) -> str | None:
        began = time.monotonic()
        answer = self._ask("GET", memory_id, None)
        if answer is None:
            return None
        seen = str(created(answer)["content_sha256"])
        self.recorder.note(self.name, memory_id, "read", "done", began, value=seen)
        return seen

    def _update(self, memory_id: str, expected: str) -> None:
        self.edits += 1
        content = f"{self.name} {self.edits}"
        precondition = {"type": "content_sha256", "content_sha256": expected}
        began = time.monotonic()
        answer = self._ask("POST", memory_id, {"content": content, "precondition": precondition})
        outcome: Outcome
        if answer is None:
            outcome = "lost"
        elif answer.status == 409:
            assert answer.error_type == "memory_precondition_failed_error", answer.body
            outcome = "refused"
        else:
            assert created(answer)["content_sha256"] == digest(content), answer.body
            outcome = "done"
        self.recorder.note(
            self.name,
            memory_id,
            "update",
            outcome,
            began,
            value=digest(content),
            expected=expected,
        )

    def _ask(self, method: str, memory_id: str, body: Any) -> Answer | None:
        """None: no answer, or one that leaves open what happened."""
        path = f"/v1/memory_stores/{self.store_id}/memories/{memory_id}"
        try:
            answer = self.call(method, path, body, query={"view": "basic"})
        except NoAnswerError:
            self.answers[0] += 1
            return None
        self.answers[answer.status] += 1
        return None if answer.status >= 500 else answer


def make_editors(
    call_each: Iterable[Call], store_id: str, memory_ids: Sequence[str], recorder: Recorder, seed: int
) -> list[Editor]:
    return [
        Editor(f"client-{number}", call, store_id, memory_ids, recorder, random.Random(seed * 1_000 + number))
        for number, call in enumerate(call_each)
    ]


@dataclass(frozen=True)
class Race:
    """What came of a race of updates."""

    seed: int
    calls: int
    acknowledged: int
    refused: int
    lost: int
    faults: list[str]
    statuses: Counter[int]

    @property
    def refused_share(self) -> float:
        return self.refused / max(1, self.refused + self.acknowledged)


def race_updates(call_each: Sequence[Call], *, paths: int, calls: int, seed: int) -> Race:
    """All clients read and update the same few memories until `calls` calls are made."""
    store_id = make_store(call_each[0], f"Race {seed}")
    memory_ids = [make_memory(call_each[0], store_id, f"/{number}") for number in range(paths)]
    recorder = Recorder()
    editors = make_editors(call_each, store_id, memory_ids, recorder, seed)

    def edit_until_full(editor: Editor) -> None:
        while len(recorder.calls) < calls:
            editor.edit()

    run_together([lambda editor=editor: edit_until_full(editor) for editor in editors])  # type: ignore[misc]
    return judge(call_each[0], store_id, memory_ids, recorder, editors, seed)


def judge(
    call: Call,
    store_id: str,
    memory_ids: Sequence[str],
    recorder: Recorder,
    editors: Sequence[Editor],
    seed: int,
) -> Race:
    """Check what the clients saw against the versions that are there now."""
    histories = by_memory(recorder.calls)
    faults: list[str] = []
    for memory_id in memory_ids:
        found = list_versions(call, store_id, memory_id=memory_id)
        versions = [str(version["content_sha256"]) for version in found]
        times = [version["created_at"] for version in found]
        history = histories.get(memory_id, [])
        faults += find_chain_faults(history, versions)
        verdict = find_order(without_effectless(history, versions), versions[0])
        faults += [] if verdict.order is not None else [f"{memory_id}: {verdict.why}"]
        faults += [] if times == sorted(times) else [f"{memory_id}: the versions' times turn back"]
    return Race(
        seed=seed,
        calls=len(recorder.calls),
        acknowledged=recorder.count("update", "done"),
        refused=recorder.count("update", "refused"),
        lost=recorder.count("update", "lost"),
        faults=faults,
        statuses=sum((editor.answers for editor in editors), Counter()),
    )

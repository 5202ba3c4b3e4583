import threading
from typing import Any

import pytest

from memoryhub.audit import AuditAction
from stores.models import Memory, MemoryVersion
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.stores.shelf import Shelf, audited
from tests.world import Caller, Tenant, unused_id

STORE_FROZEN = (403, "permission_error", "store_frozen")
MEMORY_FROZEN = (403, "permission_error", "memory_frozen")


@pytest.fixture
def agent(tenant: Tenant, shelf: Shelf) -> Caller:
    return tenant.caller("agent", stores={shelf.store.id: "read_write"})


def freeze(call: Any, shelf: Shelf, memory: Memory | None = None, word: str = "freeze") -> Any:
    answer = call("POST", shelf.url(word) if memory is None else f"{shelf.memory_url(memory)}/{word}")
    assert answer.status == 200, answer.body
    return answer.body


def writes(call: Any, shelf: Shelf, memory: Memory) -> list[tuple[int, str, str | None] | int]:
    """How an update, a rename, and a delete of the memory are answered."""
    url = shelf.memory_url(memory)
    answers = [
        call("POST", url, {"content": "changed"}),
        call("POST", url, {"path": "/renamed"}),
        call("DELETE", url),
    ]
    return [200 if answer.status == 200 else answer.refusal for answer in answers]


def test_agents_may_not_change_a_frozen_store_and_owners_may(
    call: Caller, agent: Caller, shelf: Shelf
) -> None:
    memory = shelf.put("/a", "one")
    shown = freeze(call, shelf)
    assert shown["frozen_at"] is not None and shown["archived_at"] is None
    assert shown == call("GET", shelf.url()).body
    created = agent("POST", shelf.memories_url, {"path": "/new", "content": "x"})
    assert [created.refusal, *writes(agent, shelf, memory)] == [STORE_FROZEN] * 4
    assert agent("GET", shelf.memory_url(memory)).body["content"] == "one"
    assert writes(call, shelf, memory) == [200] * 3
    freeze(call, shelf, word="unfreeze")
    assert agent("POST", shelf.memories_url, {"path": "/new", "content": "x"}).status == 200


def test_agents_may_not_change_a_frozen_memory_and_owners_may(
    call: Caller, agent: Caller, shelf: Shelf
) -> None:
    memory, other = shelf.put("/a", "one"), shelf.put("/other", "x")
    shown = freeze(call, shelf, memory)
    assert shown["frozen_at"] is not None and shown["content"] is None
    assert call("GET", shelf.memory_url(memory)).body["frozen_at"] == shown["frozen_at"]
    assert writes(agent, shelf, memory) == [MEMORY_FROZEN] * 3
    assert writes(agent, shelf, other) == [200] * 3
    assert writes(call, shelf, memory) == [200] * 3


def test_a_frozen_memory_can_be_changed_again_once_unfrozen(
    call: Caller, agent: Caller, shelf: Shelf
) -> None:
    memory = shelf.put("/a", "one")
    freeze(call, shelf, memory)
    assert freeze(call, shelf, memory, "unfreeze")["frozen_at"] is None
    assert writes(agent, shelf, memory) == [200] * 3


def test_each_freeze_is_audited_once_and_repeats_change_nothing(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    shown = freeze(call, shelf), freeze(call, shelf, memory)
    before = shelf.state()
    assert (freeze(call, shelf), freeze(call, shelf, memory)) == shown
    assert shelf.state() == before
    for _ in range(2):
        freeze(call, shelf, word="unfreeze")
        freeze(call, shelf, memory, "unfreeze")
    assert shelf.audit()[-4:] == [
        audited(AuditAction.MEMORY_STORE_FROZEN, shelf.store_id),
        audited(AuditAction.MEMORY_FROZEN, memory.wire_id),
        audited(AuditAction.MEMORY_STORE_UNFROZEN, shelf.store_id),
        audited(AuditAction.MEMORY_UNFROZEN, memory.wire_id),
    ]


def test_the_state_is_checked_in_the_order_of_the_contract(
    call: Caller, tenant: Tenant, agent: Caller, shelf: Shelf
) -> None:
    """Read-only access, archived, store frozen, memory exists, memory frozen, and only then what would change."""
    memory = shelf.put("/a", "one")
    url, absent = shelf.memory_url(memory), shelf.url("memories", unused_id("mem"))
    stale = {
        "content": "two",
        "precondition": {"type": "content_sha256", "content_sha256": "0" * 64},
    }
    freeze(call, shelf, memory)
    assert agent("POST", url, stale).refusal == MEMORY_FROZEN
    assert agent("POST", url, {"content": "one"}).refusal == MEMORY_FROZEN  # though it would change nothing
    assert agent("POST", absent, stale).refusal == (404, "not_found_error", None)
    freeze(call, shelf)
    assert agent("POST", url, stale).refusal == STORE_FROZEN
    taken = agent("POST", shelf.memories_url, {"path": "/a", "content": "x"})
    assert taken.refusal == STORE_FROZEN
    shelf.archive()
    assert agent("POST", url, stale).refusal == (400, "invalid_request_error", "memory_store_archived")
    reader = tenant.caller("agent", stores={shelf.store.id: "read_only"})
    assert reader("POST", url, stale).refusal == (403, "permission_error", "store_read_only")


def test_the_state_is_shown_in_lists(call: Caller, shelf: Shelf) -> None:
    frozen, other = shelf.put("/a"), shelf.put("/b")
    freeze(call, shelf, frozen)
    shown = {item["id"]: item["frozen_at"] for item in call("GET", shelf.memories_url).body["data"]}
    assert shown[frozen.wire_id] is not None and shown[other.wire_id] is None
    stores = call("GET", "/v1/memory_stores").body["data"]
    assert [store["frozen_at"] for store in stores] == [None]


def test_an_archived_store_may_be_frozen(call: Caller, shelf: Shelf) -> None:
    shelf.archive()
    assert freeze(call, shelf)["frozen_at"] is not None


@pytest.mark.parametrize("word", ["freeze", "unfreeze"])
def test_what_the_caller_may_not_see_answers_like_an_unknown_id(
    shelf: Shelf, stranger: Tenant, word: str
) -> None:
    memory = shelf.put()
    theirs, unknown = stranger.call(), Shelf(unused_id("memstore"), shelf.actor)
    for path in (word, f"memories/{memory.wire_id}/{word}"):
        for body in (None, {"unknown": 1}):
            foreign, absent = theirs("POST", shelf.url(path), body), theirs("POST", unknown.url(path), body)
            assert foreign.status == absent.status == 404
            assert foreign.body["error"] == absent.body["error"]


def test_a_missing_memory_is_not_found_and_a_field_is_refused(call: Caller, shelf: Shelf) -> None:
    url = shelf.url("memories", unused_id("mem"), "freeze")
    assert call("POST", url).refusal == (404, "not_found_error", None)
    assert call("POST", shelf.url("freeze"), {"for": "ever"}).refusal == (400, "invalid_request_error", None)
    assert call("POST", shelf.url("freeze"), {}).status == 200


def test_agents_and_readers_may_not_freeze(tenant: Tenant, agent: Caller, shelf: Shelf) -> None:
    memory = shelf.put()
    for caller in (agent, tenant.caller("read")):
        for url in (shelf.url("freeze"), f"{shelf.memory_url(memory)}/unfreeze"):
            assert caller("POST", url).refusal == (403, "permission_error", "scope_missing")


AGENTS = 50
TURNS = 20
FREEZES_MAX = 4


class Race:
    """Agents that update until they are refused, and the owner who freezes among them."""

    def __init__(self, shelf: Shelf, targets: list[Memory]) -> None:
        self.shelf, self.targets = shelf, targets
        self.under_way = threading.Barrier(AGENTS + 1)
        self.frozen = threading.Event()
        self.written_after: list[str] = []
        self.newest_when_frozen = 0

    def update(self, caller: Any, number: int) -> None:
        url = self.shelf.memory_url(self.targets[number % len(self.targets)])
        for turn in range(TURNS):
            if turn == 1:
                self.under_way.wait(60)
            if not self._write(caller, url, f"{number}.{turn}"):
                return
        assert self.frozen.wait(60)
        self._write(caller, url, f"{number}.last")

    def _write(self, caller: Any, url: str, content: str) -> bool:
        was_frozen = self.frozen.is_set()
        answer = caller("POST", url, {"content": content})
        if answer.status == 200 and was_frozen:
            self.written_after.append(content)
        assert answer.status == 200 or answer.refusal in (STORE_FROZEN, MEMORY_FROZEN), answer.body
        return bool(answer.status == 200)

    def stop(self, owner: Any, memory: Memory | None) -> None:
        self.under_way.wait(60)
        try:
            self._freeze(owner, memory)
            self.newest_when_frozen = self.newest()
        finally:
            self.frozen.set()

    def _freeze(self, owner: Any, memory: Memory | None) -> None:
        """Repeated as the hub asks when a busy machine lets it wait past the time of a statement."""
        path = self.shelf.url("freeze") if memory is None else f"{self.shelf.memory_url(memory)}/freeze"
        answers = [owner("POST", path)]
        while answers[-1].status == 503 and len(answers) < FREEZES_MAX:
            answers.append(owner("POST", path))
        assert answers[-1].status == 200, answers[-1].body

    def newest(self) -> int:
        return MemoryVersion.objects.filter(store_id=self.shelf.store.id).latest("number").number


@pytest.mark.parametrize("of_store", [True, False], ids=["store", "memory"])
def test_no_agent_commits_after_the_freeze_has_answered(
    live: LiveHub, live_tenant: Tenant, of_store: bool
) -> None:
    """Fifty agents' updates against one freeze, in two web processes."""
    made = live_tenant.call()("POST", "/v1/memory_stores", {"name": "Race"})
    shelf = Shelf(made.body["id"], live_tenant.actor)
    key = live_tenant.new_key("agent", stores={shelf.store.id: "read_write"})
    race = Race(shelf, [shelf.put(f"/{number}", "first") for number in range(10 if of_store else 1)])
    owner, agents = live.caller(live_tenant.key), [live.caller(key) for _ in range(AGENTS)]
    works = [
        lambda caller=caller, number=number: race.update(caller, number)
        for number, caller in enumerate(agents)
    ]
    run_together([*works, lambda: race.stop(owner, None if of_store else race.targets[0])])
    assert race.written_after == []
    assert race.newest() == race.newest_when_frozen
    shelf.update(race.targets[0], content="the owner writes on")

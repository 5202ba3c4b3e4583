"""Owners in the console and agents at the API change one memory at once: nobody replaces what he has not seen."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from memoryhub import ids
from stores import memories
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.answers import Call
from tests.concurrency.clients import digest, make_memory, make_store, run_together
from tests.console.site import Site, form_of, sign_in
from tests.live import LiveHub
from tests.world import Tenant

WRITERS = 4  # of each kind
EDITS_EACH = 25


@dataclass
class Edits:
    """`acknowledged`: (digest that was named, text that was saved); `refused`: texts that were not."""

    store_id: str
    memory_id: str
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def note(self, named: str, text: str, *, is_saved: bool) -> bool:
        if is_saved:
            self.acknowledged.append((named, text))
        else:
            self.refused.append(text)
        return is_saved

    def by_owner(self, site: Site, name: str, number: int) -> None:
        """A form as a person sends it; refused, the one that came back, once, over what it showed."""
        page = f"/stores/{self.store_id}/memories/{self.memory_id}/edit"
        form = form_of(site.get(page))
        for attempt in ("first", "again"):
            text = f"{name} {number} {attempt}"
            answer = site.post(page, form | {"content": text})
            assert answer.status_code in (302, 409)
            if self.note(form["content_sha256"], text, is_saved=answer.status_code == 302):
                return
            form = form_of(answer)
            assert form["content"] == text, "typed text came back"

    def by_agent(self, call: Call, name: str, number: int) -> None:
        url = f"/v1/memory_stores/{self.store_id}/memories/{self.memory_id}"
        named, text = call("GET", url).body["content_sha256"], f"{name} {number}"
        precondition = {"type": "content_sha256", "content_sha256": named}
        answer = call("POST", url, {"content": text, "precondition": precondition})
        assert answer.status in (200, 409)
        self.note(named, text, is_saved=answer.status == 200)

    def faults(self) -> list[str]:
        """Of the history: what was acknowledged and is not there once, what was refused and is, what was overwritten unseen."""
        history = [str(version.content) for version in self.versions()]
        saved = [text for _, text in self.acknowledged]
        before = {after: digest(earlier) for earlier, after in pairwise(history)}
        return [
            *(f"not once: {text}" for text in saved if history.count(text) != 1),
            *(f"not asked for: {text}" for text in history[1:] if text not in saved),
            *(f"lost update by: {text}" for named, text in self.acknowledged if before.get(text) != named),
        ]

    def versions(self) -> list[MemoryVersion]:
        key = ids.from_wire(ids.MEMORY, self.memory_id)
        return list(MemoryVersion.objects.filter(memory_id=key).order_by("number"))


def race(live: LiveHub, tenant: Tenant, agent: Callable[[], Call], *, writers: int, edits_each: int) -> Edits:
    setup = live.caller(tenant.key)
    store_id = make_store(setup)
    edits = Edits(store_id, make_memory(setup, store_id, "/a.md"))

    def own(number: int) -> None:
        site = sign_in(tenant.owner, tenant.project)
        for edit in range(edits_each):
            edits.by_owner(site, f"owner {number}", edit)

    def write(number: int) -> None:
        call = agent()
        for edit in range(edits_each):
            edits.by_agent(call, f"agent {number}", edit)

    run_together(
        [lambda work=work, n=n: work(n) for n in range(writers) for work in (own, write)]  # type: ignore[misc]
    )
    return edits


def test_no_edit_is_lost_between_the_console_and_the_api(live: LiveHub, live_tenant: Tenant) -> None:
    edits = race(
        live, live_tenant, lambda: live.caller(live_tenant.key), writers=WRITERS, edits_each=EDITS_EACH
    )
    assert edits.faults() == []
    assert len(edits.acknowledged) + len(edits.refused) >= 2 * WRITERS * EDITS_EACH
    assert len(edits.refused) > WRITERS, "no race"


def test_the_race_finds_a_console_that_compares_without_the_lock(
    live: LiveHub, live_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_memory(store: MemoryStore, memory_id: str) -> Memory:
        return Memory.objects.get(store_id=store.id, id=memories._key(memory_id))

    monkeypatch.setattr(memories, "lock_memory", read_memory)
    edits = race(live, live_tenant, lambda: live_tenant.caller("admin"), writers=2, edits_each=15)
    assert any(fault.startswith("lost update") for fault in edits.faults())

"""Writes whose outcome is uncertain: sent again only where their class says so, parked for a person, never dropped."""

import threading
from typing import Any

import pytest
from django.db import connection

from memoryhub.errors import Conflict, Gone
from memoryhub.models import AuditEvent
from providers import ledger, record_effects, records
from providers.contract import Err, Ok, ProviderError, RecordRef
from providers.guard import ScopedMemory
from providers.models import MemoryEffect
from tests.providers.record_desk import (
    LookingUp,
    RecordDesk,
    Scripted,
    bind,
    remember,
    unavailable,
)
from tests.world import Tenant


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "DELAY_SECONDS", (0.01, 0.02))


@pytest.fixture
def desk(committed: Tenant) -> RecordDesk:
    return RecordDesk(committed)


def use(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it the one that effects are found under."""
    monkeypatch.setattr(records, "find_provider", lambda name: bind(provider))


def effect_of(desk: RecordDesk, key: str = "k1") -> MemoryEffect:
    return MemoryEffect.objects.get(scope=desk.row(), key=key)


def is_certain(result: Any) -> bool:
    return not (isinstance(result, Err) and result.error.is_uncertain)


# --- unguarded ---


def test_an_unguarded_write_is_sent_once_and_waits_for_a_person(desk: RecordDesk) -> None:
    provider = Scripted(unavailable())
    written = remember(desk.memory(provider))
    assert written.is_uncertain and len(provider.sent) == 1
    effect = effect_of(desk)
    assert (effect.state, effect.attempts, effect.claim) == ("unknown", 1, None)
    again = remember(desk.memory(provider))
    assert again.is_uncertain and len(provider.sent) == 1, "the same write again is not sent"


def test_a_person_takes_it_for_done(desk: RecordDesk) -> None:
    provider = Scripted(unavailable())
    remember(desk.memory(provider))
    effect = record_effects.resolve_effect(effect_of(desk).wire_id, decision="done", actor=desk.actor)
    assert (effect.state, effect.payload, effect.decision) == ("resolved", None, "done")
    assert (effect.decided_by_type, effect.decided_by_id) == (desk.actor.type, desk.actor.actor_id)
    assert remember(desk.memory(provider)).result == Ok(None) and len(provider.sent) == 1
    record_effects.resolve_effect(effect.wire_id, decision="done", actor=desk.actor)
    with pytest.raises(Conflict):
        record_effects.resolve_effect(effect.wire_id, decision="not_done", actor=desk.actor)
    noted = AuditEvent.objects.filter(project=desk.tenant.project, action="memory_effect.resolved")
    assert [event.subject_id for event in noted] == [effect.wire_id]


def test_a_person_has_it_sent_again_under_the_same_key(
    desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Scripted(unavailable())
    use(provider, monkeypatch)
    remember(desk.memory(provider))
    effect = record_effects.resolve_effect(effect_of(desk).wire_id, decision="not_done", actor=desk.actor)
    assert provider.sent == [("remember", "k1"), ("remember", "k1")]
    assert provider.records[0] == provider.records[1]
    assert (effect.state, effect.outcome) == ("resolved", {"id": "r1", "version": "1"})
    assert remember(desk.memory(provider)).result == Ok(RecordRef("r1", "1"))


def test_sent_again_it_may_be_unknown_again(desk: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Scripted(unavailable(), unavailable())
    use(provider, monkeypatch)
    remember(desk.memory(provider))
    effect = record_effects.resolve_effect(effect_of(desk).wire_id, decision="not_done", actor=desk.actor)
    assert (effect.state, effect.attempts) == ("unknown", 2)
    effect = record_effects.resolve_effect(effect.wire_id, decision="not_done", actor=desk.actor)
    assert effect.state == "resolved"


# --- idempotent ---


def test_an_idempotent_write_is_sent_again_under_the_same_key(desk: RecordDesk) -> None:
    provider = Scripted(unavailable(), RuntimeError("reset"), effect="idempotent", window_ms=60_000)
    assert remember(desk.memory(provider)).result == Ok(RecordRef("r1", "1"))
    assert provider.sent == [("remember", "k1")] * 3
    assert (effect_of(desk).state, effect_of(desk).attempts) == ("done", 3)


def test_after_three_sends_it_is_sent_later(desk: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Scripted(*[unavailable()] * 3, effect="idempotent", window_ms=60_000)
    use(provider, monkeypatch)
    assert remember(desk.memory(provider)).is_uncertain
    effect = effect_of(desk)
    assert (effect.state, effect.claim) == ("begun", None) and len(provider.sent) == 3
    make_due(effect)
    record_effects.sweep_effects()
    assert effect_of(desk).state == "done" and sent_of(provider) == 4


def sent_of(provider: Scripted, key: str = "k1") -> int:
    """How often the effect was sent: a sweep sends what other tests have left too."""
    return provider.sent.count(("remember", key))


def make_due(effect: MemoryEffect) -> None:
    MemoryEffect.objects.filter(id=effect.id).update(claimed_until="2020-01-01T00:00:00Z")


def test_after_its_window_it_waits_for_a_person(desk: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Scripted(*[unavailable()] * 9, effect="idempotent", window_ms=1)
    assert remember(desk.memory(provider)).is_uncertain
    assert effect_of(desk).state == "unknown" and len(provider.sent) == 1


def test_it_is_not_sent_for_ever(desk: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Scripted(*[unavailable()] * 99, effect="idempotent", window_ms=10**9)
    use(provider, monkeypatch)
    remember(desk.memory(provider))
    for _ in range(9):
        make_due(effect_of(desk))
        record_effects.sweep_effects()
    assert effect_of(desk).state == "unknown"
    assert ledger.RECOVERY_SENDS_MAX <= sent_of(provider) <= ledger.RECOVERY_SENDS_MAX + 2


# --- guarded ---


@pytest.mark.parametrize(
    ("found", "state", "sends"),
    [
        ([Ok("done")], "done", 1),
        ([Ok("not_done")], "done", 2),
        ([Ok("unknown")], "unknown", 1),
        ([unavailable()], "unknown", 1),
        ([Ok("perhaps")], "unknown", 1),
    ],
)
def test_a_guarded_write_is_looked_up(desk: RecordDesk, found: list[Any], state: str, sends: int) -> None:
    provider = LookingUp(unavailable(), found=found)
    written = remember(desk.memory(provider))
    assert is_certain(written.result) == (state == "done")
    assert effect_of(desk).state == state and len(provider.sent) == sends


def test_a_guarded_write_that_nobody_can_look_up_waits_for_a_person(desk: RecordDesk) -> None:
    provider = Scripted(unavailable(), effect="guarded")
    assert remember(desk.memory(provider)).is_uncertain and effect_of(desk).state == "unknown"
    assert len(provider.sent) == 1


# --- certain answers ---


@pytest.mark.parametrize(
    "answer",
    [
        Err(ProviderError("invalid", "no")),
        Err(ProviderError("scope_violation", "no")),
        unavailable(sent=False),
    ],
)
def test_what_certainly_did_not_happen_may_be_sent_anew(desk: RecordDesk, answer: Err) -> None:
    provider = Scripted(answer)
    memory = desk.memory(provider)
    refused = remember(memory)
    assert refused.result == answer and not refused.is_uncertain
    assert (effect_of(desk).state, effect_of(desk).payload) == ("failed", None)
    assert remember(memory).result == Ok(RecordRef("r1", "1"))
    assert effect_of(desk).state == "done" and len(provider.sent) == 2


def test_a_write_that_is_done_is_not_sent_again(desk: RecordDesk) -> None:
    provider = Scripted()
    memory = desk.memory(provider)
    first, again = remember(memory), remember(memory)
    assert first.result == again.result and (first.is_new, again.is_new) == (True, False)
    assert len(provider.sent) == 1 and effect_of(desk).payload is None


def test_a_key_is_of_one_write(desk: RecordDesk) -> None:
    provider = Scripted()
    memory = desk.memory(provider)
    remember(memory)
    other = remember(memory, text="Another.")
    assert isinstance(other.result, Err) and other.result.error.code == "invalid"
    assert len(provider.sent) == 1
    assert isinstance(memory.forget("r1", "k1").result, Ok), "a forget has keys of its own"


# --- crashes ---


def test_what_a_crash_left_is_an_uncertain_write(desk: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    for provider, state, sends in (
        (Scripted(effect="idempotent", window_ms=60_000), "done", 1),
        (Scripted(), "unknown", 0),
        (LookingUp(found=[Ok("done")]), "done", 0),
        (LookingUp(found=[Ok("not_done")]), "done", 1),
    ):
        use(provider, monkeypatch)
        key = f"crash-{state}-{sends}-{type(provider).__name__}"
        _begin_and_die(desk.memory(provider), key)
        record_effects.sweep_effects()
        assert effect_of(desk, key).state == "begun", "another may still be sending it"
        make_due(effect_of(desk, key))
        record_effects.sweep_effects()
        assert (effect_of(desk, key).state, sent_of(provider, key)) == (state, sends)


def _begin_and_die(memory: ScopedMemory, key: str) -> None:
    class Killed(BaseException): ...

    def die(*args: Any, **named: Any) -> Any:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "_perform", die)
        with pytest.raises(Killed):
            remember(memory, key)


def test_a_run_that_lost_its_claim_settles_nothing(desk: RecordDesk) -> None:
    provider = Scripted()
    _begin_and_die(desk.memory(provider), "k1")
    stale = effect_of(desk)
    make_due(stale)
    assert ledger.claim_due() is not None
    ledger._settle(stale, Ok(RecordRef("stale", "1")))
    assert effect_of(desk).state == "begun"


def test_two_sweepers_never_take_the_same_effect(desk: RecordDesk) -> None:
    provider = Scripted()
    for number in range(6):
        _begin_and_die(desk.memory(provider), f"k{number}")
        make_due(effect_of(desk, f"k{number}"))
    taken: list[Any] = []

    def sweep() -> None:
        try:
            while effect := ledger.claim_due():
                taken.append(effect.id)
        finally:
            connection.close()

    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    mine = {effect.id for effect in MemoryEffect.objects.filter(scope=desk.row())}
    assert len(taken) == len(set(taken)) and mine <= set(taken)


def test_an_effect_of_a_provider_that_is_gone_waits_for_a_person(
    desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _begin_and_die(desk.memory(Scripted()), "k1")
    make_due(effect_of(desk))
    record_effects.sweep_effects()
    assert effect_of(desk).state == "unknown"


# --- erasure ---


def test_what_was_to_be_sent_is_erased_with_the_text(
    desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.providers.test_call_secrets import tables_with
    from tests.providers.test_text_erasure import redact

    canary = f"canary{desk.tenant.project.id.hex}"
    provider = Scripted(unavailable())
    use(provider, monkeypatch)
    remember(desk.memory(provider), text=f"It is {canary}.")
    assert tables_with(canary) == ["providers_memoryeffect"]
    done = redact(desk.tenant, contains=canary).body
    assert done["elsewhere"]["copies"] == {"memory_effects": 1}
    assert tables_with(canary) == []
    effect = MemoryEffect.objects.get(scope=desk.row())
    with pytest.raises(Gone):
        record_effects.resolve_effect(effect.wire_id, decision="not_done", actor=desk.actor)
    resolved = record_effects.resolve_effect(effect.wire_id, decision="done", actor=desk.actor)
    assert resolved.state == "resolved"

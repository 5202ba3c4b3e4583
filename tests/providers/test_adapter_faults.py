"""What an adapter says when its service fails: which error, whether it may have happened, and that nothing happens twice."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from memoryhub.digests import sha256_hex
from memoryhub.ids import new_id
from memoryhub.private_origins import parse_private_origins
from memoryhub.rooms import list_needs
from providers import ledger, record_effects, remote_records
from providers.adapters import remote, service
from providers.contract import Err, Ok, RecordRef
from providers.guard import ScopedMemory
from providers.models import MemoryEffect, RemoteRecord, ScopeViolation
from providers.remote_needs import list_refused
from providers.remote_records import seal_text
from tests.noise import NOISE_SECONDS
from tests.providers import misbehaving
from tests.providers.memory_services import KEY
from tests.providers.misbehaving import Behaviour
from tests.providers.record_desk import NEW, RecordDesk
from tests.providers.services import in_thread
from tests.providers.test_adapters import Adapt, Adapted, adapt, adapted  # noqa: F401 - fixtures

SAVES_AGAIN = ["hindsight"]
LOOKS_UP = ["mem0", "letta"]
PARKS = ["honcho", "zep"]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "DELAY_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(ledger, "DELAY_SECONDS", (0.01, 0.02))


def opened(made: Adapted) -> str:
    """The id of a first record: the scope's place at the service is there, so that the next request is the one that is meant."""
    return made.save("First of all.", "k0")


def told(result: Any) -> tuple[str, bool]:
    assert isinstance(result, Err), result
    return result.error.code, result.error.is_uncertain


UNAVAILABLE = [401, 402, 403, 408, 429, 500, 502, 503, 504]
INVALID = [400, 404, 409, 413, 422, 301, 418]


@pytest.mark.parametrize("status", UNAVAILABLE)
def test_a_service_that_cannot_serve_is_unavailable(adapted: Adapted, status: int) -> None:  # noqa: F811
    opened(adapted)
    adapted.fake.endpoint.script = [misbehaving.error(status)]
    assert told(adapted.remember()) == ("unavailable", True)
    adapted.fake.endpoint.script = [misbehaving.error(status)] * 3
    assert told(adapted.recall()) == ("unavailable", True)


@pytest.mark.parametrize("status", INVALID)
def test_a_refusal_is_invalid_and_its_key_is_free(adapted: Adapted, status: int) -> None:  # noqa: F811
    opened(adapted)
    adapted.fake.endpoint.script = [misbehaving.error(status)]
    assert told(adapted.remember()) == ("invalid", False)
    assert adapted.remember("Another record.") and [one.text for one in adapted.fake.kept] == [
        "First of all.",
        "Another record.",
    ]
    adapted.fake.endpoint.script = [misbehaving.error(status)]
    assert told(adapted.recall()) == ("invalid", False)


def test_a_read_is_tried_three_times_and_a_write_once(adapted: Adapted) -> None:  # noqa: F811
    record_id = opened(adapted)
    adapted.find("first")
    adapted.fake.endpoint.script = [misbehaving.error(503), misbehaving.drop]
    assert [hit.id for hit in adapted.find("first")] == [record_id]
    asked = len(adapted.fake.endpoint.exchanges)
    adapted.fake.endpoint.script = [misbehaving.error(503)] * 3
    assert told(adapted.recall()) == ("unavailable", True)
    assert len(adapted.fake.endpoint.exchanges) == asked + 3
    adapted.fake.endpoint.script = [misbehaving.error(401)]
    adapted.recall()
    adapted.fake.endpoint.script = [misbehaving.error(503)]
    adapted.remember()
    assert len(adapted.fake.endpoint.exchanges) == asked + 5


BROKEN: dict[str, Behaviour] = {
    "no JSON": misbehaving.raw(misbehaving.answer(200, b"<html>")),
    "no UTF-8": misbehaving.raw(misbehaving.answer(200, b"\xff\xfe")),
    "too large": misbehaving.raw(misbehaving.answer(200, b"[" + b" " * 2_097_152 + b"]")),
    "another shape": misbehaving.body(
        {"results": [{"id": 7, "memory": None}], "episodes": 3, "conclusions": 4}
    ),
    "a list of texts": misbehaving.body(["x"]),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_answer_that_cannot_be_read(adapted: Adapted, how: str) -> None:  # noqa: F811
    """Of a recall it is invalid. Of a save that was taken nobody knows: never that it certainly did not happen."""
    opened(adapted)
    adapted.fake.endpoint.script = [BROKEN[how]]
    if (adapted.name, how) != ("hindsight", "another shape"):  # facts of no document are nobody's
        assert told(adapted.recall()) == ("invalid", False)
    adapted.fake.endpoint.script = [BROKEN[how]]
    result = adapted.remember()
    assert isinstance(result, Ok) or told(result) == ("unavailable", True)


def test_a_service_that_is_silent_is_a_timeout(adapted: Adapted, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    opened(adapted)
    monkeypatch.setattr(service, "PROVIDER_SECONDS_MAX", 0.3)
    adapted.fake.endpoint.script = [misbehaving.hang]
    assert told(adapted.remember()) == ("timeout", True)
    monkeypatch.setattr(service, "PROVIDER_SECONDS_MAX", 10.0)
    monkeypatch.setattr(remote, "PROVIDER_SECONDS_MAX", 0.4)
    adapted.fake.endpoint.script = [misbehaving.hang]
    started = time.monotonic()
    assert told(adapted.recall()) == ("timeout", True) and time.monotonic() - started < 2 + NOISE_SECONDS


def test_nothing_leaves_without_a_secret_or_to_an_address_that_is_not_listed(
    adapted: Adapted,  # noqa: F811
    settings: Any,
) -> None:
    asked = opened(adapted) and len(adapted.fake.received)
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins("")
    for result in (adapted.remember(), adapted.recall()):
        assert told(result) == ("unavailable", False)
    settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{adapted.fake.endpoint.origin}=127.0.0.0/8")
    adapted.options["secret"] = "NO_SUCH_SECRET"
    for result in (adapted.remember(), adapted.recall()):
        assert told(result) == ("unavailable", False)
    assert len(adapted.fake.received) == asked
    assert not RemoteRecord.objects.filter(scope__environment=adapted.tenant.development, sends=0).exists()


def test_an_error_holds_no_secret_and_no_text(adapted: Adapted) -> None:  # noqa: F811
    opened(adapted)
    for status in (401, 422, 500):
        echo = misbehaving.body({"error": f"Bearer {KEY}: Alice drinks tea."}, status)
        adapted.fake.endpoint.script = [echo]
        result = adapted.remember(key=f"k-{status}")
        assert isinstance(result, Err) and KEY not in str(result) and "Alice" not in str(result)


def test_a_hit_of_a_foreign_scope_is_dropped(adapted: Adapted) -> None:  # noqa: F811
    """Where the service names the binding, the host keeps a note of it; where it does not, the hit is nobody's."""
    desk = RecordDesk(adapted.tenant)
    mine, theirs = scoped(adapted, desk), scoped(adapted, desk, user="bob")
    for memory, text in ((mine, "Alice drinks tea."), (theirs, "Bob drinks tea.")):
        assert isinstance(memory.remember(NEW | {"text": text}, "k1").result, Ok)
    for one in adapted.fake.kept:
        one.place = adapted.fake.kept[0].place
    recalled = mine.recall("tea").value  # type: ignore[union-attr]
    assert [hit.text for hit in recalled.hits] == ["Alice drinks tea."]
    noted = ScopeViolation.objects.filter(scope__environment=adapted.tenant.development).count()
    assert (len(recalled.dropped), noted) == ((0, 0) if adapted.name == "honcho" else (1, 1))


def scoped(made: Adapted, desk: RecordDesk, user: str = "alice") -> ScopedMemory:
    return ScopedMemory(made.bound, made.scope(user), desk.actor)


# --- a lost reply: the service has done it, and nobody was told ---


def lose_reply(made: Adapted) -> tuple[ScopedMemory, Any]:
    desk = RecordDesk(made.tenant)
    memory = scoped(made, desk)
    assert isinstance(memory.remember(NEW | {"text": "First of all."}, "k0").result, Ok)
    made.fake.replies_lost = 1
    return memory, memory.remember(NEW | {"text": "Alice drinks tea."}, "k1")


def state_of(made: Adapted, key: str = "k1") -> tuple[str, int]:
    effect = MemoryEffect.objects.get(scope__environment=made.tenant.development, key=key)
    return effect.state, effect.attempts


@pytest.mark.parametrize("name", SAVES_AGAIN)
def test_it_is_sent_again_where_that_does_nothing_twice(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name)
    _, written = lose_reply(made)
    assert isinstance(written.result, Ok) and state_of(made) == ("done", 2)
    assert len(made.fake.saves()) == 3 and len(made.fake.kept) == 2


def test_zep_is_sent_again_where_the_operator_says_how_long_keys_are_kept(adapt: Adapt) -> None:  # noqa: F811
    made = adapt("zep", dedup_window_ms=60_000)
    _, written = lose_reply(made)
    assert isinstance(written.result, Ok) and len(made.fake.kept) == 2
    assert [hit.text for hit in made.find()] == ["Alice drinks tea."]


@pytest.mark.parametrize("name", LOOKS_UP)
def test_it_is_found_where_the_service_can_be_asked(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name, **({"lag_ms": 10} if name == "mem0" else {}))
    memory, written = lose_reply(made)
    assert not written.is_uncertain and state_of(made)[0] == "done"
    row = RemoteRecord.objects.get(
        scope__environment=made.tenant.development, text_seal=seal_text(sha256_hex("Alice drinks tea."))
    )
    assert written.result == Ok(RecordRef(row.record_id, "1")), "the answer names it"
    again = memory.remember(NEW | {"text": "Alice drinks tea."}, "k1")
    assert again.result == written.result and not again.is_new
    assert len(made.fake.saves()) == 2 and len(made.fake.kept) == 2
    [hit] = memory.recall("tea").value.hits  # type: ignore[union-attr]
    assert (hit.text, hit.id) == ("Alice drinks tea.", row.record_id)
    assert memory.forget(hit.id, "f1").result == Ok(None) and len(made.fake.kept) == 1


@pytest.mark.parametrize("name", PARKS)
def test_a_save_that_a_person_takes_for_done_has_its_id(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name)
    memory, written = lose_reply(made)
    assert written.is_uncertain and state_of(made)[0] == "unknown"
    effect = MemoryEffect.objects.get(scope__environment=made.tenant.development, key="k1")
    row = RemoteRecord.objects.get(scope=effect.scope, text_seal=seal_text(sha256_hex("Alice drinks tea.")))
    resolved = record_effects.resolve_effect(effect.wire_id, decision="done", actor=made.tenant.actor)
    assert resolved.outcome == {"id": row.record_id, "version": "1"}
    again = memory.remember(NEW | {"text": "Alice drinks tea."}, "k1")
    assert again.result == Ok(RecordRef(row.record_id, "1"))


@pytest.mark.parametrize("name", LOOKS_UP)
def test_it_is_sent_again_when_it_was_not_done(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name, **({"lag_ms": 10} if name == "mem0" else {}))
    memory = scoped(made, RecordDesk(made.tenant))
    memory.remember(NEW | {"text": "First of all."}, "k0")
    made.fake.endpoint.script = [misbehaving.error(503)]
    assert isinstance(memory.remember(NEW | {"text": "Alice drinks tea."}, "k1").result, Ok)
    assert len(made.fake.kept) == 2 and state_of(made) == ("done", 2)


@pytest.mark.parametrize("name", LOOKS_UP)
def test_a_forget_is_not_taken_for_the_save_of_its_key(
    adapt: Adapt,  # noqa: F811
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One key for both; the forget ends before anything of it is written down."""
    made = adapt(name, **({"lag_ms": 1} if name == "mem0" else {}))
    memory = scoped(made, RecordDesk(made.tenant))
    saved = memory.remember(NEW | {"text": "Alice drinks tea."}, "k1").result
    assert isinstance(saved, Ok)
    begin, failures = remote_records.begin_forget, [OperationalError("gone")]

    def begin_forget(*values: Any) -> None:
        if failures:
            raise failures.pop()
        begin(*values)

    monkeypatch.setattr(remote_records, "begin_forget", begin_forget)
    assert memory.forget(saved.value.id, "k1").result == Ok(None)
    assert made.fake.kept == [] and failures == []


@pytest.mark.parametrize("name", PARKS)
def test_it_waits_for_a_person_where_nobody_can_tell(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name)
    _, written = lose_reply(made)
    assert written.is_uncertain and state_of(made) == ("unknown", 1)
    assert len(made.fake.saves()) == 2


@pytest.mark.parametrize("name", PARKS)
def test_a_place_that_cannot_be_made_leaves_nothing_uncertain(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name)
    made.fake.endpoint.script = [misbehaving.error(503)] * 3
    memory = scoped(made, RecordDesk(made.tenant))
    written = memory.remember(NEW | {"text": "Alice drinks tea."}, "k1")
    assert not written.is_uncertain and state_of(made)[0] == "failed" and made.fake.saves() == []
    made.fake.endpoint.script.clear()
    assert isinstance(memory.remember(NEW | {"text": "Alice drinks tea."}, "k1").result, Ok)


@pytest.mark.parametrize("name", LOOKS_UP)
def test_what_was_stored_twice_is_shown_once_and_forgotten_whole(adapt: Adapt, name: str) -> None:  # noqa: F811
    made = adapt(name, **({"lag_ms": 1} if name == "mem0" else {}))
    record_id = made.save()
    [one] = made.fake.kept
    made.fake.keep(one.text, one.place, metadata=one.metadata, tags=one.tags)
    RemoteRecord.objects.filter(record_id=record_id).update(sends=2)
    assert [hit.id for hit in made.find()] == [record_id]
    assert made.forget(record_id) == Ok(None) and made.fake.kept == []


def test_a_forget_that_is_refused_shows_the_record_again(adapted: Adapted) -> None:  # noqa: F811
    record_id = adapted.save()
    adapted.find()
    adapted.fake.endpoint.script = [misbehaving.error(422)]
    assert told(adapted.forget(record_id)) == ("invalid", False)
    assert [hit.id for hit in adapted.find()] == [record_id]
    adapted.fake.endpoint.script = [misbehaving.error(503)]
    assert told(adapted.forget(record_id)) == ("unavailable", True) and adapted.find() == []
    assert adapted.forget(record_id) == Ok(None) and adapted.fake.kept == []


def test_a_refused_credential_is_told_to_who_can_give_another(adapted: Adapted) -> None:  # noqa: F811
    sentence = f"The memory service {adapted.name} refuses its secret."
    viewer = replace(adapted.tenant.actor, environment_id=adapted.tenant.development.id)
    opened(adapted)
    adapted.fake.endpoint.script = [misbehaving.error(403)]
    adapted.remember()
    assert [need.sentence for need in list_refused(viewer)] == [sentence]
    assert sentence in {need.sentence for need in list_needs(viewer)}
    elsewhere = replace(viewer, environment_id=adapted.tenant.production.id)
    assert list_refused(elsewhere) == []
    adapted.find("first")
    assert list_refused(viewer) == []


# --- turns ---


@pytest.mark.parametrize("name", LOOKS_UP)
def test_a_turn_that_was_never_given_back_is_taken_over(adapt: Adapt, name: str) -> None:  # noqa: F811
    """A worker died after the service had stored it."""
    made = adapt(name, **({"lag_ms": 1} if name == "mem0" else {}))
    record_id = made.save()
    rows = RemoteRecord.objects.filter(record_id=record_id)
    held = timezone.now() + timedelta(seconds=0.4)
    rows.update(saved_at=None, external_id=None, claim=new_id(), claimed_until=held)
    assert made.lookup("k1") == Ok("done")
    rows.update(saved_at=None, external_id=None)
    assert made.save() == record_id and timezone.now() > held
    assert len(made.fake.saves()) == 1 and len(made.fake.kept) == 1


def test_who_meets_a_save_under_way_gets_what_becomes_of_it(adapted: Adapted) -> None:  # noqa: F811
    opened(adapted)
    adapted.fake.endpoint.script = [misbehaving.after(0.5, adapted.fake.serve)]
    with ThreadPoolExecutor() as pool:
        saves = [pool.submit(in_thread, adapted.save) for _ in range(4)]
        assert len({one.result() for one in saves}) == 1
    assert len(adapted.fake.saves()) == 2

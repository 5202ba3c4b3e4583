"""What the host does around every provider: bindings, bounds, time, strict reading, and a line of the log for each call."""

import threading
from typing import Any

import pytest
from django.db import connection

from providers import ledger, provider_calls
from providers.contract import (
    Binding,
    ConfigError,
    Err,
    MemoryHit,
    Ok,
    ProviderError,
    RecordRef,
    bind_provider,
)
from providers.guard import Recalled, ScopedMemory, bound_hits
from providers.limits import RECALLED_BYTES_MAX
from providers.models import MemoryEffect, ProviderCall, RecordBinding, ScopeViolation
from tests.providers.record_desk import ALICE, BOB, RecordDesk, Scripted, blocking, hits_of, remember
from tests.world import Tenant


@pytest.fixture
def desk(committed: Tenant) -> RecordDesk:
    """Committed: a provider elsewhere is called outside every transaction."""
    return RecordDesk(committed)


@pytest.fixture
def provider() -> Scripted:
    return Scripted()


@pytest.fixture
def memory(desk: RecordDesk, provider: Scripted) -> ScopedMemory:
    return desk.memory(provider)


def recalled(memory: ScopedMemory, k: int = 20) -> Recalled:
    result = memory.recall("anything", k=k)
    assert isinstance(result, Ok), result
    return result.value


def texts(memory: ScopedMemory, k: int = 20) -> list[int]:
    return [len(hit.text.encode()) for hit in recalled(memory, k).hits]


# --- bounds ---


def test_a_foreign_binding_is_dropped_and_noted_and_takes_no_place(
    desk: RecordDesk, memory: ScopedMemory, provider: Scripted
) -> None:
    good = hits_of(memory, provider, "one", "two")
    foreign = MemoryHit("evil", "1", "secret text", 0.9, "user", Binding("ns_other", "rec_other"))
    provider.hits = lambda k: [good[0], foreign, good[1]]
    found = recalled(memory, k=2)
    assert [hit.text for hit in found.hits] == ["one", "two"]
    [violation] = ScopeViolation.objects.filter(scope=desk.row())
    assert (violation.namespace, violation.record_id, violation.hit_id) == ("ns_other", "rec_other", "evil")
    call = ProviderCall.objects.filter(scope=desk.row(), method="recall").get()
    assert (call.returned, call.kept, call.dropped, call.k, call.query_length) == (3, 2, 1, 2, 8)


def test_a_binding_of_another_scope_is_foreign_too(desk: RecordDesk, provider: Scripted) -> None:
    of_bob = hits_of(desk.memory(provider, BOB), provider, "of bob")
    memory = desk.memory(provider, ALICE)
    remember(memory)
    provider.hits = lambda k: of_bob
    assert recalled(memory).hits == []
    assert ScopeViolation.objects.filter(scope=desk.row(ALICE)).count() == 1


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([4_000] * 5, [4_000] * 4),
        ([16_000, 500, 100], [16_000]),
        ([20_000, 10], []),
        ([RECALLED_BYTES_MAX], [RECALLED_BYTES_MAX]),
        ([RECALLED_BYTES_MAX - 1, 1, 1], [RECALLED_BYTES_MAX - 1, 1]),
    ],
)
def test_a_hit_that_would_pass_the_bytes_ends_the_list(
    memory: ScopedMemory, provider: Scripted, sizes: list[int], kept: list[int]
) -> None:
    made = hits_of(memory, provider, *("x" * size for size in sizes))
    provider.hits = lambda k: made
    assert texts(memory) == kept
    assert recalled(memory).cut_by_bytes == len(sizes) - len(kept)


def test_bytes_are_counted_and_not_characters(memory: ScopedMemory, provider: Scripted) -> None:
    made = hits_of(memory, provider, "é" * 5_000, "é" * 4_000)
    provider.hits = lambda k: made
    assert texts(memory) == [10_000]


def test_no_more_than_k_are_kept(memory: ScopedMemory, provider: Scripted) -> None:
    made = hits_of(memory, provider, *(f"hit {number}" for number in range(6)))
    provider.hits = lambda k: made
    found = recalled(memory, k=3)
    assert len(found.hits) == 3 and found.cut_by_k == 3


def test_an_id_is_kept_once() -> None:
    binding = Binding("ns", "rec")
    hit = MemoryHit("h", "1", "text", 1.0, "user", binding)
    assert len(bound_hits([hit, hit], {binding}, k=5).hits) == 1


WRONG: list[Any] = [
    "text",
    None,
    [1],
    [{"id": "x", "version": "1", "text": "t", "score": "high", "origin": "user"}],
    [
        {
            "id": "x",
            "version": "1",
            "text": "t",
            "score": 1.0,
            "origin": "user",
            "binding": {"namespace": "n", "record_id": "r"},
            "more": 1,
        }
    ],
    [{"id": "x", "version": "1", "text": "t", "score": 1.0, "origin": "user"}],
    [
        {
            "id": "x",
            "version": "1",
            "text": "t",
            "score": float("nan"),
            "origin": "user",
            "binding": {"namespace": "n", "record_id": "r"},
        }
    ],
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_malformed_answer_gives_no_hit_at_all(memory: ScopedMemory, provider: Scripted, wrong: Any) -> None:
    good = hits_of(memory, provider, "one")
    provider.hits = lambda k: [*good, *wrong] if isinstance(wrong, list) else wrong
    result = memory.recall("anything")
    assert isinstance(result, Err) and result.error.code == "invalid"
    assert "malformed in 1 place" in result.error.message and "high" not in result.error.message


def test_hits_as_plain_objects_are_read_strictly(memory: ScopedMemory, provider: Scripted) -> None:
    [good] = hits_of(memory, provider, "one")
    binding = {"namespace": good.binding.namespace, "record_id": good.binding.record_id}
    plain = {"id": "h", "version": "1", "text": "one", "score": 1.0, "origin": "user", "binding": binding}
    provider.hits = lambda k: [plain]
    assert [hit.text for hit in recalled(memory).hits] == ["one"]


@pytest.mark.parametrize("k", [0, -1, True, 1.5, None])
def test_a_bad_k_calls_nothing(memory: ScopedMemory, provider: Scripted, k: Any) -> None:
    remember(memory)
    result = memory.recall("anything", k=k)
    assert isinstance(result, Err) and result.error.code == "invalid"
    assert [method for method, _ in provider.sent] == ["remember"]


@pytest.mark.parametrize("query", ["", "x" * 2_001, "a\0b", 1])
def test_a_bad_query_calls_nothing(memory: ScopedMemory, query: Any) -> None:
    remember(memory)
    result = memory.recall(query)
    assert isinstance(result, Err) and result.error.code == "invalid"


# --- errors and time ---


def test_what_a_provider_raises_is_unavailable_without_its_secrets(
    memory: ScopedMemory, provider: Scripted
) -> None:
    remember(memory)
    provider.answers = [RuntimeError("Bearer tok-4f1d9c0a11 at https://x?key=abcdefghij0123456789")]
    result = memory.recall("anything")
    assert isinstance(result, Err) and result.error.code == "unavailable"
    assert result.error.message.startswith("RuntimeError: ")
    assert "tok-4f1d9c" not in result.error.message and "abcdefghij" not in result.error.message


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_of_the_ordinary_kind_is_a_timeout(
    memory: ScopedMemory, provider: Scripted, error: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    remember(memory)

    def die() -> None:
        raise error

    provider.answers = [die]
    result = memory.recall("anything")
    assert isinstance(result, Err) and result.error.code == "timeout"


def test_a_provider_that_blocks_is_left_behind(
    desk: RecordDesk, memory: ScopedMemory, provider: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.guard.PROVIDER_SECONDS_MAX", 0.3)
    remember(memory)
    provider.answers = [blocking(1.5)]
    result = memory.recall("anything")
    assert isinstance(result, Err) and result.error.code == "timeout"
    call = ProviderCall.objects.filter(scope=desk.row(), method="recall").get()
    assert call.code == "timeout" and call.duration_ms is not None and 250 < call.duration_ms < 1_200


def test_an_error_that_a_provider_returns_is_passed_on(memory: ScopedMemory, provider: Scripted) -> None:
    remember(memory)
    for code in ("unavailable", "timeout", "invalid", "scope_violation"):
        provider.answers = [Err(ProviderError(code, "told"))]  # type: ignore[arg-type]
        result = memory.recall("anything")
        assert isinstance(result, Err) and (result.error.code, result.error.message) == (code, "told")
    provider.answers = ["neither"]
    result = memory.recall("anything")
    assert isinstance(result, Err) and result.error.code == "invalid"


def test_a_message_is_cut() -> None:
    assert len(ProviderError("invalid", "x" * 600).message) == 500


# --- bindings and the log ---


def test_binding_ledger_and_log_are_committed_before_the_provider_is_called(
    desk: RecordDesk, memory: ScopedMemory, provider: Scripted
) -> None:
    seen: list[Any] = []

    def look() -> None:
        held = desk.row()
        effect, call = MemoryEffect.objects.get(scope=held), ProviderCall.objects.get(scope=held)
        seen.append((RecordBinding.objects.filter(scope=held).count(), effect.state, call.code))
        connection.close()

    def answer() -> Ok[RecordRef]:
        looking = threading.Thread(target=look)
        looking.start()
        looking.join()
        return Ok(RecordRef("r", "1"))

    provider.answers = [answer]
    assert isinstance(remember(memory).result, Ok)
    assert seen == [(1, "begun", None)], "seen from another connection"
    assert ProviderCall.objects.get(scope=desk.row()).code == "ok"


def test_a_record_that_is_sent_again_carries_the_same_binding(
    memory: ScopedMemory, provider: Scripted
) -> None:
    provider.answers = [Err(ProviderError("invalid", "not now"))]
    remember(memory)
    remember(memory)
    first, second = provider.records
    assert (
        first == second and first.binding.namespace.startswith("ns_") and len(first.binding.record_id) == 36
    )


def test_scopes_have_namespaces_of_their_own(desk: RecordDesk, provider: Scripted) -> None:
    for of in (ALICE, BOB):
        remember(desk.memory(provider, of))
    first, second = provider.records
    assert first.binding.namespace != second.binding.namespace
    assert first.binding.record_id != second.binding.record_id


def test_a_scope_that_nobody_wrote_in_is_empty_and_calls_nobody(
    memory: ScopedMemory, provider: Scripted
) -> None:
    provider.answers = [RuntimeError("called")]
    assert recalled(memory).hits == ()


# --- setting up ---


@pytest.mark.parametrize(
    ("effect", "window"),
    [
        ("read_only", None),
        ("idempotent", None),
        ("idempotent", 0),
        ("idempotent", True),
        ("idempotent", 2**53),
        ("guarded", 1_000),
        ("unguarded", 1_000),
        (None, 1_000),
        ("sometimes", None),
    ],
)
def test_a_provider_that_contradicts_itself_is_not_set_up(effect: Any, window: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        bind_provider("x", Scripted(effect=effect, window_ms=window))
    assert refused.value.code == "invalid_config"


def test_what_a_provider_does_not_declare_is_unguarded() -> None:
    assert bind_provider("x", Scripted()).write_effect == "unguarded"


def test_a_call_is_bound_by_ten_seconds_and_a_claim_outlasts_it() -> None:
    assert provider_calls.call_provider.__module__ == "providers.provider_calls"
    assert ledger.CLAIM_SECONDS > ledger.PROVIDER_SECONDS_MAX == 10

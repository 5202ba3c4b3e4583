"""The suite that every memory provider must pass, for those who write one: `await memory_suite(make_provider) == ()`.

    from providers.conformance import memory_suite

    async def test_it_keeps_the_contract() -> None:
        assert await memory_suite(MyProvider) == ()

Each fault is a sentence that begins with the name of its check. Source: contract of the memory provider, section 12.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from providers.contract import (
    Binding,
    ConfigError,
    Err,
    MemoryHit,
    MemoryProvider,
    MemoryRecord,
    Ok,
    Provenance,
    RecordRef,
    Result,
    Scope,
    bind_provider,
)
from providers.limits import RECORD_TEXT_BYTES_MAX
from providers.provider_calls import MalformedHits, read_hits, read_nothing, read_ref

STRANGE = "a/b%2F \"quoted\" 'single' é 検索 \U0001f9e0"
PARALLEL_WRITES = 20


async def memory_suite(
    make_provider: Callable[[], MemoryProvider], *, tenants: tuple[str, str] = ("t1", "t2")
) -> tuple[str, ...]:
    """Every fault that was found; empty when there is none. `tenants`: two that the provider may keep records of.

    Every check writes into scopes of its own. A provider that raises is at fault too.
    """
    try:
        bind_provider("suite", make_provider())
    except ConfigError as error:
        return (f"declaration: {error}",)
    faults: list[str] = []
    for check in CHECKS:
        trial = Trial(make_provider(), tenants)
        name = check.__name__.removeprefix("_")
        [raised] = await asyncio.gather(check(trial), return_exceptions=True)
        if raised is not None:
            trial.faults.append(f"raised {type(raised).__name__}: {raised}")
        faults += [f"{name}: {fault}" for fault in trial.faults]
    return tuple(faults)


@dataclass
class Trial:
    """One check of one provider, in scopes that nobody else uses."""

    provider: MemoryProvider
    tenants: tuple[str, str]
    faults: list[str] = field(default_factory=list)
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def scope(self, *, tenant: int = 0, agent: str = "support", user: str = "alice") -> Scope:
        return Scope(self.tenants[tenant], f"{agent}-{self.name}", f"api/{user}")

    def expect(self, holds: bool, sentence: str) -> None:
        if not holds:
            self.faults.append(sentence)

    async def save(self, scope: Scope, record: MemoryRecord, key: str) -> RecordRef | None:
        result = await self.provider.remember(scope, record, key)
        return self._value(result, read_ref, f"a save under {key!r}")

    async def find(self, scope: Scope, query: str, k: int = 5) -> list[MemoryHit]:
        result = await self.provider.recall(scope, query, k=k)
        return self._value(result, read_hits, f"a recall of {query[:40]!r}") or []

    async def drop(self, scope: Scope, record_id: str, key: str) -> None:
        result = await self.provider.forget(scope, record_id, key)
        self._value(result, read_nothing, f"a forget under {key!r}")

    def _value[T](self, result: object, read: Callable[[Any], T], what: str) -> T | None:
        if not isinstance(result, Ok):
            told = result.error.code if isinstance(result, Err) else type(result).__name__
            self.faults.append(f"{what} answered {told}")
            return None
        try:
            return read(result.value)
        except (TypeError, ValueError, MalformedHits):
            self.faults.append(f"{what} answered something malformed")
            return None

    async def expect_invalid(self, act: Awaitable[Result[Any]], sentence: str) -> None:
        result = await act
        self.expect(isinstance(result, Err) and result.error.code == "invalid", sentence)


def make_record(text: str = "Alice prefers tea in the morning.", key: str = "k1") -> MemoryRecord:
    binding = Binding("ns_suite", f"rec_{key}")
    return MemoryRecord(text, "user", Provenance("thread-1", ("input-1", "call-1")), binding)


async def _a_save_is_found(trial: Trial) -> None:
    scope, record = trial.scope(), make_record()
    ref = await trial.save(scope, record, "k1")
    hits = await trial.find(scope, "what tea does Alice prefer")
    trial.expect([hit.id for hit in hits] == [ref.id if ref else ""], "what was saved is not found")
    if hits and ref:
        found = (hits[0].text, hits[0].version, hits[0].origin, hits[0].binding)
        wanted = (record.text, ref.version, record.origin, record.binding)
        trial.expect(found == wanted, "a hit is not the record that was saved")


async def _the_same_save_again_is_one_record(trial: Trial) -> None:
    scope = trial.scope()
    refs = [await trial.save(scope, make_record(), "k1") for _ in range(2)]
    trial.expect(refs[0] == refs[1], "the same save again gave another reference")
    trial.expect(len(await trial.find(scope, "tea", k=20)) == 1, "the same save again made a second record")


async def _a_key_is_of_one_record(trial: Trial) -> None:
    scope, record = trial.scope(), make_record()
    await trial.save(scope, record, "k1")
    others = {
        "text": replace(record, text="Alice prefers coffee."),
        "origin": replace(record, origin="model"),
        "provenance": replace(record, provenance=Provenance("thread-1", ("input-2", "call-1"))),
        "binding": replace(record, binding=Binding("ns_suite", "rec_other")),
    }
    for what, other in others.items():
        await trial.expect_invalid(
            trial.provider.remember(scope, other, "k1"), f"a used key took a record of another {what}"
        )
    texts = [hit.text for hit in await trial.find(scope, "Alice prefers", k=20)]
    trial.expect(texts == [record.text], "a refused save changed what is kept")


async def _a_key_is_of_one_scope(trial: Trial) -> None:
    mine, other = trial.scope(), trial.scope(user="bob")
    first = await trial.save(mine, make_record("Alice likes chess."), "k1")
    second = await trial.save(other, make_record("Bob likes rowing."), "k1")
    trial.expect(first is None or second is None or first.id != second.id, "two scopes share an id")
    for scope, text in ((mine, "Alice likes chess."), (other, "Bob likes rowing.")):
        found = [hit.text for hit in await trial.find(scope, "likes chess rowing", k=20)]
        trial.expect(found == [text], "a scope shows what another saved under the same key")


async def _no_other_scope_finds_it(trial: Trial) -> None:
    text = "The launch code word is marmalade."
    await trial.save(trial.scope(), make_record(text), "k1")
    others = {
        "tenant": trial.scope(tenant=1),
        "agent": trial.scope(agent="billing"),
        "user": trial.scope(user="mallory"),
    }
    for what, scope in others.items():
        trial.expect(await trial.find(scope, text, k=20) == [], f"another {what} finds it")


async def _the_best_come_first(trial: Trial) -> None:
    scope = trial.scope()
    texts = [
        "The river is wide.",
        "A red bicycle stands outside.",
        "The red balloon rose over the wide river.",
    ]
    for number, text in enumerate(texts):
        await trial.save(scope, make_record(text, f"k{number}"), f"k{number}")
    hits = await trial.find(scope, "red balloon", k=20)
    trial.expect(bool(hits) and hits[0].text == texts[2], "a whole phrase does not stand above a part of it")
    scores = [hit.score for hit in hits]
    trial.expect(scores == sorted(scores, reverse=True), "scores rise along the list")


async def _k_bounds_the_hits(trial: Trial) -> None:
    scope = trial.scope()
    for number in range(22):
        await trial.save(scope, make_record(f"Note {number} about gardens.", f"k{number}"), f"k{number}")
    for k in (1, 5, 20):
        found = len(await trial.find(scope, "gardens", k=k))
        trial.expect(found == k, f"k = {k} gave {found} of 22 records")
    wrong: list[Any] = [0, -1, True, 1.5]
    for k in wrong:
        await trial.expect_invalid(trial.provider.recall(scope, "gardens", k=k), f"k = {k!r} is not refused")


async def _a_query_without_words_finds_nothing(trial: Trial) -> None:
    scope = trial.scope()
    await trial.save(scope, make_record(), "k1")
    for query in ("", "   ", "?! … -- \"' ()"):
        trial.expect(await trial.find(scope, query) == [], f"{query!r} found something")


async def _what_is_forgotten_is_gone(trial: Trial) -> None:
    scope = trial.scope()
    ref = await trial.save(scope, make_record(), "k1")
    if ref is None:
        return
    for key in ("f1", "f1", "f2"):
        await trial.drop(scope, ref.id, key)
        trial.expect(await trial.find(scope, "tea", k=20) == [], "what was forgotten is found")
    again = await trial.save(scope, make_record(), "k1")
    trial.expect(again == ref, "the same save after a forget gave another reference")
    trial.expect(await trial.find(scope, "tea", k=20) == [], "the same save again brought it back")


async def _only_what_is_in_the_scope_can_be_forgotten(trial: Trial) -> None:
    scope, other = trial.scope(), trial.scope(user="bob")
    ref = await trial.save(scope, make_record(), "k1")
    await trial.save(other, make_record("Bob is here."), "k1")
    if ref is None:
        return
    answers = [await trial.provider.forget(other, one, "f1") for one in (ref.id, f"{ref.id[:-4]}0000")]
    for answer in answers:
        is_invalid = isinstance(answer, Err) and answer.error.code == "invalid"
        trial.expect(is_invalid, "a forget of what is not in the scope is not refused")
    trial.expect(answers[0] == answers[1], "a foreign id is answered unlike one that never was")
    trial.expect(len(await trial.find(scope, "tea")) == 1, "another scope forgot it")


async def _bindings_come_back_as_given(trial: Trial) -> None:
    scope, binding = trial.scope(), Binding(STRANGE, f"{STRANGE}/2")
    await trial.save(scope, replace(make_record(), binding=binding), "k1")
    found = [hit.binding for hit in await trial.find(scope, "tea")]
    trial.expect(found == [binding], "a binding changed")


async def _parallel_saves_of_one_key_are_one_record(trial: Trial) -> None:
    scope = trial.scope()
    saves = [trial.save(scope, make_record(), "k1") for _ in range(PARALLEL_WRITES)]
    refs = await asyncio.gather(*saves)
    trial.expect(len(set(refs)) == 1, "parallel saves of one key gave several references")
    trial.expect(
        len(await trial.find(scope, "tea", k=20)) == 1, "parallel saves of one key made several records"
    )


async def _texts_come_back_whole(trial: Trial) -> None:
    scope = trial.scope()
    texts = [
        "x" * (RECORD_TEXT_BYTES_MAX - 9) + " longword",
        "\U0001f9e0" * 2_000 + " brain",
        f"{STRANGE} mixed",
    ]
    for number, text in enumerate(texts):
        await trial.save(scope, make_record(text, f"k{number}"), f"k{number}")
    for text in texts:
        found = [hit.text for hit in await trial.find(scope, text.split()[-1])]
        trial.expect(text in found, f"a text of {len(text.encode())} bytes did not come back whole")


CHECKS: Sequence[Callable[[Trial], Awaitable[None]]] = (
    _a_save_is_found,
    _the_same_save_again_is_one_record,
    _a_key_is_of_one_record,
    _a_key_is_of_one_scope,
    _no_other_scope_finds_it,
    _the_best_come_first,
    _k_bounds_the_hits,
    _a_query_without_words_finds_nothing,
    _what_is_forgotten_is_gone,
    _only_what_is_in_the_scope_can_be_forgotten,
    _bindings_come_back_as_given,
    _parallel_saves_of_one_key_are_one_record,
    _texts_come_back_whole,
)

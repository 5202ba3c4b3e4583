"""The ledger of effects: no write reaches a provider without a committed row before it, and none is sent again against its class.

Source: contract of the memory provider, section 4. A row is begun, and ends done, failed, or unknown until a person decides. A
write that may have happened is sent again only where its class says that nothing happens twice; what is left of a crash is
such a write. Sending is a row of short transactions with a call between; `claim` says whose turn it is.
The built-in provider writes its row in the transaction of the record itself: see `record_done`.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import F
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from psycopg.types.json import Jsonb

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.digests import are_equal, sha256_hex
from memoryhub.rows import find_row
from providers import remote_records
from providers.contract import BoundProvider, Err, LooksUp, MemoryRecord, Ok, ProviderError, RecordRef, Result
from providers.limits import DELAY_SECONDS, PROVIDER_SECONDS_MAX, RECOVERY_SENDS_MAX, SENDS_MAX
from providers.provider_calls import call_provider, read_lookup, read_nothing, read_ref
from providers.recalled_items import forget_items
from providers.record_models import MemoryEffect, RecordScope
from providers.record_scopes import read_scope
from providers.told import tell_unknown

log = structlog.get_logger("memoryhub.ledger")

type Tool = Literal["save_memory", "forget_memory"]
type Step = Literal["done", "send", "park"]
CLAIM_SECONDS = 15  # longer than a call may take
CLAIM_FOR = timedelta(seconds=CLAIM_SECONDS)
AGAIN_SECONDS, AGAIN_SECONDS_MAX = 15, 3_600
SWEPT_MAX = 20

_ADD = """
INSERT INTO providers_memoryeffect (id, project_id, scope_id, provider, tool, key, key_sha256, digest, effect_class,
       dedup_window_ms, payload, state, claim, claimed_until, outcome, created_by_type, created_by_id)
VALUES (%(id)s, %(project)s, %(scope)s, %(provider)s, %(tool)s, %(key)s, %(key_sha256)s, %(digest)s, %(class)s,
        %(window)s, %(payload)s, %(state)s, %(claim)s::uuid,
        CASE WHEN %(claim)s::uuid IS NOT NULL THEN clock_timestamp() + %(seconds)s * interval '1 second' END,
        %(outcome)s, %(by_type)s, %(by_id)s)
    ON CONFLICT (scope_id, tool, key_sha256) DO NOTHING
"""
_IN_WINDOW = """
SELECT extract(epoch FROM clock_timestamp() - first_sent_at) * 1000 < dedup_window_ms
  FROM providers_memoryeffect WHERE id = %s
"""
_CLAIM_DUE = """
UPDATE providers_memoryeffect SET claim = %(claim)s,
       claimed_until = clock_timestamp() + %(seconds)s * interval '1 second'
 WHERE id = (SELECT id FROM providers_memoryeffect WHERE state = 'begun' AND claimed_until < clock_timestamp()
              ORDER BY claimed_until LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Write:
    """What is asked of a provider. `payload`: `{"record": …}` or `{"id": …}`; `digest`: sealed, of what it says."""

    tool: Tool
    key: str
    digest: bytes
    payload: dict[str, Any]
    record: MemoryRecord | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """`settled`: the answer where nothing is to be sent; else the effect is this caller's to send."""

    effect: MemoryEffect
    settled: Result[Any] | None


def record_done(
    held: RecordScope, bound: BoundProvider, write: Write, ref: RecordRef | None, *, actor: Actor
) -> bool:
    """A step, in the transaction that has done the write: whether its row is new."""
    outcome = Jsonb(_outcome_of(Ok(ref)))
    return (
        _add(held, bound, write, actor, state="done", outcome=outcome, claim=None, payload=None) is not None
    )


def find_effect(held: RecordScope, tool: Tool, key: str) -> MemoryEffect | None:
    return find_row(MemoryEffect.objects.filter(scope_id=held.id, tool=tool, key_sha256=sha256_hex(key)))


def begin(held: RecordScope, bound: BoundProvider, write: Write, *, actor: Actor) -> Begun:
    """A step, before anything is sent; the caller commits it. The same write again finds how it went."""
    payload = Jsonb(write.payload)
    made = _add(held, bound, write, actor, state="begun", outcome=None, claim=ids.new_id(), payload=payload)
    effects = MemoryEffect.objects.select_for_update()
    if made is not None:
        return Begun(effects.get(id=made), None)
    known = effects.get(scope_id=held.id, tool=write.tool, key_sha256=sha256_hex(write.key))
    if not are_equal(bytes(known.digest), write.digest):
        return Begun(known, Err(ProviderError("invalid", "This key was used for another write.")))
    if known.state == "failed":
        _restart(known, write)
        return Begun(known, None)
    return Begun(known, read_outcome(known))


def _add(
    held: RecordScope,
    bound: BoundProvider,
    write: Write,
    actor: Actor,
    *,
    state: str,
    outcome: Jsonb | None,
    claim: UUID | None,
    payload: Jsonb | None,
) -> UUID | None:
    """The new row's id; None when the key was used. A write of the same key that is under way is waited for."""
    effect_id = ids.new_id()
    values: dict[str, Any] = {
        "id": effect_id,
        "project": held.project_id,
        "scope": held.id,
        "provider": bound.name,
        "tool": write.tool,
        "key": write.key,
        "key_sha256": sha256_hex(write.key),
        "digest": write.digest,
        "class": bound.write_effect,
        "window": bound.dedup_window_ms,
        "payload": payload,
        "state": state,
        "claim": claim,
        "seconds": CLAIM_SECONDS,
        "outcome": outcome,
        "by_type": actor.type,
        "by_id": actor.actor_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADD, values)
        return effect_id if cursor.rowcount else None


def _restart(effect: MemoryEffect, write: Write) -> None:
    """Nothing happened when it failed, so it may be sent."""
    effect.state, effect.payload, effect.outcome = "begun", write.payload, None
    effect.attempts += 1
    effect.claim, effect.claimed_until = ids.new_id(), ClockTimestamp() + CLAIM_FOR
    effect.first_sent_at = ClockTimestamp()
    effect.save(
        update_fields=["state", "payload", "outcome", "attempts", "claim", "claimed_until", "first_sent_at"]
    )


def _outcome_of(result: Result[Any]) -> dict[str, Any]:
    if isinstance(result, Err):
        return {"code": result.error.code, "message": result.error.message}
    ref = result.value
    return {} if ref is None else {"id": ref.id, "version": ref.version}


def find_effects(held: RecordScope, tool: Tool, keys: Iterable[str]) -> dict[str, MemoryEffect]:
    """What the ledger has under these keys, by the SHA-256 of the key."""
    effects = MemoryEffect.objects.filter(
        scope_id=held.id, tool=tool, key_sha256__in=[sha256_hex(key) for key in keys]
    )
    return {effect.key_sha256: effect for effect in effects.defer("payload")}


def find_reference(effect: MemoryEffect) -> RecordRef | None:
    """Which record a save made, of which only is known that it was done: its id is made here before it is sent, or nobody knows."""
    if effect.tool != "save_memory" or effect.key is None:
        return None
    return remote_records.find_reference(effect.scope, effect.provider, read_scope(effect.scope), effect.key)


def outcome_of_done(effect: MemoryEffect) -> dict[str, Any]:
    """Of an effect that is taken for done."""
    return _outcome_of(Ok(find_reference(effect)))


def read_outcome(effect: MemoryEffect) -> Result[Any]:
    """As the provider gave it, or would have. A save that was taken for done has a reference where its id is made here."""
    outcome = effect.outcome or {}
    if effect.state in ("done", "resolved") and "code" not in outcome:
        return Ok(RecordRef.read(outcome) if "id" in outcome else None)
    if "code" in outcome and effect.state != "begun":
        return Err(ProviderError(outcome["code"], outcome["message"], sent=effect.state == "unknown"))
    return Err(ProviderError("unavailable", "It is not known whether the write happened."))


def send(effect: MemoryEffect, bound: BoundProvider, *, resumed: bool = False) -> Result[Any]:
    """Send a write that this caller has claimed, and settle its row. `resumed`: an earlier send may have happened."""
    ends_at = time.monotonic() + PROVIDER_SECONDS_MAX
    result: Result[Any] = Err(ProviderError("unavailable", "The hub stopped before the provider answered."))
    for number in range(SENDS_MAX if effect.payload is not None else 0):
        if number or resumed:
            step = _step_after_uncertain(effect, bound, seconds=ends_at - time.monotonic())
            if step == "done":
                return _settle(effect, Ok(find_reference(effect)))
            if step == "park":
                return _settle(effect, result, parks=True)
            MemoryEffect.objects.filter(id=effect.id, claim=effect.claim).update(attempts=F("attempts") + 1)
        left = ends_at - time.monotonic()
        result = _perform(effect, bound, seconds=left)
        delay = DELAY_SECONDS[min(number, len(DELAY_SECONDS) - 1)]
        if not _is_uncertain(result) or ends_at - time.monotonic() <= delay:
            break
        if bound.write_effect != "unguarded" and number < SENDS_MAX - 1:
            time.sleep(delay)
    may_be_sent = effect.payload is not None and _may_be_sent_later(effect, bound)
    return _settle(effect, result, parks=_is_uncertain(result) and not may_be_sent)


def _is_uncertain(result: Result[Any]) -> bool:
    return isinstance(result, Err) and result.error.is_uncertain


def _perform(effect: MemoryEffect, bound: BoundProvider, *, seconds: float) -> Result[Any]:
    assert effect.payload is not None and effect.key is not None, "what is sent is kept until it is certain"
    scope, provider, key = read_scope(effect.scope), bound.provider, effect.key
    if effect.tool == "save_memory":
        record = MemoryRecord.read(effect.payload["record"])
        return call_provider(lambda: provider.remember(scope, record, key), read_ref, seconds=seconds)
    record_id = effect.payload["id"]
    return call_provider(lambda: provider.forget(scope, record_id, key), read_nothing, seconds=seconds)


def _step_after_uncertain(effect: MemoryEffect, bound: BoundProvider, *, seconds: float) -> Step:
    """The rule of the class. Source: section 4."""
    if bound.write_effect == "idempotent":
        return "send" if _is_in_window(effect) else "park"
    if bound.write_effect != "guarded" or not isinstance(bound.provider, LooksUp) or effect.key is None:
        return "park"
    scope, provider, key = read_scope(effect.scope), bound.provider, effect.key
    found = call_provider(lambda: provider.lookup(scope, key), read_lookup, seconds=max(seconds, 0.1))
    if isinstance(found, Err):
        return "park"
    steps: dict[str, Step] = {"done": "done", "not_done": "send", "unknown": "park"}
    return steps[found.value]


def _is_in_window(effect: MemoryEffect) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_IN_WINDOW, [effect.id])
        row = cursor.fetchone()
        return bool(row and row[0])


def _may_be_sent_later(effect: MemoryEffect, bound: BoundProvider) -> bool:
    sent = MemoryEffect.objects.values_list("attempts", flat=True).get(id=effect.id)
    if sent >= RECOVERY_SENDS_MAX:
        return False
    if bound.write_effect == "guarded":
        return isinstance(bound.provider, LooksUp)
    return bound.write_effect == "idempotent" and _is_in_window(effect)


def _settle(effect: MemoryEffect, result: Result[Any], *, parks: bool = False) -> Result[Any]:
    """Write how it went, if it is still this caller's to write."""
    held = MemoryEffect.objects.filter(id=effect.id, claim=effect.claim)
    if parks:
        log.warning("effect_unknown", effect=effect.wire_id, provider=effect.provider, tool=effect.tool)
        _leave_unknown(effect, held)
    elif _is_uncertain(result):
        pause = min(AGAIN_SECONDS * 2 ** min(effect.attempts, 8), AGAIN_SECONDS_MAX)
        held.update(claim=None, claimed_until=ClockTimestamp() + timedelta(seconds=pause))
    else:
        _close(effect, held, result)
    return result


@atomic
def _close(effect: MemoryEffect, held: QuerySet[MemoryEffect], result: Result[Any]) -> None:
    state = "failed" if isinstance(result, Err) else "done"
    if effect.decision is not None:
        state = "resolved"
    closed = held.update(
        state=state, claim=None, claimed_until=None, payload=None, outcome=_outcome_of(result)
    )
    if closed and isinstance(result, Ok):
        forget_copies(effect)


def forget_copies(effect: MemoryEffect) -> None:
    """A step, when a forget was done: what sessions were shown of the record goes too. `effect`: with what was sent."""
    if effect.tool == "forget_memory" and effect.payload is not None:
        RecordScope.objects.select_for_update(no_key=True).only("id").get(id=effect.scope_id)
        forget_items(effect.scope_id, effect.payload["id"])


@atomic
def _leave_unknown(effect: MemoryEffect, held: QuerySet[MemoryEffect]) -> None:
    if held.update(state="unknown", claim=None, claimed_until=None):
        tell_unknown(effect)


def park(effect: MemoryEffect) -> None:
    """Leave a claimed effect to a person."""
    _settle(effect, Err(ProviderError("unavailable", "Nobody can send it.")), parks=True)


def is_being_sent(effect: MemoryEffect) -> bool:
    """Whether somebody sends it just now, so that how it went is known soon."""
    claimed = MemoryEffect.objects.filter(id=effect.id, state="begun", claim__isnull=False)
    return claimed.filter(claimed_until__gt=ClockTimestamp()).exists()


def claim_due() -> MemoryEffect | None:
    """An effect that nobody sends any more: its worker died, or its time has come again."""
    claim = ids.new_id()
    with atomic(), connection.cursor() as cursor:
        cursor.execute(_CLAIM_DUE, {"claim": claim, "seconds": CLAIM_SECONDS})
        row = cursor.fetchone()
    return None if row is None else MemoryEffect.objects.select_related("scope").get(id=row[0])

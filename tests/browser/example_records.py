"""Records of the example project: two scopes with threads, one that was forgotten, writes that nobody knows of, hits that were dropped."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.test import override_settings

from memoryhub import ids, tenancy
from memoryhub.actors import Actor, RecordScope
from providers import records
from providers.contract import (
    Binding,
    Err,
    MemoryHit,
    MemoryRecord,
    Ok,
    Provenance,
    ProviderError,
    RecordRef,
    Scope,
    bind_provider,
    scope_of,
)
from providers.guard import ScopedMemory
from providers.record_access import WantedScope
from providers.record_models import MemoryEffect, ScopeViolation
from providers.record_models import RecordScope as ScopeRow
from providers.record_scopes import issue_binding, tenant_of
from providers.remote_records import claim_save, open_place, settle_save

ENVIRONMENT = "production"
JONAS = RecordScope("support-agent", "shop", "jonas@brandt-marine.example")
ELIN = RecordScope("support-agent", "shop", "elin@oldfield.example")
CALL = [
    ("Jonas", "Do you have the Volvo D4 in stock, and when could it be here?"),
    ("Agent", "Two are in stock. Delivery to the yard takes four working days."),
    ("Jonas", "Our yard is closed in January, so please come before the 20th of December."),
    ("Agent", "Booked for the 17th of December, by gate 3."),
]
FACTS: list[dict[str, Any]] = [
    {"text": "Jonas wants to be called in the morning, before nine.", "author": "Jonas", "tags": ["contact"]},
    {
        "text": "Brandt Marine pays by invoice within 30 days; the discount of 5 percent was agreed on the phone.",
        "title": "Terms of payment",
        "occurred_at": datetime(2026, 9, 14, 8, 30, tzinfo=UTC),
    },
]


class Lost:
    """A provider that is another service: what is written there gets no answer, and a recall gives what is another's."""

    def __init__(self, foreign: str) -> None:
        self.foreign = foreign

    async def remember(self, scope: Scope, record: Any, key: str) -> Any:
        return Err(ProviderError("unavailable", "The service did not answer (reset)."))

    async def recall(self, scope: Scope, query: str, *, k: int = 5) -> Any:
        return Ok(
            [MemoryHit(self.foreign, "1", "Of another.", 1.0, "user", Binding(self.foreign, self.foreign))]
        )

    async def forget(self, scope: Scope, id: str, key: str) -> Any:
        return Err(ProviderError("timeout", "The service did not answer in time."))


def remember_people(known: dict[str, list[str]], actor: Actor) -> None:
    """`known`: ids of one example, to which these are added; the fullest first."""
    with override_settings(PARTITION_KEY=settings.PARTITION_KEY or bytes(32)):
        saved = [
            _save(JONAS, {"text": text, "author": who, "thread": "call-17"}, actor) for who, text in CALL
        ]
        saved += [_save(JONAS, fields, actor) for fields in FACTS]
        gone = _save(JONAS, {"text": "Jonas mentioned his knee surgery."}, actor)
        records.forget_record(_wanted(JONAS), gone, key="forget-knee", actor=actor)
        records.search_records(_wanted(JONAS), "When can the Volvo D4 be delivered?", k=5, actor=actor)
        _save(ELIN, {"text": "Elin asked for a catalogue in Swedish."}, actor)
        known["memory_record_id"] = [saved[-1], saved[0], gone]
        known["scope_id"] = [_row(one, actor).wire_id for one in (JONAS, ELIN)]
        doubt(known, JONAS, "Jonas moved to the new yard in May.", actor)


def hostile_records(known: dict[str, list[str]], pack: str, text: str, actor: Actor) -> None:
    """A scope whose names, records, writes and dropped hits hold texts of a hostile kind."""
    of = RecordScope(pack[:200], pack[:30], pack[:60])
    with override_settings(PARTITION_KEY=settings.PARTITION_KEY or bytes(32)):
        fields = {
            "text": text,
            "title": pack[:200],
            "author": pack[:200],
            "thread": pack[:200],
            "tags": [pack[:60]],
        }
        known["memory_record_id"] = [_save(of, fields, actor)]
        known["scope_id"] = [_row(of, actor).wire_id]
        doubt(known, of, text, actor, foreign=pack[:200], said_by=pack[:200])


def doubt(
    known: dict[str, list[str]],
    of: RecordScope,
    text: str,
    actor: Actor,
    *,
    foreign: str = "theirs",
    said_by: str = "Jonas",
) -> None:
    """At another service: a save and a forget that nobody knows of, one that was decided, and a hit that was dropped."""
    scope = Scope(
        tenant_of(actor.project_id, tenancy.get_environment(ENVIRONMENT, actor=actor).id),
        of.agent,
        scope_of(of.issuer, of.subject),
    )
    memory = ScopedMemory(bind_provider("team", Lost(foreign)), scope, actor)
    given = {
        "text": text,
        "author": foreign,
        "origin": "model",
        "provenance": {"thread_id": "api", "event_ids": ["call-31"]},
    }
    for key in ("call-31", "call-32"):
        memory.remember(given, key)
    memory.forget("mrec_of_the_service", "call-33")
    memory.recall("Where is the yard?")
    held = _row(of, actor)
    effects = list(MemoryEffect.objects.filter(scope=held, provider="team").order_by("id"))
    MemoryEffect.objects.filter(id=effects[1].id).update(
        state="resolved", payload=None, outcome={}, decision="done", decided_at=effects[1].created_at,
        decided_by_type=actor.type, decided_by_id=actor.actor_id,
    )  # fmt: skip
    _keep_there(memory, scope, text)
    known["effect_id"] = [effects[0].wire_id, effects[2].wire_id, effects[1].wire_id]
    known["violation_id"] = [one.wire_id for one in ScopeViolation.objects.filter(scope=held)]


def _keep_there(memory: ScopedMemory, scope: Scope, text: str) -> None:
    """One that the service has taken, and of which the hub knows all but its text."""
    place = open_place(scope, memory.bound.name, "https://memory.harborsupply.example")
    assert place is not None
    given = {"text": text, "origin": "model", "provenance": Provenance("api", ("call-30",))}
    record = MemoryRecord.read(given | {"binding": issue_binding(place.held, "call-30")})
    settle_save(claim_save(place, record, "call-30"), "theirs")


def _save(of: RecordScope, fields: dict[str, Any], actor: Actor) -> str:
    saved = records.save_record(_wanted(of), fields, key=f"chat-17:{ids.new_id().hex[-8:]}", actor=actor)
    assert isinstance(saved.ref, RecordRef)
    return saved.ref.id


def _wanted(of: RecordScope) -> WantedScope:
    return WantedScope(ENVIRONMENT, of)


def _row(of: RecordScope, actor: Actor) -> ScopeRow:
    rows = ScopeRow.objects.filter(project_id=actor.project_id, environment__name=ENVIRONMENT, agent=of.agent)
    return rows.get(scope=scope_of(of.issuer, of.subject))

"""The shapes of records, of effects and of violations. Bindings are never shown."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Integer, Moment, StrictSerializer, Text
from memoryhub.ground_shapes import RecordScopeBody
from memoryhub.shapes import PageQuery
from providers.contract import ORIGINS
from providers.guard import Recalled
from providers.limits import (
    RECALL_HITS_MAX,
    RECORD_ID_BYTES_MAX,
    RECORD_NAME_BYTES_MAX,
    RECORD_QUERY_LENGTH_MAX,
    RECORD_TAG_BYTES_MAX,
    RECORD_TAGS_MAX,
    RECORD_TEXT_BYTES_MAX,
)
from providers.record_answers import Forgotten, Saved, Waiting
from providers.record_models import MemoryEffect, ScopeViolation
from providers.references import render_references
from providers.serializers import environment_name

EFFECT_STATES = ("begun", "done", "failed", "unknown", "resolved")


class ScopedBody(StrictSerializer):
    """`scope`: for whom. A key of an agent has its own, and may leave it out."""

    environment = environment_name(required=False)
    scope = RecordScopeBody(required=False)


class SaveRecordBody(ScopedBody):
    """`thread`: what it is a turn of; `author`: who said it; `occurred_at`: when."""

    text = Text(length_min=1, length_max=RECORD_TEXT_BYTES_MAX)
    thread = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)
    author = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)
    title = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)
    tags = serializers.ListField(
        child=Text(length_min=1, length_max=RECORD_TAG_BYTES_MAX), max_length=RECORD_TAGS_MAX, required=False
    )
    occurred_at = Moment(required=False)


class SearchRecordsBody(ScopedBody):
    query = Text(length_min=1, length_max=RECORD_QUERY_LENGTH_MAX)
    k = Integer(min_value=1, max_value=RECALL_HITS_MAX, required=False)


class ForgetRecordBody(ScopedBody):
    id = Text(length_min=1, length_max=RECORD_ID_BYTES_MAX)


class ListEffectsQuery(PageQuery):
    environment = environment_name(required=False)
    state = Choice(choices=list(EFFECT_STATES), required=False)


class ListViolationsQuery(PageQuery):
    environment = environment_name(required=False)


class ResolveEffectBody(StrictSerializer):
    """`as`: `done` takes it for done; `not_done` sends it again, at the risk that it is done twice."""

    def get_fields(self) -> dict[str, Any]:
        return {"as": Choice(choices=["done", "not_done"])}


class RecordRefShape(serializers.Serializer[Any]):
    """Null both where the save was taken for done and its provider gave no id. `status` instead of them: nobody knows yet
    whether it was saved, or, pending, a person decides, and `id` is that of the write that waits.
    """

    id = serializers.CharField(required=False, allow_null=True)
    version = serializers.CharField(required=False, allow_null=True)
    status = serializers.ChoiceField(choices=["uncertain", "pending"], required=False)
    message = serializers.CharField(required=False)


class RecordHitShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    version = serializers.CharField()
    text = serializers.CharField()
    score = serializers.FloatField()
    origin = serializers.ChoiceField(choices=list(ORIGINS))


class CutShape(serializers.Serializer[Any]):
    k = serializers.IntegerField()
    bytes = serializers.IntegerField()


class RecalledShape(serializers.Serializer[Any]):
    """`references`: the hits as a model may be shown them, untrusted. `cut`: how many more there were, by what ended them."""

    hits = RecordHitShape(many=True)
    references = serializers.CharField(allow_blank=True)
    cut = CutShape()


class MemoryEffectShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["memory_effect"])
    environment_id = serializers.CharField()
    agent = serializers.CharField()
    scope = serializers.CharField()
    provider = serializers.CharField()
    tool = serializers.ChoiceField(choices=["save_memory", "forget_memory"])
    key = serializers.CharField(allow_null=True)
    effect_class = serializers.CharField()
    state = serializers.ChoiceField(choices=list(EFFECT_STATES))
    attempts = serializers.IntegerField()
    first_sent_at = serializers.DateTimeField()
    record_id = serializers.CharField(allow_null=True)
    error_code = serializers.CharField(allow_null=True)
    decision = serializers.ChoiceField(choices=["done", "not_done"], allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.DictField(child=serializers.CharField(), allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField())


class ScopeViolationShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["scope_violation"])
    environment_id = serializers.CharField()
    agent = serializers.CharField()
    scope = serializers.CharField()
    provider = serializers.CharField()
    namespace = serializers.CharField()
    record_id = serializers.CharField()
    hit_id = serializers.CharField()
    created_at = serializers.DateTimeField()


def saved_wire(saved: Saved) -> dict[str, Any]:
    if saved.waiting is not None:
        return waiting_wire(saved.waiting)
    if saved.is_uncertain:
        return {"status": "uncertain"}
    ref = saved.ref
    return {"id": None if ref is None else ref.id, "version": None if ref is None else ref.version}


def unforgotten_wire(forgotten: Forgotten) -> dict[str, Any] | None:
    """What is answered where it is not certain that it is forgotten; else None."""
    if forgotten.waiting is not None:
        return waiting_wire(forgotten.waiting)
    return {"status": "uncertain"} if forgotten.is_uncertain else None


def waiting_wire(waiting: Waiting) -> dict[str, Any]:
    return {"status": "pending", "id": waiting.id, "message": waiting.message}


def recalled_wire(recalled: Recalled) -> dict[str, Any]:
    return {
        "hits": [
            {"id": hit.id, "version": hit.version, "text": hit.text, "score": hit.score, "origin": hit.origin}
            for hit in recalled.hits
        ],
        "references": render_references((hit.id, hit.text) for hit in recalled.hits),
        "cut": {"k": recalled.cut_by_k, "bytes": recalled.cut_by_bytes},
    }


def effect_wire(effect: MemoryEffect) -> dict[str, Any]:
    outcome = effect.outcome or {}
    return {
        "id": effect.wire_id,
        "type": "memory_effect",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, effect.scope.environment_id),
        "agent": effect.scope.agent,
        "scope": effect.scope.scope,
        "provider": effect.provider,
        "tool": effect.tool,
        "key": effect.key,
        "effect_class": effect.effect_class,
        "state": effect.state,
        "attempts": effect.attempts,
        "first_sent_at": to_wire(effect.first_sent_at),
        "record_id": outcome.get("id"),
        "error_code": outcome.get("code"),
        "decision": effect.decision,
        "decided_at": optional_to_wire(effect.decided_at),
        "decided_by": actor_wire(effect.decided_by_type, effect.decided_by_id),
        "created_at": to_wire(effect.created_at),
        "created_by": actor_wire(effect.created_by_type, effect.created_by_id),
    }


def violation_wire(violation: ScopeViolation) -> dict[str, Any]:
    return {
        "id": violation.wire_id,
        "type": "scope_violation",
        "environment_id": ids.to_wire(ids.ENVIRONMENT, violation.scope.environment_id),
        "agent": violation.scope.agent,
        "scope": violation.scope.scope,
        "provider": violation.provider,
        "namespace": violation.namespace,
        "record_id": violation.record_id,
        "hit_id": violation.hit_id,
        "created_at": to_wire(violation.created_at),
    }

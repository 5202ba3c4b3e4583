"""The REST door of records: remember, recall, forget, and what went wrong in doing so."""

from typing import Any

from django.http import HttpResponse

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.ground_shapes import record_scope_of
from memoryhub.problems import json_response
from providers import record_effects, records
from providers.limits import RECALL_HITS_DEFAULT
from providers.record_access import WantedScope
from providers.record_serializers import (
    ForgetRecordBody,
    ListEffectsQuery,
    ListViolationsQuery,
    MemoryEffectShape,
    RecalledShape,
    RecordRefShape,
    ResolveEffectBody,
    SaveRecordBody,
    ScopeViolationShape,
    SearchRecordsBody,
    effect_wire,
    recalled_wire,
    saved_wire,
    unforgotten_wire,
    violation_wire,
)
from providers.serializers import list_request
from providers.views import KeyedView, no_content

type Values = dict[str, Any]
_WHOSE = ("environment", "scope")
NOT_YET = 202  # uncertain, or a person decides


class RecordSave(KeyedView):
    @operation(
        "records.save",
        "Remember a record",
        body=SaveRecordBody,
        answer=RecordRefShape,
        status=201,
        also=(200, NOT_YET),
    )
    def post(self, *, body: Values, idempotency_key: str | None, actor: Actor) -> HttpResponse:
        fields = {name: value for name, value in body.items() if name not in _WHOSE}
        saved = records.save_record(_wanted(body), fields, key=idempotency_key, actor=actor)
        is_open = saved.is_uncertain or saved.waiting is not None
        status = NOT_YET if is_open else 201 if saved.is_new else 200
        return json_response(saved_wire(saved), status=status)


class RecordSearch(HubView):
    @operation("records.search", "Recall records", body=SearchRecordsBody, answer=RecalledShape)
    def post(self, *, body: Values, actor: Actor) -> Values:
        k = body.get("k", RECALL_HITS_DEFAULT)
        return recalled_wire(records.search_records(_wanted(body), body["query"], k=k, actor=actor))


class RecordForget(KeyedView):
    @operation(
        "records.forget",
        "Forget a record",
        body=ForgetRecordBody,
        answer=RecordRefShape,
        status=204,
        also=(NOT_YET,),
    )
    def post(self, *, body: Values, idempotency_key: str | None, actor: Actor) -> HttpResponse:
        forgotten = records.forget_record(_wanted(body), body["id"], key=idempotency_key, actor=actor)
        unforgotten = unforgotten_wire(forgotten)
        return no_content() if unforgotten is None else json_response(unforgotten, status=NOT_YET)


def _wanted(body: Values) -> WantedScope:
    return WantedScope(body.get("environment"), record_scope_of(body.get("scope")))


class RecordEffects(HubView):
    @operation(
        "record_effects.list", "List effects", query=ListEffectsQuery, answer=MemoryEffectShape, lists=True
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        environment, state = query.get("environment"), query.get("state")
        page = record_effects.list_effects(
            list_request("record_effects", query, _filters(query, actor)),
            environment=environment,
            state=state,
            actor=actor,
        )
        return page.as_wire(effect_wire)


class RecordEffectResolve(HubView):
    def require_visible(self, actor: Actor) -> None:
        record_effects.get_effect(self.kwargs["effect_id"], actor=actor)

    @operation(
        "record_effects.resolve",
        "Decide what became of an effect that is unknown",
        body=ResolveEffectBody,
        answer=MemoryEffectShape,
    )
    def post(self, effect_id: str, *, body: Values, actor: Actor) -> Values:
        return effect_wire(record_effects.resolve_effect(effect_id, decision=body["as"], actor=actor))


class RecordViolations(HubView):
    @operation(
        "record_violations.list",
        "List hits that were dropped, since they were of another scope",
        query=ListViolationsQuery,
        answer=ScopeViolationShape,
        lists=True,
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        page = records.list_violations(
            list_request("record_violations", query, _filters(query, actor)),
            environment=query.get("environment"),
            actor=actor,
        )
        return page.as_wire(violation_wire)


def _filters(query: Values, actor: Actor) -> dict[str, Any]:
    named = {name: value for name, value in query.items() if name not in ("limit", "page")}
    return named | {"project": actor.project_id.hex, "reach": str(actor.environment_id)}

"""The REST door of a reviewer: what there is to see of a nomination, and the decision on it."""

from typing import Any

from django.http import HttpResponse

from authority import memory_nominations, review_plans, reviews
from authority.call_answers import answer_call
from authority.limits import ADVANCE_REQUEST_BYTES_MAX, CODE_LENGTH_MAX
from authority.plan_wires import plan_wire
from authority.views import JSON_TYPE, AuthorityView, list_request, read_json
from authority.wires import nomination_wire
from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.fields import StrictSerializer, Text
from memoryhub.ground_shapes import RecordScopeBody, record_scope_of
from memoryhub.problems import json_response
from memoryhub.shapes import PageQuery

type Values = dict[str, Any]

DECISION_LABEL = "The review decision"


class NominateMemoryBody(StrictSerializer):
    nominationId = Text(length_min=1, length_max=CODE_LENGTH_MAX)
    storeId = Text(length_min=1, length_max=64)
    memoryId = Text(length_min=1, length_max=64)


class MemoryNominations(AuthorityView):
    @operation(
        "authorities.nominate_memory",
        "Propose a file of a store, or a document, as it is now",
        body=NominateMemoryBody,
    )
    def post(self, authority_id: str, *, body: Values, actor: Actor) -> Values:
        made = memory_nominations.nominate_memory(
            authority_id,
            store_id=body["storeId"],
            memory_id=body["memoryId"],
            route=body["nominationId"],
            actor=actor,
        )
        return nomination_wire(made)


class NominateRecordBody(StrictSerializer):
    """`scope`: whose record it is."""

    nominationId = Text(length_min=1, length_max=CODE_LENGTH_MAX)
    recordId = Text(length_min=1, length_max=64)
    scope = RecordScopeBody(required=False)


class RecordNominations(AuthorityView):
    @operation("authorities.nominate_record", "Propose a record", body=NominateRecordBody)
    def post(self, authority_id: str, *, body: Values, actor: Actor) -> Values:
        made = memory_nominations.nominate_record(
            authority_id,
            of=record_scope_of(body.get("scope")),
            record_id=body["recordId"],
            route=body["nominationId"],
            actor=actor,
        )
        return nomination_wire(made)


class ReviewPlan(AuthorityView):
    @operation("nominations.plan", "See a nomination against the pin, as it is now", query=PageQuery)
    def get(self, authority_id: str, nomination_sha256: str, *, query: Values, actor: Actor) -> Values:
        names = {"authority": authority_id, "nomination": nomination_sha256}
        request = list_request("review_plan", query, actor=actor, **names)
        return plan_wire(review_plans.compute_plan(authority_id, nomination_sha256, actor=actor), request)


class Decide(AuthorityView):
    @operation(
        "nominations.decide", "Reject a nomination, or adopt it", raw_body=JSON_TYPE, status=202, also=(200,)
    )
    def post(self, authority_id: str, nomination_sha256: str, *, actor: Actor) -> HttpResponse:
        self.require_visible(actor)
        value = read_json(self.request, label=DECISION_LABEL, bytes_max=ADVANCE_REQUEST_BYTES_MAX)
        decision = reviews.decide(authority_id, nomination_sha256, value, actor=actor)
        if decision.call is None:
            return json_response(nomination_wire(decision.nomination))
        return answer_call(self.request, decision.call, authority_id=authority_id)

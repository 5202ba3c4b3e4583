"""The REST door of authorities: creating them, and what stands in them."""

from typing import Any

from django.http import HttpResponse

from authority import authorities, host_calls, nominations_kept
from authority.authorities import Lane, Options
from authority.canonical import parse
from authority.failures import ValidationTypeError
from authority.models import Authority as AuthorityRow
from authority.views import JSON_TYPE, AuthorityView, list_request, read_json
from authority.wires import authority_wire, nomination_wire
from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.fields import Choice
from memoryhub.shapes import PageQuery

type Values = dict[str, Any]

AUTHORITY_LABEL = "The authority request"
AUTHORITY_BYTES_MAX = 16_777_216
_REQUIRED = {"actorId", "adoptionActorId", "canonical", "expectedHead", "routes", "v", "working"}
_MORE = {
    "explanationLifetimeMs": "explanation_milliseconds",
    "maximumCanonicalOperationBytes": "operation_bytes_max",
}
_LANE = {"authorityId", "bindingSha256", "space"}
STATES = ["pending", "adopting", "adopted", "already_present", "conflict", "rejected", "superseded"]


class NominationsQuery(PageQuery):
    state = Choice(choices=STATES, required=False)


class Authorities(HubView):
    @operation("authorities.create", "Pair a reviewed and a working memory, with a pin", raw_body=JSON_TYPE)
    def post(self, *, actor: Actor) -> Values:
        value = read_json(self.request, label=AUTHORITY_LABEL, bytes_max=AUTHORITY_BYTES_MAX)
        return authority_wire(authorities.create_authority(read_options(value), actor=actor), queued=0)

    @operation("authorities.list", "List authorities", query=PageQuery)
    def get(self, *, query: Values, actor: Actor) -> Values:
        request = list_request("authorities", query, actor=actor)
        return authorities.list_authorities(request, actor=actor).as_wire(_wire)


def read_options(value: Any) -> Options:
    """Raises: ValidationTypeError."""
    if type(value) is not dict or not _REQUIRED <= value.keys() <= _REQUIRED | {*_MORE, "programs"}:
        raise ValidationTypeError("Invalid memory authority request.")
    if type(value["v"]) is not int or value["v"] != 1:
        raise ValidationTypeError("Invalid memory authority request.")
    more = {name: value[key] for key, name in _MORE.items() if key in value}
    return Options(
        _read_lane(value["canonical"]),
        _read_lane(value["working"]),
        value["actorId"],
        value["adoptionActorId"],
        value["expectedHead"],
        value.get("programs", []),
        value["routes"],
        **more,
    )


def _read_lane(value: Any) -> Lane:
    if type(value) is not dict or value.keys() != _LANE or not all(type(v) is str for v in value.values()):
        raise ValidationTypeError("Invalid memory authority request.")
    return Lane(value["space"], value["authorityId"], value["bindingSha256"])


def _wire(authority: AuthorityRow) -> Values:
    return authority_wire(authority, queued=host_calls.count_queued(authority))


class Authority(AuthorityView):
    @operation("authorities.get", "Get an authority: its pin, its distance, what waits")
    def get(self, authority_id: str, *, actor: Actor) -> Values:
        return _wire(authorities.get_authority(authority_id, actor=actor))

    @operation("authorities.delete", "Delete an authority; both spaces stay", status=204)
    def delete(self, authority_id: str, *, actor: Actor) -> HttpResponse:
        authorities.delete_authority(authority_id, actor=actor)
        response = HttpResponse(status=204)
        del response["Content-Type"]
        return response


class Nominations(AuthorityView):
    @operation("nominations.list", "List what was nominated", query=NominationsQuery)
    def get(self, authority_id: str, *, query: Values, actor: Actor) -> Values:
        state = query.get("state")
        request = list_request("nominations", query, actor=actor, authority=authority_id, state=state)
        page = nominations_kept.list_nominations(authority_id, request, state=state, actor=actor)
        return page.as_wire(nomination_wire)


class Nomination(AuthorityView):
    @operation("nominations.get", "Get a nomination, whole")
    def get(self, authority_id: str, nomination_sha256: str, *, actor: Actor) -> Values:
        nomination = nominations_kept.get_nomination(authority_id, nomination_sha256, actor=actor)
        return {**nomination_wire(nomination), "nomination": parse(nomination.body)}


class Receipt(AuthorityView):
    @operation("receipts.get", "Get a receipt by its digest")
    def get(self, authority_id: str, receipt_sha256: str, *, actor: Actor) -> Values:
        wire: Values = parse(host_calls.get_receipt(authority_id, receipt_sha256, actor=actor).body)
        return wire

"""The REST door of a host: two calls that wait in line, and what became of each.

A call answers 202 and goes on whatever happens to who asked. `Prefer: wait=SECONDS` waits for its end, up to 25 seconds
and while few others do: then it answers 200 with the call and its receipt, or the status of what was raised.
"""

from typing import Any

from django.http import HttpResponse

from authority import authorities, host_calls
from authority.call_answers import answer_call, wire_of
from authority.host_requests import ADOPTION_LABEL, ADVANCE_LABEL
from authority.limits import ADOPTION_REQUEST_BYTES_MAX, ADVANCE_REQUEST_BYTES_MAX
from authority.views import JSON_TYPE, AuthorityView, list_request, read_json
from authority.wires import call_wire
from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.shapes import PageQuery

type Values = dict[str, Any]


class HostMethod(AuthorityView):
    def read(self, actor: Actor, label: str, bytes_max: int) -> Any:
        authorities.get_authority(self.kwargs["authority_id"], actor=actor)
        return read_json(self.request, label=label, bytes_max=bytes_max)


class Advance(HostMethod):
    @operation("authorities.advance", "Move the pin on", raw_body=JSON_TYPE, status=202, also=(200,))
    def post(self, authority_id: str, *, actor: Actor) -> HttpResponse:
        value = self.read(actor, ADVANCE_LABEL, ADVANCE_REQUEST_BYTES_MAX)
        call = host_calls.submit_advance(authority_id, value, actor=actor)
        return answer_call(self.request, call, authority_id=authority_id)


class Adopt(HostMethod):
    @operation(
        "authorities.adopt", "Take nominated records over", raw_body=JSON_TYPE, status=202, also=(200,)
    )
    def post(self, authority_id: str, *, actor: Actor) -> HttpResponse:
        value = self.read(actor, ADOPTION_LABEL, ADOPTION_REQUEST_BYTES_MAX)
        call = host_calls.submit_adoption(authority_id, value, actor=actor)
        return answer_call(self.request, call, authority_id=authority_id)


class Calls(AuthorityView):
    @operation("host_calls.list", "List the host calls of an authority", query=PageQuery)
    def get(self, authority_id: str, *, query: Values, actor: Actor) -> Values:
        request = list_request("host_calls", query, actor=actor, authority=authority_id)
        page = host_calls.list_calls(authority_id, request, actor=actor)
        receipts = host_calls.find_receipts(page.rows)
        return page.as_wire(lambda call: call_wire(call, receipts.get(call.receipt_sha256 or "")))


class Call(AuthorityView):
    @operation("host_calls.get", "Get a host call, with its receipt or its error")
    def get(self, authority_id: str, call_id: str, *, actor: Actor) -> Values:
        return wire_of(host_calls.get_call(authority_id, call_id, actor=actor))


class CallWithdraw(AuthorityView):
    @operation("host_calls.withdraw", "Withdraw a host call that waits")
    def post(self, authority_id: str, call_id: str, *, actor: Actor) -> Values:
        return wire_of(host_calls.withdraw_call(authority_id, call_id, actor=actor))


class CallResend(AuthorityView):
    @operation("host_calls.resend", "Send the request of a failed host call again", status=202, also=(200,))
    def post(self, authority_id: str, call_id: str, *, actor: Actor) -> HttpResponse:
        again = host_calls.resend_call(authority_id, call_id, actor=actor)
        return answer_call(self.request, again, authority_id=authority_id)

"""The REST door of a host: two calls that wait in line, and what became of each.

A call answers 202 and goes on whatever happens to who asked. `Prefer: wait=SECONDS` waits for its end, up to 25 seconds
and while few others do: then it answers 200 with the call and its receipt, or the status of what was raised.
"""

import re
import threading
import time
from typing import Any

from django.http import HttpRequest, HttpResponse

from authority import authorities, host_calls
from authority.host_requests import ADOPTION_LABEL, ADVANCE_LABEL
from authority.limits import ADOPTION_REQUEST_BYTES_MAX, ADVANCE_REQUEST_BYTES_MAX, WAIT_SECONDS_MAX
from authority.models import HostCall
from authority.views import JSON_TYPE, AuthorityView, list_request, read_json
from authority.wires import call_wire
from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.problems import json_response
from memoryhub.request_context import current_request_id
from memoryhub.shapes import PageQuery

type Values = dict[str, Any]

WAITING_PER_PROCESS_MAX = 16
_LOOK_SECONDS = 0.05
_WAIT = re.compile(r"(?:^|[,;]\s*)wait\s*=\s*(\d{1,6})(?:$|\s*[,;])", re.ASCII)
_places = threading.BoundedSemaphore(WAITING_PER_PROCESS_MAX)


class HostMethod(AuthorityView):
    def read(self, actor: Actor, label: str, bytes_max: int) -> Any:
        authorities.get_authority(self.kwargs["authority_id"], actor=actor)
        return read_json(self.request, label=label, bytes_max=bytes_max)


class Advance(HostMethod):
    @operation("authorities.advance", "Move the pin on", raw_body=JSON_TYPE, status=202, also=(200,))
    def post(self, authority_id: str, *, actor: Actor) -> HttpResponse:
        value = self.read(actor, ADVANCE_LABEL, ADVANCE_REQUEST_BYTES_MAX)
        return answer_call(self.request, host_calls.submit_advance(authority_id, value, actor=actor))


class Adopt(HostMethod):
    @operation(
        "authorities.adopt", "Take nominated records over", raw_body=JSON_TYPE, status=202, also=(200,)
    )
    def post(self, authority_id: str, *, actor: Actor) -> HttpResponse:
        value = self.read(actor, ADOPTION_LABEL, ADOPTION_REQUEST_BYTES_MAX)
        return answer_call(self.request, host_calls.submit_adoption(authority_id, value, actor=actor))


class Calls(AuthorityView):
    @operation("host_calls.list", "List the host calls of an authority", query=PageQuery)
    def get(self, authority_id: str, *, query: Values, actor: Actor) -> Values:
        request = list_request("host_calls", query, actor=actor, authority=authority_id)
        return host_calls.list_calls(authority_id, request, actor=actor).as_wire(_wire)


class Call(AuthorityView):
    @operation("host_calls.get", "Get a host call, with its receipt or its error")
    def get(self, authority_id: str, call_id: str, *, actor: Actor) -> Values:
        return _wire(host_calls.get_call(authority_id, call_id, actor=actor))


class CallWithdraw(AuthorityView):
    @operation("host_calls.withdraw", "Withdraw a host call that waits")
    def post(self, authority_id: str, call_id: str, *, actor: Actor) -> Values:
        return _wire(host_calls.withdraw_call(authority_id, call_id, actor=actor))


def _wire(call: HostCall) -> Values:
    return call_wire(call, host_calls.find_receipt(call))


def answer_call(request: HttpRequest, call: HostCall) -> HttpResponse:
    seconds = wait_seconds(request.headers.get("Prefer", ""))
    if seconds and _places.acquire(blocking=False):
        try:
            call = _wait(call, seconds)
        finally:
            _places.release()
    if call.finished_at is None:
        response = json_response(_wire(call), status=202)
        response["Location"] = f"{request.path.rpartition('/')[0]}/calls/{call.wire_id}"
        return response
    if call.error is None:
        return json_response(_wire(call))
    return _answer_error(call.error)


def wait_seconds(preference: str) -> int:
    """Of `Prefer: wait=SECONDS`; 0 when nothing of that kind is asked."""
    found = _WAIT.search(preference)
    return min(int(found[1]), WAIT_SECONDS_MAX) if found else 0


def _wait(call: HostCall, seconds: int) -> HostCall:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        call.refresh_from_db()
        if call.finished_at is not None:
            break
        time.sleep(_LOOK_SECONDS)
    return call


def _answer_error(error: Values) -> HttpResponse:
    """As if it had been raised here."""
    details = {"error_code": error["code"], **error.get("details", {})}
    if "conflict" in error:
        details["conflict"] = error["conflict"]
    shown = {"type": error["type"], "message": error["message"], "details": details}
    body = {"type": "error", "error": shown, "request_id": current_request_id()}
    response = json_response(body, status=error["status"])
    if error["status"] == 409:
        response["x-should-retry"] = "false"
    return response

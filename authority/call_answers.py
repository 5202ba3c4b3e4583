"""How a host call is answered: 202 while it goes on; its receipt, or what was raised, to who waits for its end."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse

from authority import host_calls
from authority.call_waits import wait_for_call
from authority.limits import WAIT_SECONDS_MAX
from authority.models import HostCall
from authority.wires import call_wire
from memoryhub.problems import json_response
from memoryhub.request_context import current_request_id

type Values = dict[str, Any]

_WAIT = re.compile(r"(?:^|[,;]\s*)wait\s*=\s*(\d{1,6})(?:$|\s*[,;])", re.ASCII)


def wire_of(call: HostCall) -> Values:
    return call_wire(call, host_calls.find_receipt(call))


def answer_call(request: HttpRequest, call: HostCall, *, authority_id: str) -> HttpResponse:
    call = wait_for_call(call, wait_seconds(request.headers.get("Prefer", "")))
    if call.finished_at is None:
        response = json_response(wire_of(call), status=202)
        response["Location"] = f"/v1/authorities/{authority_id}/host/calls/{call.wire_id}"
        return response
    if call.error is None:
        return json_response(wire_of(call))
    return _answer_error(call.error)


def wait_seconds(preference: str) -> int:
    """Of `Prefer: wait=SECONDS`; 0 when nothing of that kind is asked."""
    found = _WAIT.search(preference)
    return min(int(found[1]), WAIT_SECONDS_MAX) if found else 0


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

"""The door of the memory protocol: `/oc-memory/{endpoint}`, in the protocol's own shapes, with its own credentials."""

from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from memoryhub import metrics, strict_json
from memoryhub.api import read_body
from memoryhub.errors import InvalidRequest, RequestTooLarge
from providers import endpoint_calls
from providers.endpoint_calls import Incoming
from providers.endpoint_wire import PARTITION, Answer, Refusal, encode, refused
from providers.limits import BODY_BYTES_MAX, INGESTED_ITEMS_MAX

log = structlog.get_logger("memoryhub.endpoints")
_ROLES = ("user", "assistant", "system", "tool")


class _ProtocolView(View):
    """POST and nothing else; no cookie is read, so no form token is needed."""

    http_method_names = ["post", "get", "put", "patch", "delete", "head", "options"]
    name = ""

    @method_decorator(csrf_exempt)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        metrics.name_operation(request, self.name)
        if request.method != "POST":
            return _send(refused(Refusal(405, "method_not_allowed", "Use POST.", headers={"Allow": "POST"})))
        try:
            return _send(self.answer(_read(request), **kwargs))
        except Refusal as refusal:
            return _send(refused(refusal))
        except (DatabaseError, InterfaceError) as error:  # rolled back, so that a retry is clean
            log.warning("unavailable", cause=type(error.__cause__).__name__)
            away = Refusal(503, "unavailable", "The memory did not answer.", headers={"Retry-After": "1"})
            return _send(refused(away))

    def answer(self, incoming: Incoming, **kwargs: Any) -> Answer:
        raise NotImplementedError


def _read(request: HttpRequest) -> Incoming:
    try:
        body = read_body(request, bytes_max=BODY_BYTES_MAX)
    except RequestTooLarge as error:
        raise Refusal(413, "request_too_large", error.message) from error
    except InvalidRequest as error:
        raise Refusal(400, "invalid_json", error.message) from error
    return Incoming(request.headers.get("Authorization", ""), request.headers.get("Content-Type", ""), body)


def _send(answer: Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type="application/json")
    for name, value in answer.headers.items():
        response[name] = value
    return response


class MemoryProtocol(_ProtocolView):
    name = "oc_memory.call"

    def answer(self, incoming: Incoming, **kwargs: Any) -> Answer:
        return endpoint_calls.answer_call(kwargs["endpoint_id"], incoming)


class Ingest(_ProtocolView):
    """Conversations for later extraction: apart from the protocol, with credentials of their own."""

    name = "oc_memory.ingest"

    def answer(self, incoming: Incoming, **kwargs: Any) -> Answer:
        credential = endpoint_calls.admit(kwargs["endpoint_id"], incoming, scope="ingest")
        if not PARTITION.fullmatch(kwargs["partition"]):
            raise Refusal(400, "invalid_request", "The partition is not as the protocol has it.")
        items = _read_items(incoming.body)
        kept = endpoint_calls.ingest(credential.endpoint, kwargs["partition"], items)
        return Answer(202, encode({"status": "accepted", "items": kept}))


def _read_items(raw: bytes) -> list[tuple[str, str]]:
    """Of `{"items": [{"role", "text"}]}`. Raises: Refusal."""
    try:
        given = strict_json.parse_object(raw).get("items")
    except strict_json.StrictJSONError as error:
        raise Refusal(400, "invalid_json", str(error)) from error
    if not isinstance(given, list) or not 1 <= len(given) <= INGESTED_ITEMS_MAX:
        raise Refusal(400, "invalid_request", f"items must be a list of 1 to {INGESTED_ITEMS_MAX}.")
    return [_read_item(item) for item in given]


def _read_item(item: Any) -> tuple[str, str]:
    role = item.get("role") if isinstance(item, dict) else None
    text = item.get("text") if isinstance(item, dict) else None
    if role not in _ROLES or not isinstance(text, str) or not text:
        raise Refusal(400, "invalid_request", f"An item has a role ({', '.join(_ROLES)}) and a text.")
    return role, text

"""What an endpoint answered, read strictly: a projection, a result or an error, and which event of the table it is. Pure.

Source: contract of document and HTTP memory, sections 10.2 to 10.6.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryhub import strict_json
from providers.limits import CURSOR_BYTES_MAX, RECALL_SOURCES_MAX, SOURCE_ID_BYTES_MAX
from providers.retries import Event

# The host's own codes and what each says to a model.
MESSAGES = {
    "deadline_exceeded": "The memory service did not answer within ten seconds.",
    "retries_exhausted": "The memory service could not be reached in as many tries as are allowed.",
    "invalid_response": "The memory service answered what its protocol does not allow.",
    "response_too_large": "The memory service answered more than its protocol allows.",
    "recall_too_large": "The memory service recalled more text than its declaration allows.",
    "request_too_large": "The request to the memory service would be larger than 64 KiB.",
    "redirect_rejected": "The memory service answered with a redirect, which is not followed.",
    "authentication_failed": "The memory service does not accept the credential of its connection.",
    "egress_blocked": "The hub does not call this address.",
    "secret_unavailable": "A secret of the connection is missing, or is not meant for this origin.",
    "cancelled": "The call was cancelled.",
    "session_closed": "The session has ended, or the memory was revoked.",
    "erased": "What this held was erased.",
    "host_overloaded": "The hub was too busy to begin the call; nothing was sent.",
}
_CODES = {
    Event.INVALID_ANSWER: "invalid_response",
    Event.REDIRECTED: "redirect_rejected",
    Event.UNAUTHENTICATED: "authentication_failed",
    Event.DEADLINE_REACHED: "deadline_exceeded",
    Event.TRANSPORT_FAILED: "retries_exhausted",
    Event.BLOCKED: "egress_blocked",
    Event.CANCELLED: "cancelled",
    Event.SESSION_CLOSED: "session_closed",
    Event.SECRET_UNAVAILABLE: "secret_unavailable",
}
REDACTED = "[redacted]"


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """`value`: of a success. `error`: `{"code", "message", "details"?}` of anything else. `provider`: the endpoint's own."""

    event: Event
    value: Any = None
    error: dict[str, Any] | None = None
    provider: dict[str, Any] | None = None
    status: int | None = None


class _Unacceptable(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def host_error(code: str, **details: Any) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": MESSAGES[code]}
    return error | ({"details": details} if details else {})


def unanswered(event: Event) -> WireAnswer:
    """Of what is no answer: a failure, a refusal of ours."""
    return WireAnswer(event, error=host_error(_CODES[event]))


def too_large(code: str, status: int | None) -> WireAnswer:
    return WireAnswer(Event.TOO_LARGE, error=host_error(code), status=status)


def read_answer(
    status: int, body: bytes, *, content_encoding: str | None, recall_bytes_max: int | None
) -> WireAnswer:
    """`recall_bytes_max`: of a recall, None of a tool."""
    is_encoded = (content_encoding or "identity").strip().lower() not in ("", "identity")
    if status == 200:
        return _read_success(body, is_encoded, recall_bytes_max)
    event = _event_of(status)
    if event in (Event.INVALID_ANSWER, Event.REDIRECTED):
        return WireAnswer(event, error=host_error(_CODES[event], status=status), status=status)
    provider = None if is_encoded else _read_envelope(body)
    if event is Event.UNAUTHENTICATED:
        details = {"status": status} | ({"provider": provider} if provider else {})
        return WireAnswer(event, None, host_error("authentication_failed", **details), provider, status)
    return WireAnswer(event, None, provider or _made_envelope(status), provider, status)


def _event_of(status: int) -> Event:
    if status in (408, 429) or 500 <= status < 600:
        return Event.BUSY
    if status in (401, 403):
        return Event.UNAUTHENTICATED
    if 300 <= status < 400:
        return Event.REDIRECTED
    return Event.REFUSED if 400 <= status < 500 else Event.INVALID_ANSWER


def _made_envelope(status: int) -> dict[str, Any]:
    message = f"The memory service answered with the status {status}."
    return {"code": "provider_error", "message": message, "details": {"status": status}}


def _read_envelope(body: bytes) -> dict[str, Any] | None:
    try:
        error = strict_json.parse_object(body).get("error")
    except strict_json.StrictJSONError:
        return None
    if not isinstance(error, dict):
        return None
    if not isinstance(error.get("code"), str) or not isinstance(error.get("message"), str):
        return None
    known = {"code": error["code"], "message": error["message"]}
    return known | ({"details": error["details"]} if error.get("details") is not None else {})


def _read_success(body: bytes, is_encoded: bool, recall_bytes_max: int | None) -> WireAnswer:
    try:
        if is_encoded:
            raise _Unacceptable("invalid_response")
        value = _read_value(body, recall_bytes_max)
    except _Unacceptable as error:
        event = Event.INVALID_ANSWER if error.code == "invalid_response" else Event.TOO_LARGE
        return WireAnswer(event, error=host_error(error.code), status=200)
    return WireAnswer(Event.SUCCEEDED, value=value, status=200)


def _read_value(body: bytes, recall_bytes_max: int | None) -> Any:
    """Raises: _Unacceptable."""
    try:
        answer = strict_json.parse_object(body)
    except strict_json.StrictJSONError as error:
        raise _Unacceptable("invalid_response") from error
    if recall_bytes_max is not None:
        return _read_recall(answer, recall_bytes_max)
    if "result" not in answer:
        raise _Unacceptable("invalid_response")
    return answer["result"]


def _read_recall(answer: dict[str, Any], bytes_max: int) -> dict[str, Any]:
    """`{"text", "sources", "cursor"}`, nothing else of the answer."""
    text, sources = answer.get("text"), answer.get("sources")
    if not isinstance(text, str) or not isinstance(sources, list):
        raise _Unacceptable("invalid_response")
    if len(text.encode()) > bytes_max:
        raise _Unacceptable("recall_too_large")
    if len(sources) > RECALL_SOURCES_MAX:
        raise _Unacceptable("response_too_large")
    cursor = _read_text(answer, "cursor")
    if cursor is not None and len(cursor.encode()) > CURSOR_BYTES_MAX:
        raise _Unacceptable("response_too_large")
    return {"text": text, "sources": [_read_source(one) for one in sources], "cursor": cursor}


def _read_source(source: Any) -> dict[str, str]:
    if not isinstance(source, dict) or not isinstance(source.get("id"), str) or not source["id"]:
        raise _Unacceptable("invalid_response")
    if len(source["id"].encode()) > SOURCE_ID_BYTES_MAX:
        raise _Unacceptable("response_too_large")
    known = {"id": source["id"]}
    for key in ("title", "revision", "updatedAt"):
        value = _read_text(source, key)
        if value is not None:
            known[key] = value
    if "updatedAt" in known:
        _require_time(known["updatedAt"])
    return known


def _read_text(holder: dict[str, Any], key: str) -> str | None:
    """A field that may be absent or null."""
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise _Unacceptable("invalid_response")
    return value


def _require_time(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise _Unacceptable("invalid_response") from error


def redact(value: Any, secrets: frozenset[str]) -> Any:
    """The same value with every literal secret in its strings replaced: an endpoint may echo what it was sent."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, list):
        return [redact(one, secrets) for one in value]
    if isinstance(value, dict):
        return {redact(key, secrets): redact(one, secrets) for key, one in value.items()}
    return value

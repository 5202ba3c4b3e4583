"""The wire of endpoints: a request read in the contract's order, its refusals, cursors. Pure but for the clock.

Source: contract of document and HTTP memory, sections 13.1 and 13.5. The shapes are the protocol's, not the hub's own.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.crypto import salted_hmac

from memoryhub import strict_json
from memoryhub.digests import are_equal, canonical_json, exact_json
from providers.limits import CURSOR_BYTES_MAX, OPERATION_ID_BYTES_MAX, RESOURCE_BYTES_MAX

PARTITION = re.compile(r"[A-Za-z0-9_.:-]{1,200}", re.ASCII)
_CURSOR_PREFIX = "c1."
_REVISION_BYTES, _SEAL_BYTES = 8, 16


class Refusal(Exception):
    """What the endpoint answers instead of a result, in the protocol's envelope."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: dict[str, str] | None = None, **details: Any
    ) -> None:
        super().__init__(code)
        self.status = status
        self.headers = headers or {}
        error: dict[str, Any] = {"code": code, "message": message}
        self.body = {"error": error | ({"details": details} if details else {})}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def refused(refusal: Refusal) -> Answer:
    return Answer(refusal.status, encode(refusal.body), refusal.headers)


@dataclass(frozen=True, slots=True)
class WireRequest:
    """`tool` None: a recall, with `input_text` and `bytes_max`; else a call with `arguments`. `cursor` None: not given."""

    operation_id: str
    partition: str
    may_write: bool
    deadline_at: datetime
    input_text: str | None = None
    bytes_max: int = 0
    tool: str | None = None
    arguments: Any = None
    cursor: str | None = None

    @property
    def seconds_left(self) -> float:
        return (self.deadline_at - timezone.now()).total_seconds()

    def fingerprint(self) -> str:
        """Of what the operation does: neither access nor deadline; no cursor differs from any.

        Sealed with a key: a digest alone would let a short text be guessed after it was erased.
        """
        facts = {"tool": self.tool, "arguments": self.arguments}
        of = exact_json(facts if self.cursor is None else facts | {"cursor": self.cursor})
        return salted_hmac("memoryhub.endpoint_operation", of, algorithm="sha256").hexdigest()


def encode(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def read_request(raw: bytes) -> WireRequest:
    """Checks 5 to 8. Raises: Refusal."""
    try:
        given = strict_json.parse_object(raw)
    except strict_json.StrictJSONError as error:
        raise Refusal(400, "invalid_json", str(error)) from error
    if given.get("version") != 1 or isinstance(given.get("version"), bool):
        raise Refusal(400, "unsupported_version", "This endpoint speaks version 1.")
    request = _read_fields(given)
    if request.seconds_left <= 0:  # 400, since a host would try a 408 again
        raise Refusal(400, "deadline_expired", "deadlineAt has passed.")
    return request


def _read_fields(given: dict[str, Any]) -> WireRequest:
    common: dict[str, Any] = {
        "operation_id": _read_operation_id(given.get("operationId")),
        "partition": _require(
            given.get("partition"), "partition", lambda value: bool(PARTITION.fullmatch(value))
        ),
        "may_write": _require(given.get("access"), "access", lambda value: value in ("read", "read-write"))
        == "read-write",
        "deadline_at": _read_time(given.get("deadlineAt")),
    }
    if given.get("operation") == "recall":
        return WireRequest(**common, **_read_recall(given))
    if given.get("operation") == "tool":
        return WireRequest(**common, **_read_tool(given))
    raise _invalid("operation")


def _invalid(name: str) -> Refusal:
    return Refusal(400, "invalid_request", f"{name} is missing or is not as the protocol has it.")


def _require(value: Any, name: str, is_right: Any) -> str:
    if not isinstance(value, str) or not is_right(value):
        raise _invalid(name)
    return value


def _read_operation_id(value: Any) -> str:
    return _require(value, "operationId", lambda text: 1 <= len(text.encode()) <= OPERATION_ID_BYTES_MAX)


def _read_time(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise _invalid("deadlineAt")
    return moment


def _read_recall(given: dict[str, Any]) -> dict[str, Any]:
    input_ = given.get("input")
    if not isinstance(input_, dict) or "text" not in input_ or not isinstance(input_["text"], str | None):
        raise _invalid("input")
    bytes_max = given.get("maxBytes")
    if type(bytes_max) is not int or not 1 <= bytes_max <= RESOURCE_BYTES_MAX:
        raise _invalid("maxBytes")
    return {"input_text": input_["text"], "bytes_max": bytes_max}


def _read_tool(given: dict[str, Any]) -> dict[str, Any]:
    arguments, cursor = given.get("arguments"), given.get("cursor")
    if not isinstance(arguments, dict):
        raise _invalid("arguments")
    if cursor is not None:
        _require(cursor, "cursor", lambda text: len(text.encode()) <= CURSOR_BYTES_MAX)
    return {
        "tool": _require(given.get("tool"), "tool", lambda text: text != ""),
        "arguments": arguments,
        "cursor": cursor,
    }


def invalid_cursor() -> Refusal:
    return Refusal(400, "invalid_cursor", "This cursor was not given out for this partition.")


def write_cursor(endpoint_id: str, partition: str, revision: int) -> str:
    """`c1.` and the revision with a seal over the endpoint, the partition and it."""
    sealed = _seal(endpoint_id, partition, revision)
    return _CURSOR_PREFIX + base64.urlsafe_b64encode(revision.to_bytes(_REVISION_BYTES) + sealed).decode()


def read_cursor(endpoint_id: str, partition: str, cursor: str) -> int:
    """The revision. Raises: Refusal for one that was not given out here."""
    refusal = invalid_cursor()
    try:
        raw = base64.b64decode(cursor.removeprefix(_CURSOR_PREFIX).encode(), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise refusal from error
    if not cursor.startswith(_CURSOR_PREFIX) or len(raw) != _REVISION_BYTES + _SEAL_BYTES:
        raise refusal
    revision = int.from_bytes(raw[:_REVISION_BYTES])
    if not are_equal(raw[_REVISION_BYTES:], _seal(endpoint_id, partition, revision)):
        raise refusal
    return revision


def _seal(endpoint_id: str, partition: str, revision: int) -> bytes:
    of = canonical_json([endpoint_id, partition, str(revision)])
    return salted_hmac("memoryhub.endpoint_cursor", of, algorithm="sha256").digest()[:_SEAL_BYTES]

"""What an agent asks of a program, and the continuation that takes it to the next page. Pure but for the server's key."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authority.canonical import (
    NotCanonical,
    detach,
    digest_of,
    has_exact_keys,
    is_code,
    is_digest,
    is_integer,
    text_of,
)
from authority.canonical import parse as parse_json
from authority.failures import BytesExceededError, CapacityError, ContinuationError, ValidationTypeError
from authority.limits import (
    BINDING_BYTES_MAX,
    BINDINGS_BYTES_MAX,
    BINDINGS_MAX,
    CONTINUATION_BYTES_MAX,
    CONTINUATION_KEY_BYTES,
    PAGE_ROWS_MAX,
    PROGRAM_ROWS_MAX,
    QUERY_REQUEST_BYTES_MAX,
)
from authority.programs import Program

_REQUEST = frozenset({"bindings", "continuation", "programId", "v"})
_COVERED = (
    "bindingsSha256",
    "memorySha256",
    "nextOffset",
    "pageSize",
    "programSha256",
    "resultSetSha256",
    "totalRows",
    "v",
)
_CONTINUATION = frozenset({*_COVERED, "continuationSha256", "continuationHmacSha256"})
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_DOMAIN = b"memoryhub.authority.continuation.v2"
_OTHER_SOURCE = "The memory continuation does not match this exact source and projection identity."


@dataclass(frozen=True, slots=True)
class Query:
    program_id: str
    bindings: Mapping[str, Any]
    continuation: str | None


def read_query(value: Any) -> Query:
    """Raises: ValidationTypeError, CapacityError."""
    value = detach(value, label="The parameterized memory query", bytes_max=QUERY_REQUEST_BYTES_MAX)
    if not has_exact_keys(value, _REQUEST, version=2) or not is_code(value["programId"]):
        raise ValidationTypeError("Invalid parameterized memory query.")
    bindings, continuation = value["bindings"], value["continuation"]
    if type(bindings) is not dict or not (continuation is None or type(continuation) is str):
        raise ValidationTypeError("Invalid parameterized memory query.")
    if any(type(inner) in (dict, list) for inner in bindings.values()):
        raise ValidationTypeError("Memory bindings must be JSON primitives.")
    if len(bindings) > BINDINGS_MAX:
        raise CapacityError("The memory query has too many bindings.")
    if any(len(text_of(inner)) > BINDING_BYTES_MAX for inner in bindings.values()):
        raise BytesExceededError("A memory query binding exceeds its canonical byte bound.")
    if len(text_of(bindings)) > BINDINGS_BYTES_MAX:
        raise BytesExceededError("The memory query bindings exceed their canonical byte bound.")
    return Query(value["programId"], bindings, continuation)


def bindings_digest(query: Query, program: Program) -> str:
    """Raises: ValidationTypeError for bindings that are not those of the program."""
    if query.bindings.keys() != set(program.parameters):
        raise ValidationTypeError("Memory query bindings must exactly match the host-declared parameters.")
    return digest_of({"bindings": dict(query.bindings), "parameters": list(program.parameters), "v": 2})


# Continuations.


@dataclass(frozen=True, slots=True)
class Position:
    """Where the next page begins, and in which result."""

    bindings_sha256: str
    memory_sha256: str
    next_offset: int
    page_size: int
    program_sha256: str
    result_set_sha256: str
    total_rows: int

    def as_wire(self) -> dict[str, Any]:
        return {
            "bindingsSha256": self.bindings_sha256,
            "memorySha256": self.memory_sha256,
            "nextOffset": self.next_offset,
            "pageSize": self.page_size,
            "programSha256": self.program_sha256,
            "resultSetSha256": self.result_set_sha256,
            "totalRows": self.total_rows,
            "v": 2,
        }


def require_key(key: bytes) -> bytes:
    """Raises: CapacityError."""
    if not CONTINUATION_KEY_BYTES[0] <= len(key) <= CONTINUATION_KEY_BYTES[1]:
        raise CapacityError("The V2 memory continuation key must be 32 through 64 raw bytes.")
    return key


def write_continuation(position: Position, key: bytes) -> tuple[str, str]:
    """(token, its digest)."""
    sha256 = digest_of(position.as_wire())
    fields = {**position.as_wire(), "continuationSha256": sha256}
    text = text_of({**fields, "continuationHmacSha256": _seal(fields, key)})
    return base64.urlsafe_b64encode(text).decode().rstrip("="), sha256


def _seal(fields: Mapping[str, Any], key: bytes) -> str:
    message = _DOMAIN + b"\0" + text_of(dict(fields))
    return hmac.new(require_key(key), message, hashlib.sha256).hexdigest()


def read_continuation(token: str, key: bytes) -> Position:
    """Raises: ContinuationError for whatever was not written here, byte for byte."""
    value, raw = _decode(token)
    if not _is_in_range(value):
        raise ContinuationError("The memory continuation is out of its range.", "identity")
    if text_of(value) != raw:
        raise ContinuationError("The memory continuation is not canonical.", "encoding")
    fields = {name: inner for name, inner in value.items() if name != "continuationHmacSha256"}
    if not hmac.compare_digest(_seal(fields, key), value["continuationHmacSha256"]):
        raise ContinuationError("The memory continuation was not issued here.", "authentication")
    position = Position(*(value[name] for name in _COVERED[:-1]))
    if digest_of(position.as_wire()) != value["continuationSha256"]:
        raise ContinuationError(_OTHER_SOURCE, "identity")
    return position


def _decode(token: str) -> tuple[dict[str, Any], bytes]:
    wrong = ContinuationError("The memory continuation cannot be read.", "encoding")
    if len(token) > CONTINUATION_BYTES_MAX or not _BASE64URL.fullmatch(token):
        raise wrong
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        value = parse_json(raw)
    except (ValueError, NotCanonical) as error:
        raise wrong from error
    if not has_exact_keys(value, _CONTINUATION, version=2):
        raise wrong
    return value, raw


def _is_in_range(value: dict[str, Any]) -> bool:
    digests = [inner for name, inner in value.items() if name.endswith("Sha256")]
    return (
        all(is_digest(digest) for digest in digests)
        and is_integer(value["pageSize"], 1, PAGE_ROWS_MAX)
        and is_integer(value["totalRows"], 1, PROGRAM_ROWS_MAX)
        and is_integer(value["nextOffset"], 1, value["totalRows"] - 1)
        and value["nextOffset"] % value["pageSize"] == 0
    )


def require_same_query(position: Position, program: Program, bindings_sha256: str) -> None:
    """Before anything is read. Raises: ContinuationError."""
    if (position.program_sha256, position.bindings_sha256, position.page_size) != (
        program.sha256,
        bindings_sha256,
        program.page_size,
    ):
        raise ContinuationError(_OTHER_SOURCE, "identity")


def require_same_result(
    position: Position, *, memory_sha256: str, result_set_sha256: str, total_rows: int
) -> None:
    """After either memory moved, the page belongs to nothing. Raises: ContinuationError."""
    if (position.memory_sha256, position.result_set_sha256, position.total_rows) != (
        memory_sha256,
        result_set_sha256,
        total_rows,
    ):
        raise ContinuationError(_OTHER_SOURCE, "identity")

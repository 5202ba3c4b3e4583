"""What an agent asks to be remembered, read and made into changes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authority.canonical import detach, digest_of, has_exact_keys, is_code, is_digest, is_integer
from authority.codecs import Registry
from authority.failures import BytesExceededError, CapacityError, ValidationTypeError
from authority.graph import (
    Change,
    HeadReference,
    Put,
    Reference,
    Tombstone,
    apply_changes,
    make_record,
    sort_changes,
)
from authority.limits import CHANGES_MAX, KEY_LENGTH_MAX, LANE_BYTES_MAX, LANE_RECORDS_MAX, REMEMBER_BYTES_MAX
from authority.snapshots import snapshot_bytes, widest_head

_REQUEST = frozenset({"expectedHead", "puts", "requestId", "tombstones", "v"})
_HEAD = frozenset({"generation", "operationSha256"})
_PUT = frozenset({"dependencies", "key", "kind", "v", "value"})
_TOMBSTONE = frozenset({"key", "priorSha256", "v"})


@dataclass(frozen=True, slots=True)
class Remembering:
    request_id: str
    expected: HeadReference
    changes: tuple[Change, ...]


def read_remembering(value: Any, kinds: Registry) -> Remembering:
    """Raises: ValidationTypeError, CapacityError."""
    value = detach(value, label="The memory remember request", bytes_max=REMEMBER_BYTES_MAX)
    if not has_exact_keys(value, _REQUEST):
        raise ValidationTypeError("Invalid memory remember request.")
    if not is_code(value["requestId"]):
        raise ValidationTypeError("Invalid memory remember request identity.")
    puts, tombstones = value["puts"], value["tombstones"]
    if type(puts) is not list or type(tombstones) is not list:
        raise ValidationTypeError("Invalid semantic bundle.")
    if not 1 <= len(puts) + len(tombstones) <= CHANGES_MAX:
        raise ValidationTypeError("Invalid semantic bundle.")
    expected = _read_head(value["expectedHead"])
    changes = [*(_read_put(item, kinds) for item in puts), *(_read_tombstone(item) for item in tombstones)]
    return Remembering(value["requestId"], expected, sort_changes(changes))


def _read_head(value: Any) -> HeadReference:
    if has_exact_keys(value, _HEAD) and is_integer(value["generation"], 0):
        sequence, sha256 = value["generation"], value["operationSha256"]
        if sha256 is None if sequence == 0 else is_digest(sha256):
            return HeadReference(sequence, sha256)
    raise ValidationTypeError("Invalid semantic bundle identity.")


def _read_put(item: Any, kinds: Registry) -> Change:
    if not has_exact_keys(item, _PUT):
        raise ValidationTypeError("Invalid semantic bundle put.")
    codec = kinds.find(item["kind"])
    if codec is None:
        raise ValidationTypeError("Invalid semantic bundle put.")
    value = codec(item["value"])
    if value is None:
        raise ValidationTypeError(f"The {item['kind']} codec rejected a semantic value.")
    return Put(make_record(item["key"], item["kind"], value, item["dependencies"]))


def _read_tombstone(item: Any) -> Change:
    if (
        not has_exact_keys(item, _TOMBSTONE)
        or not is_code(item["key"], length_max=KEY_LENGTH_MAX)
        or not is_digest(item["priorSha256"])
    ):
        raise ValidationTypeError("Invalid semantic bundle tombstone.")
    return Tombstone(item["key"], item["priorSha256"])


def operation_id_of(request_id: str, *, actor_id: str, binding_sha256: str) -> str:
    """The same request has the same, so that sending it again finds it."""
    fields = {"actorId": actor_id, "bindingSha256": binding_sha256, "requestId": request_id, "v": 1}
    return f"memory_{digest_of(fields)[:48]}"


def require_room(
    asked: Remembering, current: Mapping[str, Reference], sizes: Mapping[str, int], *, sequence: int
) -> None:
    """Raises: CapacityError for what would make the working memory too large to be read."""
    after = apply_changes(current, asked.changes)
    if len(after) > LANE_RECORDS_MAX:
        raise CapacityError("The remembered working memory would exceed its record snapshot bound.")
    put = {change.key: len(change.record.text) for change in asked.changes if isinstance(change, Put)}
    total = snapshot_bytes(
        widest_head(sequence + 1), [put[key] if key in put else sizes[key] for key in after]
    )
    if total > LANE_BYTES_MAX:
        raise BytesExceededError("The remembered working memory would exceed its snapshot byte bound.")

"""What a host asks, copied and checked before it waits. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from authority.canonical import detach, has_exact_keys, is_code, is_digest
from authority.failures import ValidationTypeError
from authority.graph import Head, find_head
from authority.limits import (
    ADOPTION_REQUEST_BYTES_MAX,
    ADVANCE_REQUEST_BYTES_MAX,
    KEY_LENGTH_MAX,
    REPLACEMENTS_MAX,
)
from authority.nominations import Nomination, parse_nomination

ADVANCE_LABEL = "The canonical memory advance request"
ADOPTION_LABEL = "The memory adoption request"
_ADVANCE = frozenset({"expectedHead", "nextHead", "v"})
_ADOPTION = frozenset({"expectedCanonicalHead", "nomination", "v"})
_REPLACEMENT = frozenset({"expectedPriorRecordSha256", "key", "v"})


@dataclass(frozen=True, slots=True)
class AdvanceRequest:
    expected: Head
    next: Head


@dataclass(frozen=True, slots=True)
class AdoptionRequest:
    """`claims`: the digests of reviewed records that may be replaced, by key."""

    expected: Head
    nomination: Nomination = field(repr=False)
    claims: Mapping[str, str]


def read_advance_request(value: Any) -> AdvanceRequest:
    """Raises: ValidationTypeError, CapacityError."""
    value = detach(value, label=ADVANCE_LABEL, bytes_max=ADVANCE_REQUEST_BYTES_MAX)
    if not has_exact_keys(value, _ADVANCE):
        raise ValidationTypeError("Invalid canonical memory advance request.")
    expected = find_head(value["expectedHead"])
    if expected is None:
        raise ValidationTypeError("Invalid expected canonical memory head.")
    following = find_head(value["nextHead"])
    if following is None:
        raise ValidationTypeError("Invalid next canonical memory head.")
    return AdvanceRequest(expected, following)


def read_adoption_request(value: Any) -> AdoptionRequest:
    """Raises: ValidationTypeError, CapacityError."""
    value = detach(value, label=ADOPTION_LABEL, bytes_max=ADOPTION_REQUEST_BYTES_MAX)
    if not has_exact_keys(value, _ADOPTION) and not has_exact_keys(value, _ADOPTION | {"replacements"}):
        raise ValidationTypeError("Invalid memory adoption request.")
    nomination = parse_nomination(value["nomination"])
    if nomination is None:
        raise ValidationTypeError("Invalid memory adoption nomination.")
    claims = _read_claims(value.get("replacements", []), nomination)
    expected = find_head(value["expectedCanonicalHead"])
    if expected is None:
        raise ValidationTypeError("Invalid expected canonical adoption memory head.")
    return AdoptionRequest(expected, nomination, claims)


def _read_claims(items: Any, nomination: Nomination) -> dict[str, str]:
    if type(items) is not list or len(items) > REPLACEMENTS_MAX:
        raise ValidationTypeError("Invalid memory adoption replacements.")
    keys = {record.key for record in nomination.records}
    for item in items:
        if (
            not has_exact_keys(item, _REPLACEMENT)
            or not is_code(item["key"], length_max=KEY_LENGTH_MAX)
            or not is_digest(item["expectedPriorRecordSha256"])
            or item["key"] not in keys
        ):
            raise ValidationTypeError("Invalid memory adoption replacement.")
    claims = {item["key"]: item["expectedPriorRecordSha256"] for item in items}
    if len(claims) != len(items):
        raise ValidationTypeError("Memory adoption replacement keys must be unique.")
    return claims

"""What the rows of a page rest on, kept for a while under a token: one cache for an authority, whatever its head is.

256 entries and 64 MiB in all; the oldest issued goes first. The clock's row is locked, never the authority's: agents do
not wait for a host, nor a host for them.
"""

import base64
import secrets
from dataclasses import dataclass
from typing import Any

from django.db.transaction import atomic

from authority.bindings import sealed
from authority.canonical import detach, has_exact_keys, instant_of, is_digest, is_integer, parse, text_of
from authority.clocks import milliseconds_now
from authority.failures import (
    BytesExceededError,
    CapacityError,
    ExplanationAbsentError,
    ProfileError,
    ValidationTypeError,
)
from authority.limits import (
    EXPLANATION_BYTES_MAX,
    EXPLANATION_OVERHEAD_BYTES,
    EXPLANATIONS_BYTES_MAX,
    EXPLANATIONS_MAX,
    QUERY_REQUEST_BYTES_MAX,
)
from authority.models import Authority, Clock, Explanation
from memoryhub.digests import are_equal, sha256_hex

_REQUEST = frozenset({"pageRow", "resultSha256", "token", "v"})
_TOKEN_LENGTH = 43
type Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    token: str
    result_sha256: str
    page_row: int


def lock_clock(authority: Authority) -> Clock:
    """A step: the authority's clocks, held to the end of the transaction."""
    return Clock.objects.select_for_update().get(authority=authority)


def read_wall_clock(authority: Authority) -> str:
    """A step: the instant of what is remembered now. Raises: ProfileError when the clock went back."""
    clock, now = lock_clock(authority), milliseconds_now()
    if now < clock.wall_milliseconds:
        raise ProfileError("The memory wall clock regressed.")
    clock.wall_milliseconds = now
    clock.save(update_fields=["wall_milliseconds"])
    return instant_of(now)


def _read_clock(clock: Clock) -> int:
    """Milliseconds that never go back. Raises: ProfileError."""
    now = milliseconds_now()
    if now < clock.explanation_milliseconds:
        raise ProfileError("The memory monotonic clock regressed.")
    clock.explanation_milliseconds = now
    clock.save(update_fields=["explanation_milliseconds"])
    return now


def issue_explanation(authority: Authority, entry: Wire, *, result_sha256: str) -> Wire:
    """A step: keep an entry; `{"expiresAt", "token", "v"}`. Raises: CapacityError for one that is too large."""
    clock = lock_clock(authority)
    now = _read_clock(clock)
    expires = now + authority.explanation_milliseconds
    text = text_of({**entry, "expiresAt": instant_of(expires)})
    counted = len(text) + EXPLANATION_OVERHEAD_BYTES
    kept = Explanation.objects.filter(authority=authority)
    kept.filter(expires_milliseconds__lte=now).delete()
    if counted > EXPLANATION_BYTES_MAX:
        raise BytesExceededError("The V2 memory explanation exceeds its retained capability bound.")
    _make_room(authority, counted)
    token = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    Explanation.objects.create(
        project_id=authority.project_id,
        authority=authority,
        issue=clock.next_explanation,
        token_sha256=sha256_hex(token),
        result_sha256=result_sha256,
        body=text.decode(),
        counted_bytes=counted,
        expires_milliseconds=expires,
    )
    clock.next_explanation += 1
    clock.save(update_fields=["next_explanation"])
    return {"expiresAt": instant_of(expires), "token": token, "v": 1}


def _make_room(authority: Authority, counted: int) -> None:
    kept = Explanation.objects.filter(authority=authority).order_by("issue")
    sizes = list(kept.values_list("issue", "counted_bytes"))
    total, gone = sum(size for _, size in sizes), 0
    while len(sizes) - gone >= EXPLANATIONS_MAX or (
        gone < len(sizes) and total + counted > EXPLANATIONS_BYTES_MAX
    ):
        total -= sizes[gone][1]
        gone += 1
    if gone:
        kept.filter(issue__lte=sizes[gone - 1][0]).delete()


def read_asked(value: Any) -> Asked:
    """Raises: ValidationTypeError."""
    value = detach(value, label="The V2 memory explanation request", bytes_max=QUERY_REQUEST_BYTES_MAX)
    if (
        not has_exact_keys(value, _REQUEST, version=2)
        or type(value["token"]) is not str
        or len(value["token"]) != _TOKEN_LENGTH
        or type(value["pageRow"]) is not int
    ):
        raise ValidationTypeError("Invalid V2 memory explanation request.")
    if not is_digest(value["resultSha256"]):
        raise ValidationTypeError("Invalid V2 memory explanation result identity.")
    return Asked(value["token"], value["resultSha256"], value["pageRow"])


def find_explanation(authority: Authority, asked: Asked) -> Wire | None:
    """A step: the entry, or None; one that is asked for with another result's digest is revoked."""
    kept = Explanation.objects.filter(authority=authority, token_sha256=sha256_hex(asked.token)).first()
    now = _read_clock(lock_clock(authority))
    if kept is None or kept.expires_milliseconds <= now:
        return None
    if not are_equal(kept.result_sha256.encode(), asked.result_sha256.encode()):
        kept.delete()
        return None
    entry: Wire = parse(kept.body)
    return entry


@atomic(durable=True)
def take_entry(authority: Authority, asked: Asked) -> Wire | None:
    """The entry; what was revoked stays revoked, so nothing is raised in here but by the clock."""
    return find_explanation(authority, asked)


def explain_row(entry: Wire | None, asked: Asked) -> Wire:
    """Raises: ExplanationAbsentError, CapacityError for a row that is not on the page."""
    if entry is None:
        raise ExplanationAbsentError
    if not is_integer(asked.page_row, 0, len(entry["rows"]) - 1):
        raise CapacityError("The explanation page row is out of bounds.")
    fields = {
        "conditions": entry["conditions"],
        "identity": entry["identity"],
        "page": entry["page"],
        "pageRow": asked.page_row,
        "provenance": entry["proofs"][asked.page_row]["provenance"],
        "resultSha256": entry["resultSha256"],
        "row": entry["rows"][asked.page_row],
        "sources": entry["proofs"][asked.page_row]["sources"],
        "v": 2,
    }
    return sealed(fields, "explanationSha256")

"""The invariants of reviewed memory. What `verify` says of a space in detail is told here by the space's id alone."""

from collections.abc import Iterator

from authority.bindings import Wire
from authority.canonical import NotCanonical, digest_of, parse, text_of
from authority.models import Nomination, Receipt, Space
from authority.verification import find_space_faults
from memoryhub import ids
from memoryhub.integrity import Invariant, rows_of

ROWS_AT_ONCE = 50

_PIN = """
SELECT a.id FROM authority_authority a
  LEFT JOIN authority_operation o ON o.space_id = a.canonical_id AND o.sequence = a.pin_sequence
  JOIN authority_space s ON s.id = a.canonical_id
 WHERE a.pin_sequence > s.sequence
    OR a.pin_sequence > 0
       AND (o.operation_sha256, o.graph_revision_sha256, o.records_sha256)
           IS DISTINCT FROM (a.pin_operation_sha256, a.pin_graph_revision_sha256, a.pin_records_sha256)
"""
_LANES = """
SELECT a.id FROM authority_authority a
  JOIN authority_space c ON c.id = a.canonical_id JOIN authority_space w ON w.id = a.working_id
 WHERE (c.profile_kind, w.profile_kind, c.environment_id, w.environment_id)
       IS DISTINCT FROM ('canonical', 'working', a.environment_id, a.environment_id)
"""
_CALLS = """
SELECT h.id FROM authority_hostcall h JOIN authority_authority a ON a.id = h.authority_id
  LEFT JOIN authority_receipt r ON r.authority_id = h.authority_id AND r.receipt_sha256 = h.receipt_sha256
 WHERE h.ordinal >= a.next_ordinal OR h.state = 'succeeded' AND r.id IS NULL
"""


def find_history_faults() -> Iterator[str]:
    """Every space, replayed."""
    for space in Space.objects.order_by("id").iterator():
        if next(find_space_faults(space), None) is not None:
            yield space.wire_id


def find_receipt_faults() -> Iterator[str]:
    for receipt in Receipt.objects.order_by("id").iterator(ROWS_AT_ONCE):
        if not _is_sealed(receipt.body, "receiptSha256", receipt.receipt_sha256):
            yield ids.to_wire(ids.HOST_CALL, receipt.host_call_id)


def find_nomination_faults() -> Iterator[str]:
    for nomination in Nomination.objects.order_by("id").iterator(ROWS_AT_ONCE):
        if not _is_sealed(nomination.body, "nominationSha256", nomination.nomination_sha256):
            yield ids.to_wire(ids.AUTHORITY, nomination.authority_id)


def _is_sealed(body: str, digest_name: str, sha256: str) -> bool:
    try:
        value: Wire = parse(body)
    except NotCanonical:
        return False
    fields = {name: inner for name, inner in value.items() if name != digest_name}
    return text_of(value) == body.encode() and value.get(digest_name) == digest_of(fields) == sha256


INVARIANTS: tuple[Invariant, ...] = (
    Invariant("space_history", "A space is what its operations say, byte for byte.", find_history_faults),
    Invariant("authority_pin", "A pin is a head of its reviewed memory.", rows_of(ids.AUTHORITY, _PIN)),
    Invariant(
        "authority_lanes",
        "An authority pairs a reviewed and a working space of its environment.",
        rows_of(ids.AUTHORITY, _LANES),
    ),
    Invariant(
        "host_calls",
        "A host call has its place in the line, and its receipt if it succeeded.",
        rows_of(ids.HOST_CALL, _CALLS),
    ),
    Invariant("receipt_digest", "A receipt is what was sealed.", find_receipt_faults),
    Invariant("nomination_digest", "A nomination is what was sealed.", find_nomination_faults),
)

"""A review plan as JSON."""

from typing import Any

from authority.limits import LANE_BYTES_MAX, LANE_RECORDS_MAX
from authority.plan_facts import PassedOperation, Provenance
from authority.review_plans import Plan, PlannedRecord, position_of
from authority.wires import nomination_wire
from memoryhub.pagination import ListRequest, Page, cut_page

type Wire = dict[str, Any]


def plan_wire(plan: Plan, request: ListRequest) -> Wire:
    """A page of its records, as every list; everything else is in each page."""
    return {
        "nomination": {
            **nomination_wire(plan.nomination),
            "source": {
                "authorityId": plan.authority.working.authority_id,
                "head": plan.source_head.as_wire(),
                "reexport": plan.reexport,
            },
        },
        "pin": plan.pin.as_wire(),
        "storeHead": plan.store_head.as_wire(),
        "workingHead": plan.working_head.as_wire(),
        "behind": {
            "distance": plan.distance,
            "nextHead": None if plan.next_head is None else plan.next_head.as_wire(),
            "operations": [passed_wire(one) for one in plan.passed],
            "truncated": len(plan.passed) < plan.distance,
        },
        "blockers": plan.blockers,
        "counts": {state: len(plan.of_state(state)) for state in ("insert", "replace", "unchanged")},
        "replacements": None if "too_many_replacements" in plan.blockers else plan.replacements,
        "capacity": {
            "records": plan.capacity.records,
            "maximumRecords": LANE_RECORDS_MAX,
            "bytes": plan.capacity.size_bytes,
            "maximumBytes": LANE_BYTES_MAX,
            "operationBytes": plan.capacity.operation_bytes,
            "maximumOperationBytes": plan.capacity.operation_bytes_max,
        },
        **page_of(plan.records, request).as_wire(record_wire),
    }


def page_of(records: list[PlannedRecord], request: ListRequest) -> Page[PlannedRecord]:
    """Of records in the order of their positions."""
    position = request.position()
    if position is not None:
        records = [one for one in records if list(position_of(one)) > position]
    return cut_page(records[: request.limit + 1], request, position_of)


def passed_wire(operation: PassedOperation) -> Wire:
    return {
        "sequence": operation.sequence,
        "operationSha256": operation.operation_sha256,
        "actorId": operation.actor_id,
        "instant": operation.instant,
        "keysCount": operation.keys_count,
        "keys": operation.keys,
    }


def record_wire(record: PlannedRecord) -> Wire:
    return {
        "key": record.key,
        "kind": record.wire["kind"],
        "state": record.state,
        "isRoot": record.is_root,
        "neededBy": record.needed_by,
        "dependencies": record.wire["dependencies"],
        "nominatedSha256": record.wire["recordSha256"],
        "canonicalSha256": record.canonical_sha256,
        "bytes": record.size_bytes,
        "hasChanged": record.has_changed,
        "dependents": record.dependents,
        "provenance": None if record.provenance is None else _provenance_wire(record.provenance),
    }


def _provenance_wire(provenance: Provenance) -> Wire:
    return {
        "operationId": provenance.operation_id,
        "operationSha256": provenance.operation_sha256,
        "sequence": provenance.sequence,
        "actorId": provenance.actor_id,
        "instant": provenance.instant,
    }

"""Spaces and commits for tests, made with domain functions."""

from typing import Any
from uuid import uuid4

from authority import space_history, spaces
from authority.bindings import ProfileKind
from authority.graph import Change, Head, HeadReference, Put, Record, Tombstone
from authority.models import Space
from authority.operations import Operation
from authority.ports import Commit
from tests.world import Tenant

INSTANT = "2026-12-01T09:00:00.000Z"


def new_space(tenant: Tenant, kind: ProfileKind = "canonical", name: str = "") -> Space:
    name = name or f"space.n{uuid4().hex}"
    return spaces.create_space(
        name,
        realm_id="realm:test",
        profile_kind=kind,
        authority_id=f"label.{name}",
        environment=tenant.development.wire_id,
        actor=tenant.actor,
    )


def ask(head: Head | HeadReference, *changes: Change, operation_id: str = "", **options: Any) -> Commit:
    reference = head.reference if isinstance(head, Head) else head
    options = {"actor_id": "writer.test", "instant": INSTANT, "operation_bytes_max": 67_108_864, **options}
    return Commit(
        operation_id=operation_id or f"op_n{uuid4().hex}", changes=changes, expected=reference, **options
    )


def write(tenant: Tenant, space: Space, *records: Record | Tombstone, **options: Any) -> Operation:
    """Commit at the current head."""
    changes = [record if isinstance(record, Tombstone) else Put(record) for record in records]
    head = Space.objects.get(id=space.id).head
    return spaces.commit_to_space(space.wire_id, ask(head, *changes, **options), actor=tenant.actor)


def snapshot(space: Space, head: Head | None = None) -> dict[str, Any]:
    return space_history.read_snapshot_wire(space.id, head.reference if head else None)

"""Spaces and commits for tests, made with domain functions."""

import os
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from authority import agent, authorities, host_calls, host_runs, space_history, spaces
from authority.bindings import ProfileKind
from authority.canonical import parse
from authority.graph import Change, Head, HeadReference, Put, Record, Tombstone
from authority.models import Authority, HostCall, Space
from authority.nominations import Nomination, make_nomination
from authority.operations import Operation
from authority.ports import Commit
from authority.snapshots import parse_closure
from authority.turns import HeldTurn
from memoryhub.actors import Actor
from tests.authority.doubles import adoption, entity
from tests.world import Tenant

# How often races are run; a few times, unless a longer run asks for more.
ROUNDS_OF_SOAK = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "0"))
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


ROUTES = [{"destinationPurpose": "kb.review", "nominationId": "review"}]


def options_of(canonical: Space, working: Space, head: Head, **more: Any) -> authorities.Options:
    lanes = [
        authorities.Lane(space.wire_id, space.authority_id, space.binding_sha256)
        for space in (canonical, working)
    ]
    given: dict[str, Any] = {
        "actor_id": "agent.test",
        "adoption_actor_id": "reviewer.test",
        "expected_head": head.as_wire(),
        "programs": [],
        "routes": ROUTES,
        **more,
    }
    return authorities.Options(*lanes, **given)


@dataclass
class Reviewed:
    """An authority in the database, its two spaces, and whoever made them."""

    tenant: Tenant
    canonical: Space
    working: Space
    authority: Authority

    @property
    def actor(self) -> Actor:
        return self.tenant.actor

    @property
    def pin(self) -> Head:
        return Authority.objects.get(id=self.authority.id).pin

    @property
    def head(self) -> Head:
        return Space.objects.get(id=self.canonical.id).head

    def nominate(self, *roots: str) -> Nomination:
        text = space_history.export_closure(self.working.id, list(roots), None, records_max=8_192)
        return make_nomination(
            parse_closure(parse(text)),
            route="review",
            destination_purpose="kb.review",
            authority_id=self.working.authority_id,
        )

    def propose(self, *roots: str) -> str:
        """The digest of a nomination that waits in the queue."""
        asked = {"nominationId": "review", "roots": list(roots), "v": 1}
        return agent.nominate(self.authority.wire_id, asked, actor=self.actor).sha256

    def run_next(self) -> bool:
        """In this transaction, without the lock of a turn."""
        return host_runs.run_next(HeldTurn(self.authority.id, uuid4()))

    def submit_adoption(
        self, nomination: Nomination, claims: dict[str, str] | None = None, *, expected: Head | None = None
    ) -> HostCall:
        value = adoption(nomination, claims, expected=expected or self.pin)
        return host_calls.submit_adoption(self.authority.wire_id, value, actor=self.actor)

    def submit_advance(self, following: Head, *, expected: Head | None = None) -> HostCall:
        value = {"expectedHead": (expected or self.pin).as_wire(), "nextHead": following.as_wire(), "v": 1}
        return host_calls.submit_advance(self.authority.wire_id, value, actor=self.actor)

    def drain(self) -> int:
        return host_runs.drain(self.authority.id)


def make_reviewed(tenant: Tenant, *, work: tuple[Record, ...] = (), **more: Any) -> Reviewed:
    canonical, working = new_space(tenant), new_space(tenant, "working")
    head = write(tenant, canonical, entity("seed")).head
    if work:
        write(tenant, working, *work)
    authority = authorities.create_authority(options_of(canonical, working, head, **more), actor=tenant.actor)
    return Reviewed(tenant, canonical, working, authority)


def ended(call: HostCall) -> HostCall:
    return HostCall.objects.get(id=call.id)

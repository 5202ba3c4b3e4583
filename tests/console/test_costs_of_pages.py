"""Every page costs as much over 2,000 memories, 500 versions and 500 sessions as over some: as many queries, about the time."""

import time
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.db.transaction import atomic
from django.test import Client
from django.test.utils import CaptureQueriesContext

from authority.models import HostCall, Nomination
from memoryhub import ids, sessions
from memoryhub.accounts import member_actor
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.models import Membership, Session
from memoryhub.session_events import append_event
from providers import documents
from providers.models import (
    Binding,
    Endpoint,
    EndpointCredential,
    ExternalItem,
    ExternalPartition,
    ExternalRecord,
    HttpAttempt,
    HttpOperation,
    MemoryEffect,
    MemoryRecord,
    ModelRequest,
    Projection,
    RecordIndex,
    RecordScope,
    ScopeViolation,
)
from stores import memories
from stores.models import Memory, MemoryVersion
from tests.browser.everywhere import Address, list_addresses
from tests.browser.example import Example, make_example
from tests.noise import TIMES_MAX
from tests.stores.shelf import Shelf

SOME, MANY = 25, 2_000  # more than a page of a list shows
SOME_VERSIONS, MANY_VERSIONS = 25, 500  # of a memory; as many sessions, model requests and events
DOCUMENTS_MAX = 300
SLOWER_MAX = 2.0
SECONDS_OF_CHANCE = 0.15  # a machine that does much else beside


@dataclass(frozen=True)
class Side:
    """One project, and a person who looks at it."""

    client: Client
    addresses: dict[str, Address]

    def ask(self, name: str) -> Any:
        address = self.addresses[name]
        answer: Any
        if address.sends:
            answer = self.client.post(address.path, dict(address.sends))
        else:
            answer = self.client.get(address.path)
        if answer.streaming:
            b"".join(answer.streaming_content)  # which closes its file
        return answer


def make_side(tag: str, memories_count: int, versions_count: int) -> Side:
    example = make_example(tag)
    grow(example, memories_count, versions_count)
    client = Client()
    client.force_login(example.owner)
    shown = {one.name: one for one in list_addresses(example) if not one.path.startswith("/docs")}
    return Side(client, shown)


def grow(example: Example, memories_count: int, versions_count: int) -> None:
    actor = member_actor(Membership.objects.get(project=example.project, user=example.owner))
    shelf = Shelf(example.ids["store_id"][0], actor)
    shelf.fill([f"/notes/{number:04}.md" for number in range(memories_count)])
    memory = next(
        one for one in Memory.objects.filter(store=shelf.store) if one.wire_id == example.ids["memory_id"][0]
    )
    first = MemoryVersion.objects.filter(memory_id=memory.id).order_by("number")[0]
    versions = []
    for number in range(versions_count):
        content = f"# Acme Boatyard\n\n- Call {number}\n"
        versions.append(_copy(first, content))
    MemoryVersion.objects.bulk_create(versions)
    memories.update_memory(shelf.store_id, memory.wire_id, content="# Acme Boatyard, at last\n", actor=actor)
    grow_sessions(example, actor, versions_count)
    grow_calls(example, versions_count)
    grow_endpoint(example, versions_count)
    grow_reviews(example, versions_count)
    grow_records(example, versions_count)
    for number in range(min(versions_count, DOCUMENTS_MAX)):
        documents.create_document(
            "production", example.ids["resource_id"][0], f"team-{number}", title=f"Team {number}", text="Friday",
            summary="", agent_writes=True, actor=actor,
        )  # fmt: skip


def grow_sessions(example: Example, actor: Actor, count: int) -> None:
    """Sessions that bind what the first one binds, and requests and events of the first one."""
    session = sessions.get_session(example.ids["session_id"][0], actor=actor)
    bound = Binding.objects.get(session=session)
    added = Session.objects.bulk_create(
        Session(
            project_id=session.project_id, environment_id=session.environment_id, title=f"Talk {number}",
            request_sha256="0" * 64, created_by_type="user", created_by_id=session.created_by_id,
        )
        for number in range(count)
    )  # fmt: skip
    Binding.objects.bulk_create(
        Binding(
            project_id=bound.project_id, session=one, resource_id=bound.resource_id, scope=bound.scope,
            target_id=bound.target_id, access=bound.access,
        )
        for one in added
    )  # fmt: skip
    asked = ModelRequest.objects.bulk_create(
        ModelRequest(
            project_id=session.project_id,
            session=session,
            client_request_id=f"turn {number}",
            state="accepted",
        )
        for number in range(count)
    )
    Projection.objects.bulk_create(
        Projection(
            project_id=session.project_id, model_request=one, resource_id="playbook", text="Friday", sources=[],
            writable=True,
        )
        for one in asked
    )  # fmt: skip
    with atomic():
        for number in range(count):
            append_event(session, "user.message", {"number": number})


def grow_calls(example: Example, count: int) -> None:
    """Calls of a service in one session and its first request, each with an attempt."""
    session_id = ids.from_wire(ids.SESSION, example.ids["calling session_id"][0])
    one = HttpOperation.objects.get(session_id=session_id, code="ok")
    fields = {name: getattr(one, name) for name in (field.attname for field in one._meta.concrete_fields)}
    added = HttpOperation.objects.bulk_create(
        HttpOperation(**fields | {"id": ids.new_id(), "operation_id": f"{one.operation_id} {number}"})
        for number in range(count)
    )
    HttpAttempt.objects.bulk_create(
        HttpAttempt(
            project_id=one.project_id, operation=call, number=1, started_at=one.started_at, event="busy", status=503
        )
        for call in added
    )  # fmt: skip


def grow_endpoint(example: Example, count: int) -> None:
    """Endpoints, and of the first: credentials, partitions, and what stands in one."""
    partition = ExternalPartition.objects.get(project=example.project, endpoint__backing="own")
    endpoint, of = partition.endpoint, {"project_id": example.project.id}
    names = [f"copy {number}" for number in range(count)]
    Endpoint.objects.bulk_create(
        Endpoint(**of, environment_id=endpoint.environment_id, name=name, created_by_type="user", created_by_id="")
        for name in names
    )  # fmt: skip
    EndpointCredential.objects.bulk_create(
        EndpointCredential(**of, endpoint=endpoint, name=name, scope="memory", token_sha256=bytes(32)) for name in names
    )  # fmt: skip
    ExternalPartition.objects.bulk_create(
        ExternalPartition(**of, endpoint=endpoint, partition=name) for name in names
    )
    ExternalRecord.objects.bulk_create(
        ExternalRecord(**of, partition=partition, text=name, revision=1) for name in names
    )
    ExternalItem.objects.bulk_create(
        ExternalItem(**of, partition=partition, role="user", text=name) for name in names
    )


def grow_reviews(example: Example, count: int) -> None:
    """Nominations that wait, and host calls that ended, of the first authority."""
    nomination = Nomination.objects.get(
        project=example.project, nomination_sha256=example.ids["nomination_sha256"][0]
    )
    columns = {name: value for name, value in vars(nomination).items() if not name.startswith("_")}
    Nomination.objects.bulk_create(
        Nomination(**columns | {"id": ids.new_id(), "nomination_sha256": sha256_hex(f"{number}")})
        for number in range(count)
    )
    call = HostCall.objects.filter(authority_id=nomination.authority_id, state="failed").latest("ordinal")
    columns = {name: value for name, value in vars(call).items() if not name.startswith("_")}
    HostCall.objects.bulk_create(
        HostCall(**columns | {"id": ids.new_id(), "ordinal": 1_000 + number}) for number in range(count)
    )


def grow_records(example: Example, count: int) -> None:
    """Scopes, and of the first: records that the search finds, writes that wait, and hits that were dropped."""
    scope = RecordScope.objects.get(id=ids.from_wire(ids.RECORD_SCOPE, example.ids["scope_id"][0]))
    record = MemoryRecord.objects.filter(scope=scope, forgotten_at=None).latest("id")
    index = RecordIndex.objects.get(record=record)
    records = [
        _again(record, record_id=f"mrec_{number:024x}", key_sha256=f"{number:064x}")
        for number in range(count)
    ]
    MemoryRecord.objects.bulk_create(records)
    RecordIndex.objects.bulk_create(_again(index, record_id=one.id, thread=one.id) for one in records)
    effect = MemoryEffect.objects.filter(scope=scope, state="unknown").latest("id")
    MemoryEffect.objects.bulk_create(_again(effect, key_sha256=f"{number:064x}") for number in range(count))
    violation = ScopeViolation.objects.filter(scope=scope).latest("id")
    ScopeViolation.objects.bulk_create(_again(violation) for _ in range(count))
    RecordScope.objects.bulk_create(_again(scope, agent=f"agent {number}") for number in range(count))


def _again[Row: Model](row: Row, **other: Any) -> Row:
    """Another of it: not saved, and with an id of its own unless its key is another's."""
    columns = {one.attname: getattr(row, one.attname) for one in row._meta.concrete_fields}
    own = {"id": ids.new_id()} if "id" in columns else {}
    return type(row)(**columns | own | other)


def _copy(version: MemoryVersion, content: str) -> MemoryVersion:
    return MemoryVersion(
        project_id=version.project_id, store_id=version.store_id, memory_id=version.memory_id, operation="modified",
        path=version.path, content=content, content_size_bytes=len(content), content_sha256=sha256_hex(content),
        created_at=version.created_at, created_by_type=version.created_by_type, created_by_id=version.created_by_id,
    )  # fmt: skip


@pytest.fixture
def sides(db: None) -> tuple[Side, Side]:
    few, many = make_side("-few", SOME, SOME_VERSIONS), make_side("-many", MANY, MANY_VERSIONS)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return few, many


def test_every_page_costs_the_same_over_some_and_over_many(sides: tuple[Side, Side]) -> None:
    few, many = sides
    assert few.addresses.keys() == many.addresses.keys()
    counts = {name: (count_queries(few, name), count_queries(many, name)) for name in few.addresses}
    queries = {
        name: (first, second)
        for name, (first, second) in counts.items()
        if first is not None and second is not None
    }
    assert len(queries) > 20
    # Names of people and names of keys are one query each, which a page without any does not make.
    assert {
        name: (first, second) for name, (first, second) in queries.items() if abs(first - second) > 1
    } == {}
    slow = {name: times for name in queries if is_slow(times := take_times(sides, name))}
    assert slow == {}


def count_queries(side: Side, name: str) -> int | None:
    """None: it is no page, but answers to a form or with a file."""
    with CaptureQueriesContext(connection) as queries:
        answer = side.ask(name)
    is_page = answer.status_code == 200 and answer["Content-Type"].startswith("text/html")
    return len(queries) if is_page else None


def is_slow(times: tuple[float, float]) -> bool:
    return times[1] > SLOWER_MAX * times[0] + SECONDS_OF_CHANCE


def take_times(sides: tuple[Side, Side], name: str) -> tuple[float, float]:
    """The least of each; by turns, so that both sides see the same machine. One of each will do where it is not slow."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMES_MAX):
        for side, seconds in zip(sides, taken, strict=True):
            began = time.perf_counter()
            side.ask(name)
            seconds.append(time.perf_counter() - began)
        if not is_slow((min(taken[0]), min(taken[1]))):
            break
    return min(taken[0]), min(taken[1])


@dataclass(frozen=True)
class Waiting:
    """A side that answers after some seconds."""

    seconds: float

    def ask(self, name: str) -> None:
        time.sleep(self.seconds)


def test_a_page_that_takes_longer_over_many_is_seen() -> None:
    quick, slow = Waiting(0.0), Waiting(0.6)
    assert is_slow(take_times((quick, slow), "home"))  # type: ignore[arg-type]
    assert not is_slow(take_times((slow, slow), "home"))  # type: ignore[arg-type]

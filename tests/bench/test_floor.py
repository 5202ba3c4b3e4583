"""The floor is worth its name when its statements do what the hub does."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from django.db import connection as django_connection

from memoryhub import ids
from memoryhub.keys import authenticate_key
from memoryhub.models import AuditEvent, Session, SessionEvent
from providers.models import ModelRequest
from stores.models import Memory, MemoryIndex, MemoryVersion
from tests.world import Tenant
from tools.bench.arrange import World, make_conversations, make_target
from tools.bench.cells import MODEL_REQUEST, SAVE, SELECTION, all_cells
from tools.bench.conversations import Recall, Save, Select
from tools.bench.floor import Recorder, Slot, Statement, Text, fill, replay
from tools.bench.plans import Create, Delete, Get, Target, Update
from tools.bench.record import record_operations


@pytest.fixture
def world(committed: Tenant) -> World:
    key = committed.new_key("host")
    actor = authenticate_key(key)
    key_id = ids.from_wire(ids.API_KEY, actor.actor_id)
    assert key_id is not None
    return World(committed.development, key_id, key, actor)


@pytest.fixture
def bare() -> Iterator[psycopg.Connection]:
    database = django_connection.settings_dict
    wanted = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD", "dbname": "NAME"}
    named = {name: database[key] for name, key in wanted.items() if database[key]}
    with psycopg.connect(**named, autocommit=True) as made:
        yield made


@pytest.fixture
def statements(world: World) -> dict[str, list[Statement]]:
    recorded = make_conversations(1, 8, actor=world.actor)
    return record_operations(world, make_target(10, actor=world.actor), recorded)


@pytest.fixture
def target(world: World) -> Target:
    return make_target(10, actor=world.actor)


def test_every_operation_with_a_floor_is_recorded(statements: dict[str, list[Statement]]) -> None:
    measured = {operation for cell in all_cells() if cell.has_floor for operation in cell.operations}
    assert set(statements) == measured
    assert all(statements.values())


def test_a_replayed_update_is_what_the_hub_writes(
    bare: psycopg.Connection, statements: dict[str, list[Statement]], target: Target
) -> None:
    step = Update(target, 4).next_step()
    events = AuditEvent.objects.count()
    replay(bare, statements["update"], dict(step.values))
    memory = Memory.objects.select_related("head").get(id=target.memories[4])
    assert memory.head_id == step.values["version_id"]
    assert memory.head.memory_id == memory.id
    assert memory.head.content == step.values["content"]
    assert memory.content_sha256 == memory.head.content_sha256 == step.values["content_sha256"]
    assert memory.path == step.values["path"] and bytes(memory.path_key) == memory.path.encode()
    assert AuditEvent.objects.count() == events + 1
    event = AuditEvent.objects.order_by("number").last()
    assert event is not None and event.subject_id == memory.wire_id
    assert event.details["memory_version_id"] == memory.head.wire_id


def test_a_replayed_create_and_delete_are_what_the_hub_writes(
    bare: psycopg.Connection, statements: dict[str, list[Statement]], target: Target
) -> None:
    create = Create(target, 1)
    step = create.next_step()
    replay(bare, statements["create"], dict(step.values))
    create.note(step, None)
    memory = Memory.objects.select_related("head").get(id=step.values["memory_id"])
    assert (memory.path, memory.head.content) == (step.values["path"], step.values["content"])
    assert MemoryIndex.objects.filter(memory_id=memory.id).exists()
    removal = Delete(create).next_step()
    assert removal is not None
    replay(bare, statements["delete"], dict(removal.values))
    assert not Memory.objects.filter(id=memory.id).exists()
    assert not MemoryIndex.objects.filter(memory_id=memory.id).exists()
    versions = MemoryVersion.objects.filter(memory_id=memory.id).order_by("number")
    assert [version.operation for version in versions] == ["created", "deleted"]


def test_a_replayed_turn_is_what_the_hub_writes(
    world: World, bare: psycopg.Connection, statements: dict[str, list[Statement]]
) -> None:
    talks = make_conversations(2, 3, actor=world.actor)
    one = talks.idle[0]
    plans = {MODEL_REQUEST: Recall(talks), SELECTION: Select(talks), SAVE: Save(talks)}
    for operation, plan in plans.items():
        step = plan.next_step()
        assert step is not None
        replay(bare, statements[operation], step.values)
        plan.note(step, None)
    request = ModelRequest.objects.get(session_id=one.session_id)
    assert (request.state, request.id) == ("accepted", one.request_id)
    assert request.projections.get().resource_id == "client-3"
    call = request.tool_calls.get()
    memory = Memory.objects.select_related("head").get(id=one.memory_id)
    assert call.output["revision"] == memory.head.wire_id
    assert call.version_ids == [memory.head_id]
    assert memory.head.content == call.arguments["text"] == step.values["content"]
    events = SessionEvent.objects.filter(session_id=one.session_id).order_by("number")
    assert [event.type for event in events] == ["model_request.accepted", "memory.saved"]
    assert [event.number for event in events] == [one.event - 1, one.event]
    assert Session.objects.get(id=one.session_id).events_count == one.event


def test_what_one_side_left_of_a_turn_is_not_gone_on_with_by_the_other(world: World) -> None:
    talks = make_conversations(3, 4, actor=world.actor)
    recall, select = Recall(talks), Select(talks)
    for plan in (recall, recall, select):
        step = plan.next_step()
        assert step is not None
        plan.note(step, None)
    assert [len(talks.idle), len(talks.recalled), len(talks.selected)] == [1, 1, 1]
    assert recall.next_step() is not None
    assert [len(talks.idle), len(talks.recalled), len(talks.selected)] == [3, 0, 0]


def test_reads_are_replayed_for_the_memory_asked_for(
    bare: psycopg.Connection, statements: dict[str, list[Statement]], target: Target
) -> None:
    """The last statement of a get finds the memory of the step, not the recorded one."""
    step = Get(target, 0).next_step()
    last = statements["get"][-1]
    rows = bare.execute(last.sql, [fill(value, step.values) for value in last.parameters]).fetchall()
    assert [row[0] for row in rows] == [step.values["memory_id"]]


def test_writes_are_replayed_in_one_transaction(statements: dict[str, list[Statement]]) -> None:
    for operation in ("update", "create", "delete"):
        flags = [statement.in_transaction for statement in statements[operation]]
        assert flags == sorted(flags) and flags[-1], operation


def test_values_become_slots_wherever_they_stand() -> None:
    memory_id, other, kept = UUID(int=1), UUID(int=2), UUID(int=3)
    recorder = Recorder()
    recorder.executed.append(
        ("…", [memory_id, other, kept, f"mem_{memory_id.hex}", b"/a.md/", [kept, memory_id], 7], True)
    )
    values = {"memory_id": memory_id, "path": "/a.md"}
    [statement] = recorder.statements(values, constant_ids=[kept])
    made = Slot("made-2")
    assert statement.parameters == (
        Slot("memory_id"),
        made,
        kept,
        Text(("mem_", Slot("memory_id")), as_bytes=False),
        Text((Slot("path"), "/"), as_bytes=True),
        [kept, Slot("memory_id")],
        7,
    )
    again = {"memory_id": other, "path": "/b.md"}
    filled = [fill(value, again) for value in statement.parameters]
    assert filled[3:] == [f"mem_{other.hex}", b"/b.md/", [kept, other], 7]
    assert filled[1] not in (memory_id, other, kept)

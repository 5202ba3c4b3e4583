"""The store of reviewed memory on PostgreSQL: commits, snapshots at any head, the feed, closures, verification."""

import random
import threading
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.transaction import atomic

from authority import space_history, spaces
from authority.canonical import parse, text_of
from authority.failures import (
    BytesExceededError,
    CapacityError,
    ConflictError,
    DependencyError,
    OperationSizeError,
    ProfileError,
    PurgedSpaceError,
    ValidationTypeError,
)
from authority.graph import EMPTY_HEAD, Head, HeadReference, Put, Record, Tombstone, make_record
from authority.models import Operation, RecordVersion, Space
from authority.ports import Commit
from authority.snapshots import parse_closure, read_snapshot
from memoryhub.errors import Conflict, HubError, NotFound
from memoryhub.models import AuditEvent
from tests.authority.desk import ROUNDS_OF_SOAK, ask, new_space, snapshot, write
from tests.authority.doubles import entity
from tests.authority.test_known_digests import ADA, BASE, FACT, KNOWN, RENAMED
from tests.world import Tenant


def current(space: Space) -> Space:
    return Space.objects.get(id=space.id)


def test_the_known_history_has_the_known_heads(tenant: Tenant) -> None:
    space = spaces.create_space(
        "project:demo.canonical",
        realm_id="tenant:acme/project:demo",
        profile_kind="canonical",
        authority_id="demo.canonical",
        environment=tenant.development.wire_id,
        actor=tenant.actor,
    )
    ids = KNOWN["operation_ids"]
    write(
        tenant, space, BASE, operation_id="op_seed", actor_id="host.seed", instant="2026-12-01T09:00:00.000Z"
    )
    write(
        tenant,
        space,
        FACT,
        ADA,
        operation_id=ids["adopt"],
        actor_id="reviewer.demo",
        instant="2026-12-01T09:30:00.000Z",
    )
    assert current(space).head.as_wire() == KNOWN["heads"]["canonical2"]
    write(
        tenant,
        space,
        RENAMED,
        operation_id="op_rename",
        actor_id="import.bot",
        instant="2026-12-01T09:45:00.000Z",
    )
    assert current(space).head.as_wire() == KNOWN["heads"]["canonical3"]
    assert len(text_of(snapshot(space))) == KNOWN["snapshot_bytes"]
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] == []
    assert AuditEvent.objects.filter(action="space.committed", subject_id=space.wire_id).count() == 3


def test_a_space_is_bound_once(tenant: Tenant, stranger: Tenant) -> None:
    space = new_space(tenant)
    with pytest.raises(ProfileError, match="already bound to a different realm or profile"):
        new_space(tenant, "working", space.space_id)
    with pytest.raises(Conflict):
        spaces.create_space(
            "space.other",
            realm_id="realm:test",
            profile_kind="working",
            authority_id=space.authority_id,
            environment=tenant.development.wire_id,
            actor=tenant.actor,
        )
    assert new_space(stranger, "canonical", space.space_id).binding_sha256 == space.binding_sha256
    with pytest.raises(NotFound):
        spaces.get_space(space.wire_id, actor=stranger.actor)
    with pytest.raises(NotFound):
        spaces.commit_to_space(space.wire_id, ask(EMPTY_HEAD, Put(BASE)), actor=stranger.actor)


REFUSED_COMMITS: list[tuple[dict[str, Any], str]] = [
    ({"actor_id": "Writer"}, "Invalid actor, operation ID, or operation byte bound."),
    ({"operation_id": "op\n"}, "Invalid actor, operation ID, or operation byte bound."),
    ({"operation_bytes_max": 0}, "Invalid actor, operation ID, or operation byte bound."),
    ({"operation_bytes_max": True}, "Invalid actor, operation ID, or operation byte bound."),
    ({"operation_bytes_max": 67_108_865}, "Invalid actor, operation ID, or operation byte bound."),
    ({"instant": "2026-12-01"}, "Invalid operation instant."),
]


@pytest.mark.parametrize(("options", "message"), REFUSED_COMMITS, ids=repr)
def test_a_malformed_commit_is_refused(tenant: Tenant, options: dict[str, Any], message: str) -> None:
    space = new_space(tenant)
    with pytest.raises(ValidationTypeError) as caught:
        spaces.commit_to_space(
            space.wire_id, ask(EMPTY_HEAD, Put(entity("a")), **options), actor=tenant.actor
        )
    assert str(caught.value) == message
    assert current(space).head == EMPTY_HEAD


def test_a_repeat_is_answered_before_its_head_is_compared(tenant: Tenant) -> None:
    space = new_space(tenant)
    first = ask(EMPTY_HEAD, Put(entity("a")), operation_id="op_a")
    made = spaces.commit_to_space(space.wire_id, first, actor=tenant.actor)
    write(tenant, space, entity("b"))
    later = Commit("writer.test", "op_a", first.changes, EMPTY_HEAD.reference, None, 67_108_864)
    assert spaces.commit_to_space(space.wire_id, later, actor=tenant.actor) == made
    assert current(space).sequence == 2
    for other in (
        ask(EMPTY_HEAD, Put(entity("a", "Other")), operation_id="op_a"),
        ask(EMPTY_HEAD, Put(entity("a")), operation_id="op_a", actor_id="somebody.else"),
    ):
        with pytest.raises(
            ConflictError, match=r"^The operation ID is already bound to different content\.$"
        ):
            spaces.commit_to_space(space.wire_id, other, actor=tenant.actor)
    small = ask(EMPTY_HEAD, *first.changes, operation_id="op_a", operation_bytes_max=1)
    with pytest.raises(OperationSizeError):
        spaces.commit_to_space(space.wire_id, small, actor=tenant.actor)


def test_a_commit_that_fails_leaves_the_space_where_it_was(tenant: Tenant) -> None:
    space = new_space(tenant)
    write(tenant, space, entity("a"), entity("b", "B", "a"))
    head = current(space).head
    a = entity("a")
    cases: list[tuple[Commit, type[Exception], str]] = [
        (ask(EMPTY_HEAD, Put(entity("c"))), ConflictError, "The expected head does not match"),
        (ask(head, Tombstone("a", "f" * 64)), ConflictError, "The prior digest for a does not match"),
        (ask(head, Tombstone("z", a.sha256)), ConflictError, "The prior digest for z does not match"),
        (ask(head, Tombstone("a", a.sha256)), DependencyError, "Missing dependency a for b."),
        (ask(head, Put(entity("c", "C", "x"))), DependencyError, "Missing dependency x for c."),
        (ask(head, Put(entity("c")), operation_bytes_max=1), OperationSizeError, "-byte operation exceeds"),
        (ask(head), CapacityError, "A commit needs 1 through 8192 changes."),
    ]
    before = snapshot(space)
    for commit, kind, words in cases:
        with pytest.raises(kind, match=words):
            spaces.commit_to_space(space.wire_id, commit, actor=tenant.actor)
        assert current(space).head == head
    assert snapshot(space) == before
    assert Operation.objects.filter(space=space).count() == 1


def test_the_size_that_is_told_is_the_size_there_is(tenant: Tenant) -> None:
    space = new_space(tenant)
    made = write(tenant, space, entity("a"), operation_id="op_a")
    other = new_space(tenant, "canonical", "space.n" + "0" * (len(space.space_id) - 7))
    size = len(made.text)
    with pytest.raises(OperationSizeError) as caught:
        write(tenant, other, entity("a"), operation_id="op_a", operation_bytes_max=size - 1)
    assert (caught.value.operation_bytes, caught.value.operation_bytes_max) == (size, size - 1)
    write(tenant, other, entity("a"), operation_id="op_a", operation_bytes_max=size)


def test_a_space_takes_no_more_than_an_authority_reads(tenant: Tenant) -> None:
    space = new_space(tenant)
    write(tenant, space, *(entity(f"a{n}") for n in range(8_192)))
    with pytest.raises(CapacityError, match="record snapshot bound"):
        write(tenant, space, entity("b"))
    large = new_space(tenant)
    bodies = [make_record(f"a{n}", "note", "x" * 1_048_000, []) for n in range(32)]
    write(tenant, large, *bodies[:31])
    with pytest.raises(BytesExceededError, match="canonical snapshot byte bound"):
        write(tenant, large, bodies[31], make_record("b", "note", "x" * 100_000, []))
    write(tenant, large, bodies[31])
    assert len(snapshot(large)["records"]) == 32


class Mirror:
    """The same history kept in memory, head by head."""

    def __init__(self) -> None:
        self.heads: list[tuple[Head, dict[str, Record]]] = [(EMPTY_HEAD, {})]

    def changes(self, chance: random.Random) -> list[Record | Tombstone]:
        _, records = self.heads[-1]
        picked: dict[str, Record | Tombstone] = {}
        for _ in range(chance.randint(1, 4)):
            key = f"key.{chance.choice('abc')}:{chance.randrange(12)}"
            used = {dependency for record in records.values() for dependency in record.dependencies}
            used |= {
                d for record in picked.values() if isinstance(record, Record) for d in record.dependencies
            }
            if key in records and key not in used and chance.random() < 0.3:
                picked[key] = Tombstone(key, records[key].sha256)
            else:
                gone = {name for name, change in picked.items() if isinstance(change, Tombstone)}
                near = sorted(set(records) - gone - {key} - set(picked))
                picked[key] = entity(key, chance.randrange(5), *chance.sample(near, min(len(near), 1)))
        return list(picked.values())

    def apply(self, changes: list[Record | Tombstone], head: Head) -> None:
        records = dict(self.heads[-1][1])
        for change in changes:
            if isinstance(change, Tombstone):
                del records[change.key]
            else:
                records[change.key] = change
        self.heads.append((head, records))


def random_history(tenant: Tenant, space: Space, *, operations: int, seed: int) -> Mirror:
    chance, mirror = random.Random(seed), Mirror()
    for _ in range(operations):
        changes = mirror.changes(chance)
        mirror.apply(changes, write(tenant, space, *changes).head)
    return mirror


def test_every_head_of_a_random_history_answers_as_it_was(tenant: Tenant) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    space = new_space(tenant)
    mirror = random_history(tenant, space, operations=60, seed=seed)
    for head, records in mirror.heads:
        found = read_snapshot(snapshot(space, head), head=head, label="The space")
        assert dict(found.records) == records
        for root in list(records)[:3]:
            once = space_history.export_closure(space.id, [root], head.reference, records_max=8_192)
            assert once == space_history.export_closure(space.id, [root], head.reference, records_max=8_192)
            closure = parse_closure(parse(once))
            assert closure.head == head
            assert {record.key for record in closure.records} >= {root}
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] == []


def test_heads_that_are_not_there_are_refused(tenant: Tenant) -> None:
    space = new_space(tenant)
    write(tenant, space, entity("a"))
    head = current(space).head
    with pytest.raises(ConflictError, match="The requested head is not present in this space"):
        space_history.read_snapshot_wire(space.id, HeadReference(2, "f" * 64))
    with pytest.raises(ConflictError, match="The requested sequence identifies a different operation head"):
        space_history.read_snapshot_wire(space.id, HeadReference(1, "f" * 64))
    with pytest.raises(
        ConflictError, match="The change-feed bounds do not identify one local history prefix"
    ):
        space_history.read_changes(space.id, head.reference, limit=1, through=EMPTY_HEAD.reference)
    for limit in (0, 1_001, True):
        with pytest.raises(CapacityError, match="limit must be an integer from 1 through 1000"):
            space_history.read_changes(space.id, head.reference, limit=limit, through=None)
    with pytest.raises(DependencyError, match="Dependency closure record z is missing"):
        space_history.export_closure(space.id, ["z"], None, records_max=8_192)
    write(tenant, space, entity("b", "B", "a"))
    with pytest.raises(CapacityError, match="Dependency closure exceeds its record bound"):
        space_history.export_closure(space.id, ["b"], None, records_max=1)
    with pytest.raises(CapacityError):
        space_history.read_snapshot_wire(space.id, None, records_max=1)


def test_the_feed_is_the_history_in_pages(tenant: Tenant) -> None:
    space = new_space(tenant)
    mirror = random_history(tenant, space, operations=7, seed=1)
    seen, cursor, pages = [], EMPTY_HEAD.reference, 0
    while True:
        page = space_history.read_changes(space.id, cursor, limit=3, through=None).as_wire()
        pages += 1
        seen += [operation["operationSha256"] for operation in page["operations"]]
        cursor = HeadReference(page["to"]["sequence"], page["to"]["operationSha256"])
        if not page["hasMore"]:
            break
    assert (pages, seen) == (3, [head.operation_sha256 for head, _ in mirror.heads[1:]])
    through = mirror.heads[4][0]
    page = space_history.read_changes(
        space.id, mirror.heads[2][0].reference, limit=100, through=through.reference
    ).as_wire()
    assert [len(page["operations"]), page["hasMore"], page["through"]] == [2, False, through.as_wire()]


def test_a_page_of_the_feed_stops_before_its_bytes(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    space = new_space(tenant)
    made = [write(tenant, space, entity(f"a{n}", "x" * 1_000)) for n in range(4)]
    size = len(made[1].text)
    monkeypatch.setattr(space_history, "FEED_BYTES_MAX", space_history.PAGE_ENVELOPE_BYTES + 2 * size + 2)
    feed = space_history.read_changes(space.id, EMPTY_HEAD.reference, limit=100, through=None)
    assert (len(feed.texts), feed.as_wire()["hasMore"]) == (2, True)
    monkeypatch.setattr(space_history, "FEED_BYTES_MAX", space_history.PAGE_ENVELOPE_BYTES + 1)
    feed = space_history.read_changes(space.id, EMPTY_HEAD.reference, limit=100, through=None)
    assert (len(feed.texts), feed.as_wire()["hasMore"]) == (1, True)


def test_a_working_space_is_purged_and_leaves_a_receipt(tenant: Tenant) -> None:
    space, reviewed = new_space(tenant, "working"), new_space(tenant)
    write(tenant, space, entity("a"))
    write(tenant, space, entity("a", "Other"))
    with pytest.raises(ProfileError, match="Only a working space"):
        spaces.purge_space(reviewed.wire_id, expected_sequence=0, actor=tenant.actor)
    with pytest.raises(Conflict):
        spaces.purge_space(space.wire_id, expected_sequence=1, actor=tenant.actor)
    head = current(space).head
    spaces.purge_space(space.wire_id, expected_sequence=2, actor=tenant.actor)
    with pytest.raises(PurgedSpaceError) as caught:
        snapshot(space)
    assert caught.value.receipt["priorHead"] == head.as_wire()
    with pytest.raises(PurgedSpaceError):
        write(tenant, space, entity("b"))
    with pytest.raises(PurgedSpaceError):
        spaces.purge_space(space.wire_id, expected_sequence=2, actor=tenant.actor)
    assert not Operation.objects.filter(space=space).exists()
    assert not RecordVersion.objects.filter(space=space).exists()
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] == []


GUARDED = [
    "UPDATE authority_operation SET body = body || ' ' WHERE space_id = %s",
    "DELETE FROM authority_operation WHERE space_id = %s",
    "UPDATE authority_recordversion SET body = body || ' ' WHERE space_id = %s",
    "UPDATE authority_recordversion SET to_sequence = NULL WHERE space_id = %s AND to_sequence IS NOT NULL",
    "DELETE FROM authority_recordversion WHERE space_id = %s",
    "UPDATE authority_space SET sequence = sequence - 1 WHERE id = %s",
    "UPDATE authority_space SET sequence = sequence + 2 WHERE id = %s",
    "UPDATE authority_space SET operation_sha256 = repeat('f', 64) WHERE id = %s",
    "UPDATE authority_space SET binding_sha256 = repeat('f', 64) WHERE id = %s",
    "UPDATE authority_space SET purge_receipt = '{}' WHERE id = %s",
    "DELETE FROM authority_space WHERE id = %s",
]


@pytest.mark.parametrize("statement", GUARDED)
def test_the_database_keeps_a_history_from_changing(tenant: Tenant, statement: str) -> None:
    space = new_space(tenant)
    write(tenant, space, entity("a"))
    write(tenant, space, entity("a", "Other"))
    with pytest.raises(IntegrityError), atomic(), connection.cursor() as cursor:
        cursor.execute(statement, [space.id])


# A column, and an expression that gives it another value of the same type.
FLIPS = {
    "authority_operation": {
        "body": "overlay(body placing '~' from 20 for 1)",
        "body_bytes": "body_bytes + 1",
        "actor_id": "actor_id || 'x'",
        "operation_id": "operation_id || 'x'",
        "operation_sha256": "reverse(operation_sha256)",
        "parent_sha256": "reverse(parent_sha256)",
        "graph_revision_sha256": "reverse(graph_revision_sha256)",
        "records_sha256": "reverse(records_sha256)",
        "instant": "'2026-12-01T09:00:00.001Z'",
        "sequence": "sequence + 1000",
    },
    "authority_recordversion": {
        "body": "overlay(body placing '~' from 20 for 1)",
        "body_bytes": "body_bytes + 1",
        "kind": "kind || 'x'",
        "key": "key || 'x'",
        "record_sha256": "reverse(record_sha256)",
        "dependencies": "dependencies || ARRAY['x']::varchar[]",
        "value": "'1'::jsonb",
        "search": "to_tsvector('simple', 'other')",
        "from_sequence": "from_sequence + 1000",
        "to_sequence": "coalesce(to_sequence, 1000) + 1000",
    },
    "authority_space": {
        "binding_text": "overlay(binding_text placing '~' from 20 for 1)",
        "binding_sha256": "reverse(binding_sha256)",
        "operation_sha256": "reverse(operation_sha256)",
        "graph_revision_sha256": "reverse(graph_revision_sha256)",
        "records_sha256": "reverse(records_sha256)",
        "sequence": "sequence + 1",
        "realm_id": "realm_id || 'x'",
        "space_id": "space_id || 'x'",
        "profile_kind": "'working'",
    },
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in FLIPS.items() for column in columns]
)
def test_a_change_behind_the_hubs_back_is_named(tenant: Tenant, table: str, column: str) -> None:
    space = new_space(tenant)
    for name in ("First", "Second", "Third"):
        write(tenant, space, entity("a", name), entity("b", name))
    key = "id" if table == "authority_space" else "space_id"
    chosen = (
        "true" if table == "authority_space" else "ctid = (SELECT min(ctid) FROM {t} WHERE space_id = %s)"
    )
    if table == "authority_operation":
        chosen = "sequence = 2 AND space_id = %s"
    values = [space.id] * (1 + ("%s" in chosen))
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(
            f"UPDATE {table} SET {column} = {FLIPS[table][column]} WHERE {key} = %s AND {chosen.format(t=table)}",
            values,
        )
        assert cursor.rowcount == 1
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] != []


def test_any_flipped_byte_of_a_long_history_is_named(tenant: Tenant) -> None:
    """Some random bytes of the texts of 500 operations, each flipped alone."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, space = random.Random(seed), new_space(tenant)
    random_history(tenant, space, operations=500, seed=seed)
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] == []
    for number in range(ROUNDS_OF_SOAK or 6):
        table = ("authority_operation", "authority_recordversion")[number % 2]
        with atomic(), connection.cursor() as cursor:
            cursor.execute(f"SELECT ctid, body FROM {table} WHERE space_id = %s", [space.id])
            row, body = chance.choice(cursor.fetchall())
            place = chance.randrange(len(body))
            flipped = body[:place] + chr(ord(body[place]) ^ 1) + body[place + 1 :]
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute(f"UPDATE {table} SET body = %s WHERE ctid = %s::tid", [flipped, row])
            findings = spaces.verify_space(space.wire_id, actor=tenant.actor)[1]
            assert findings, (seed, table, place, body[max(place - 10, 0) : place + 10])
            transaction.set_rollback(True)
    assert spaces.verify_space(space.wire_id, actor=tenant.actor)[1] == []


def test_writers_that_meet_make_one_chain(committed: Tenant) -> None:
    space = new_space(committed)
    refused: list[HubError] = []

    def write_many(name: str) -> None:
        try:
            for n in range(10):
                head = current(space).head
                try:
                    commit = ask(head, Put(entity(f"{name}{n}")))
                    spaces.commit_to_space(space.wire_id, commit, actor=committed.actor)
                except ConflictError as error:
                    refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write_many, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = Operation.objects.filter(space=space).count()
    assert made + len(refused) == 40
    assert made == current(space).sequence >= 10
    assert spaces.verify_space(space.wire_id, actor=committed.actor)[1] == []


def test_one_operation_of_twenty_equal_ones(committed: Tenant) -> None:
    space = new_space(committed)
    commit = ask(EMPTY_HEAD, Put(entity("a")), operation_id="op_same")
    made: list[str] = []

    def send() -> None:
        try:
            made.append(spaces.commit_to_space(space.wire_id, commit, actor=committed.actor).sha256)
        finally:
            connection.close()

    threads = [threading.Thread(target=send) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 20
    assert len(set(made)) == 1
    assert current(space).sequence == 1

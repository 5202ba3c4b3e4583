"""`./hub check_integrity`: each invariant names the fault that is planted for it, and no other does."""

import io
import uuid
from collections.abc import Callable
from functools import cached_property
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from authority import agent, host_runs
from authority.turns import HeldTurn
from memoryhub import audit, ids, integrity, quotas
from memoryhub.actors import RecordScope
from memoryhub.columns import ClockTimestamp
from memoryhub.models import AuditEvent, Job, JobChunk
from providers import deployments, endpoints, record_writes, records, session_tokens
from providers.documents import revision_of
from providers.models import (
    ExternalPartition,
    ExternalRecord,
    MemoryEffect,
    RecordBinding,
    RemoteRecord,
    RemoteScope,
)
from providers.models import RecordScope as RecordScopeRow
from providers.record_access import WantedScope
from stores import memory_stores
from stores.attachments import WantedStore
from stores.models import Memory, MemoryVersion, UsedPath
from tests.authority.desk import Reviewed, make_reviewed
from tests.authority.doubles import entity
from tests.plants import run_sql, unguarded
from tests.providers.desk import Desk
from tests.providers.record_sessions import RecordSessions
from tests.work.bench import Bench, Claimed
from tests.world import Tenant

VERSIONS, MEMORIES, STORES = "stores_memoryversion", "stores_memory", "stores_memorystore"


class House:
    """A store with a memory of two versions, a deleted one whose first version is redacted, and one more."""

    def __init__(self, tenant: Tenant, stranger: Tenant) -> None:
        self.tenant, self.stranger = tenant, stranger
        self.call = tenant.call()
        self.store = self.call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
        self.kept = self.write("/kept.md", "one")
        self.call("POST", f"{self.url}/memories/{self.kept}", {"content": "two"})
        self.gone = self.write("/gone.md", "gone")
        self.call("DELETE", f"{self.url}/memories/{self.gone}")
        self.other = self.write("/other.md", "other")
        self.first, self.second = self.versions_of(self.kept)
        self.created, self.deleted = self.versions_of(self.gone)
        self.call("POST", f"{self.url}/memory_versions/{self.created}/redact")

    @cached_property
    def desk(self) -> Desk:
        """A session on a document, with a request that was accepted and saved over."""
        desk = Desk(self.tenant)
        desk.declare()
        desk.put()
        self.session = desk.open()
        self.request = desk.begin(self.session)
        desk.save(self.session, self.request, "Saved.")
        return desk

    @property
    def document(self) -> Memory:
        return self.desk.get().memory

    @property
    def url(self) -> str:
        return f"/v1/memory_stores/{self.store}"

    def write(self, path: str, content: str) -> str:
        made = self.call("POST", f"{self.url}/memories", {"path": path, "content": content})
        return str(made.body["id"])

    def versions_of(self, memory_id: str) -> list[str]:
        """Oldest first."""
        answer = self.call("GET", f"{self.url}/memory_versions", query={"memory_id": memory_id})
        return [version["id"] for version in reversed(answer.body["data"])]

    def set_version(self, version_id: str, assignments: str, *values: Any) -> None:
        with unguarded(VERSIONS):
            run_sql(f"UPDATE {VERSIONS} SET {assignments} WHERE id = %s", [*values, key_of(version_id)])

    def set_memory(self, memory_id: str, assignments: str, *values: Any) -> None:
        run_sql(f"UPDATE {MEMORIES} SET {assignments} WHERE id = %s", [*values, key_of(memory_id)])

    def set_store(self, assignments: str, *values: Any) -> None:
        run_sql(f"UPDATE {STORES} SET {assignments} WHERE id = %s", [*values, key_of(self.store)])


def key_of(wire_id: str) -> UUID:
    return UUID(hex=wire_id.partition("_")[2])


@pytest.fixture
def house(tenant: Tenant, stranger: Tenant) -> House:
    return House(tenant, stranger)


def faults() -> dict[str, list[str]]:
    return {finding.invariant.name: finding.faults for finding in integrity.check_all() if finding.faults}


type Plant = Callable[[House], list[str]]
PLANTS: list[tuple[str, Plant]] = []


def breaks(invariant: str) -> Callable[[Plant], Plant]:
    """Mark a function that plants a fault of this invariant and gives what is named."""

    def mark(plant: Plant) -> Plant:
        PLANTS.append((invariant, plant))
        return plant

    return mark


def drop_constraint(table: str, name: str) -> None:
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    run_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def drop_links(table: str) -> None:
    """All foreign keys of a table, for faults that they would refuse."""
    named = run_sql(
        "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'f'", [table]
    )
    for (name,) in named:
        drop_constraint(table, name)


def add_version(house: House, memory_id: str, operation: str, content: str | None = "new") -> str:
    key = ids.new_id()
    digest = "encode(sha256(convert_to(%s, 'UTF8')), 'hex')"
    run_sql(
        f"INSERT INTO {VERSIONS} (id, project_id, store_id, memory_id, operation, path, content, content_size_bytes, "
        "content_sha256, created_at, created_by_type, created_by_id, number) SELECT %s, project_id, id, %s, %s, "
        f"'/new.md', %s, octet_length(%s), {digest}, clock_timestamp(), 'api_actor', 'apikey_x', "
        f"nextval('stores_version_number') FROM {STORES} WHERE id = %s",
        [key, key_of(memory_id), operation, content, content, content, key_of(house.store)],
    )
    return ids.to_wire("memver", key)


@breaks("version_content")
def content(house: House) -> list[str]:
    house.set_version(house.first, "content = 'One'")
    return [house.first]


@breaks("version_content")
def content_size(house: House) -> list[str]:
    house.set_version(house.first, "content_size_bytes = 4")
    return [house.first]


@breaks("version_size")
def size(house: House) -> list[str]:
    big = "repeat('x', 102401)"
    house.set_version(
        house.first,
        f"content = {big}, content_size_bytes = 102401, content_sha256 = encode(sha256({big}::bytea), 'hex')",
    )
    return [house.first]


@breaks("version_redaction")
def redacted_path(house: House) -> list[str]:
    house.set_version(house.created, "path = '/gone.md'")
    return [house.created]


@breaks("version_redaction")
def redacted_digest(house: House) -> list[str]:
    house.set_version(house.created, "content_sha256 = repeat('0', 64)")
    return [house.created]


@breaks("version_redaction")
def redacted_by_nobody(house: House) -> list[str]:
    house.set_version(house.created, "redacted_by_id = NULL")
    return [house.created]


@breaks("version_redaction")
def lost_content(house: House) -> list[str]:
    house.set_version(house.first, "content = NULL")
    return [house.first]


@breaks("version_redaction")
def deletion_with_content(house: House) -> list[str]:
    digest = "encode(sha256(''::bytea), 'hex')"
    house.set_version(house.deleted, f"content = '', content_size_bytes = 0, content_sha256 = {digest}")
    return [house.deleted]


@breaks("version_order")
def created_twice(house: House) -> list[str]:
    house.set_version(house.second, "operation = 'created'")
    return [house.second]


@breaks("version_order")
def no_creation(house: House) -> list[str]:
    house.set_version(house.first, "operation = 'modified'")
    return [house.first]


@breaks("version_removed")
def missing_where_the_history_is_whole(house: House) -> list[str]:
    house.set_version(house.second, "follows_removed = true")
    return [house.second]


@breaks("version_order")
def deleted_twice(house: House) -> list[str]:
    return [add_version(house, house.gone, "deleted", None)]


@breaks("version_order")
def unknown_operation(house: House) -> list[str]:
    house.set_version(house.second, "operation = 'moved'")
    return [house.second]


@breaks("memory_head")
def unpointed_version(house: House) -> list[str]:
    add_version(house, house.kept, "modified")
    return [house.kept]


@breaks("memory_head")
def head_path(house: House) -> list[str]:
    house.set_memory(house.kept, "path = '/moved.md', path_key = '/moved.md'::bytea")
    return [house.kept]


@breaks("memory_head")
def head_digest(house: House) -> list[str]:
    house.set_memory(house.kept, "content_sha256 = repeat('0', 64)")
    return [house.kept]


@breaks("memory_head")
def head_time(house: House) -> list[str]:
    house.set_memory(house.kept, "created_at = created_at - interval '1 microsecond'")
    return [house.kept]


@breaks("memory_head")
def old_head(house: House) -> list[str]:
    house.set_memory(house.kept, "head_id = %s", key_of(house.first))
    return [house.kept]


@breaks("memory_head")
def deleted_head(house: House) -> list[str]:
    deletion = add_version(house, house.kept, "deleted", None)
    house.set_memory(house.kept, "head_id = %s", key_of(deletion))
    return [house.kept]


@breaks("memory_missing")
def missing_memory(house: House) -> list[str]:
    run_sql(f"DELETE FROM {MEMORIES} WHERE id = %s", [key_of(house.kept)])
    return [house.kept]


@breaks("memory_occupancy")
def path_key(house: House) -> list[str]:
    house.set_memory(house.kept, "path_key = '/kept.MD'::bytea")
    return [house.kept]


@breaks("memory_occupancy")
def path_below(house: House) -> list[str]:
    house.set_memory(house.kept, "path = '/other.md/x', path_key = '/other.md/x'::bytea")
    house.set_version(house.second, "path = '/other.md/x'")
    return [house.other]


@breaks("memory_occupancy")
def path_twice(house: House) -> list[str]:
    drop_constraint(MEMORIES, "memory_store_path")
    house.set_memory(house.kept, "path = '/other.md', path_key = '/other.md'::bytea")
    house.set_version(house.second, "path = '/other.md'")
    return [house.kept, house.other]


@breaks("memory_path")
def bad_path(house: House) -> list[str]:
    house.set_memory(house.kept, "path = '/a//b', path_key = '/a//b'::bytea")
    house.set_version(house.second, "path = '/a//b'")
    return [house.kept]


@breaks("memory_tenancy")
def foreign_memory(house: House) -> list[str]:
    drop_links(MEMORIES)
    drop_links("stores_memoryindex")
    house.set_memory(house.kept, "project_id = %s", house.stranger.project.id)
    return [house.kept]


@breaks("version_tenancy")
def foreign_version(house: House) -> list[str]:
    drop_links(VERSIONS)
    house.set_version(house.first, "project_id = %s", house.stranger.project.id)
    return [house.first]


@breaks("store_tenancy")
def foreign_store(house: House) -> list[str]:
    drop_links(STORES)
    run_sql(
        "UPDATE stores_memoryindex SET environment_id = %s WHERE store_id = %s",
        [house.stranger.development.id, key_of(house.store)],
    )
    house.set_store("environment_id = %s", house.stranger.development.id)
    return [house.store]


@breaks("memory_index")
def missing_index(house: House) -> list[str]:
    run_sql("DELETE FROM stores_memoryindex WHERE memory_id = %s", [key_of(house.kept)])
    return [house.kept]


@breaks("memory_index")
def foreign_index(house: House) -> list[str]:
    run_sql(
        "UPDATE stores_memoryindex SET environment_id = %s WHERE memory_id = %s",
        [house.tenant.production.id, key_of(house.kept)],
    )
    return [house.kept]


@breaks("memory_index")
def left_index(house: House) -> list[str]:
    drop_links("stores_memoryindex")
    run_sql(
        "UPDATE stores_memoryindex SET memory_id = %s WHERE memory_id = %s",
        [key_of(house.gone), key_of(house.kept)],
    )
    return sorted([house.gone, house.kept])


@breaks("version_archived")
def write_after_archive(house: House) -> list[str]:
    last = house.versions_of(house.other)[0]
    [(moment,)] = run_sql(f"SELECT created_at FROM {VERSIONS} WHERE id = %s", [key_of(last)])
    house.set_store("archived_at = %s::timestamptz - interval '1 microsecond'", moment)
    return [last]


@breaks("version_frozen")
def session_after_freeze(house: House) -> list[str]:
    house.set_version(house.second, "created_by_type = 'session_actor', created_by_id = 'sesn_x'")
    house.set_memory(house.kept, "frozen_at = created_at")
    return [house.second]


@breaks("version_frozen")
def agent_after_freeze(house: House) -> list[str]:
    key = house.tenant.new_key("agent", stores={})
    house.set_version(house.second, "created_by_id = %s", f"apikey_{key[3:35]}")
    house.set_store("frozen_at = created_at")
    return [house.second]


@breaks("store_size")
def full_store(house: House) -> list[str]:
    run_sql("SET CONSTRAINTS ALL DEFERRED")
    run_sql(
        f"WITH fresh AS (INSERT INTO {VERSIONS} (id, project_id, store_id, memory_id, operation, path, content, "
        "content_size_bytes, content_sha256, created_at, created_by_type, created_by_id, number) SELECT "
        "gen_random_uuid(), project_id, id, gen_random_uuid(), 'created', '/many/' || n, '', 0, encode(sha256(''), 'hex'), "
        "clock_timestamp(), 'api_actor', 'apikey_x', nextval('stores_version_number') "
        f"FROM {STORES}, generate_series(1, 1999) AS n WHERE id = %s RETURNING *), "
        f"heads AS (INSERT INTO {MEMORIES} (id, project_id, store_id, head_id, path, path_key, content_size_bytes, "
        "content_sha256, created_at, updated_at) SELECT memory_id, project_id, store_id, id, path, convert_to(path, 'UTF8'), 0, "
        "content_sha256, created_at, created_at FROM fresh RETURNING *) "
        "INSERT INTO stores_memoryindex (memory_id, project_id, environment_id, store_id, length, terms) SELECT h.id, "
        f"h.project_id, %s, h.store_id, 0, '' FROM heads h",
        [key_of(house.store), house.tenant.development.id],
    )
    return [house.store]


@breaks("api_key_tenancy")
def foreign_key(house: House) -> list[str]:
    drop_links("memoryhub_apikey")
    run_sql(
        "UPDATE memoryhub_apikey SET environment_id = %s WHERE environment_id = %s",
        [house.stranger.production.id, house.tenant.production.id],
    )
    [(key,)] = run_sql(
        "SELECT id FROM memoryhub_apikey WHERE id = %s", [UUID(hex=house.tenant.production_key[3:35])]
    )
    return [ids.to_wire("apikey", key)]


@breaks("project_owner")
def no_owner(house: House) -> list[str]:
    run_sql(
        "UPDATE memoryhub_membership SET role = 'viewer' WHERE project_id = %s", [house.tenant.project.id]
    )
    return [house.tenant.project.wire_id]


def change(house: House, statement: str, *values: Any) -> None:
    """One statement that no rule of the database may stop, on what the desk's project has: other tests leave things too."""
    tables = (
        "memoryhub_session", "providers_binding", "providers_resource", "providers_pinneddeployment", "stores_attachment",
        "providers_projection",
    )  # fmt: skip
    assert house.desk
    for table in tables:
        drop_links(table)
    run_sql(f"{statement} WHERE project_id = %s", [*values, house.tenant.project.id])


@breaks("version_redaction")
def title_of_a_redacted_version(house: House) -> list[str]:
    house.set_version(house.created, "title = 'gone'")
    return [house.created]


@breaks("document_card")
def document_without_a_title(house: House) -> list[str]:
    version = revision_of(house.document)
    house.set_version(version, "title = NULL")
    return [version]


@breaks("document_card")
def title_of_no_document(house: House) -> list[str]:
    house.set_version(house.first, "title = 'One'")
    return [house.first]


@breaks("document_policy")
def frozen_behind_its_version(house: House) -> list[str]:
    # a minute ahead, or the save would also be one after the freeze
    house.set_memory(house.document.wire_id, "frozen_at = clock_timestamp() + interval '1 minute'")
    return [house.document.wire_id]


@breaks("document_id")
def used_again(house: House) -> list[str]:
    memory = house.document
    UsedPath.objects.create(project_id=memory.project_id, store_id=memory.store_id, path_key=memory.path_key)
    return [memory.wire_id]


@breaks("session_events")
def lost_event(house: House) -> list[str]:
    assert house.desk
    run_sql(
        "DELETE FROM memoryhub_sessionevent WHERE session_id = %s AND number = 1", [key_of(house.session)]
    )
    return [house.session]


def worked(house: House) -> Claimed:
    """A worker that wrote, with its lease."""
    claimed = Bench(house.tenant).start()
    assert claimed.write().status == 200
    return claimed


@breaks("work_live")
def work_after_the_end(house: House) -> list[str]:
    claimed = worked(house)
    run_sql(
        "UPDATE memoryhub_session SET ended_at = clock_timestamp() WHERE id = %s",
        [key_of(claimed.bench.session_id)],
    )
    return [claimed.work_id]


@breaks("work_tenancy")
def work_elsewhere(house: House) -> list[str]:
    claimed = worked(house)
    run_sql(
        "UPDATE stores_work SET environment_id = %s WHERE id = %s",
        [house.tenant.production.id, key_of(claimed.work_id)],
    )
    return [claimed.work_id]


@breaks("work_token")
def token_of_a_lost_lease(house: House) -> list[str]:
    claimed = worked(house)
    token = claimed.row.token_id
    claimed.stop()
    run_sql("UPDATE memoryhub_apikey SET revoked_at = NULL WHERE id = %s", [token])
    return [ids.to_wire(ids.API_KEY, token)] if token else []


@breaks("work_held")
def lease_without_a_token(house: House) -> list[str]:
    claimed = worked(house)
    run_sql(
        "UPDATE memoryhub_apikey SET revoked_at = clock_timestamp() WHERE work_id = %s",
        [key_of(claimed.work_id)],
    )
    return [claimed.work_id]


@breaks("version_work")
def version_of_another_session(house: House) -> list[str]:
    claimed = worked(house)
    other = Bench(house.tenant).start()
    version = MemoryVersion.objects.get(work_id=key_of(claimed.work_id))
    house.set_version(version.wire_id, "work_id = %s", key_of(other.work_id))
    return [version.wire_id]


@breaks("promotion_active")
def nothing_in_force(house: House) -> list[str]:
    change(house, "UPDATE providers_promotion SET is_active = false")
    return [house.tenant.development.wire_id]


@breaks("resource_store")
def store_of_another_resource(house: House) -> list[str]:
    change(house, "UPDATE providers_resource SET store_id = NULL")
    [(key,)] = run_sql("SELECT id FROM providers_resource WHERE project_id = %s", [house.tenant.project.id])
    return [ids.to_wire(ids.RESOURCE, key)]


@breaks("binding_environment")
def foreign_binding(house: House) -> list[str]:
    stranger = Desk(house.stranger)
    stranger.declare()
    [(key,)] = run_sql(
        "SELECT id FROM providers_resource WHERE environment_id = %s", [house.stranger.development.id]
    )
    change(house, "UPDATE providers_binding SET resource_id = %s", key)
    return [house.session]


@breaks("attachment_environment")
def foreign_attachment(house: House) -> list[str]:
    assert house.desk
    session = house.desk.open({}, stores=[WantedStore(house.store, "read_only", None)])
    store = memory_stores.create_store(
        environment="production", name="x", description="", metadata={}, actor=house.tenant.actor
    )
    change(house, "UPDATE stores_attachment SET store_id = %s", store.id)
    return [session]


@breaks("binding_ended")
def binding_after_the_end(house: House) -> list[str]:
    change(house, "UPDATE memoryhub_session SET ended_at = clock_timestamp()")
    return [house.session]


@breaks("session_deployment")
def unpromoted_deployment(house: House) -> list[str]:
    assert house.desk
    made = deployments.create_deployment(agent_id="x", manifest={"memory": []}, actor=house.tenant.actor)
    change(house, "UPDATE providers_pinneddeployment SET deployment_id = %s", made.id)
    return [house.session]


@breaks("request_projections")
def lost_projection(house: House) -> list[str]:
    change(house, "DELETE FROM providers_projection")
    return [house.request]


@breaks("request_erased")
def kept_copy(house: House) -> list[str]:
    change(house, "UPDATE providers_projection SET version_ids = %s", [key_of(house.created)])
    return [house.request]


@breaks("request_versions")
def shown_version_that_is_gone(house: House) -> list[str]:
    change(house, "UPDATE providers_projection SET version_ids = %s", [uuid.uuid4()])
    return [house.request]


@breaks("request_erased")
def kept_output(house: House) -> list[str]:
    change(house, "UPDATE providers_toolcall SET erased_at = clock_timestamp()")
    return [house.request]


@breaks("http_operations")
def call_that_nobody_makes(house: House) -> list[str]:
    change(house, "UPDATE providers_toolcall SET state = 'started'")
    return [house.request]


@breaks("external_records")
def record_of_the_future(house: House) -> list[str]:
    endpoint = endpoints.create_endpoint(
        environment="development", name="facts", bytes_max=100, retention_days=None, actor=house.tenant.actor
    )
    partition = ExternalPartition.objects.create(
        project_id=endpoint.project_id, endpoint=endpoint, partition="p1"
    )
    ExternalRecord.objects.create(
        project_id=endpoint.project_id, partition=partition, text="A fact.", revision=1
    )
    return [partition.wire_id]


def add_record(house: House, **row: Any) -> str:
    """The environment of a record in a thread, one column of which is other than it should be."""
    whose = WantedScope("development", RecordScope("support", "api", "alice"))
    records.save_record(whose, {"text": "Tea.", "thread": "t"}, key="k", actor=house.tenant.actor)
    for table_column, value in row.items():
        table, column = table_column.split("__")
        change(house, f"UPDATE providers_{table} SET {column} = %s", value)
    return house.tenant.development.wire_id


@breaks("memory_records")
def record_without_index(house: House) -> list[str]:
    environment_id = add_record(house)
    change(house, "DELETE FROM providers_recordindex")
    return [environment_id]


@breaks("memory_records")
def record_half_forgotten(house: House) -> list[str]:
    return [add_record(house, memoryrecord__forgotten_at="2026-01-01T00:00:00Z")]


@breaks("record_bindings")
def record_of_another_binding(house: House) -> list[str]:
    return [add_record(house, memoryrecord__binding_id="rec_other")]


@breaks("record_positions")
def record_beyond_its_thread(house: House) -> list[str]:
    return [add_record(house, recordindex__position=7)]


@breaks("record_vectors")
def vector_of_fewer_numbers(house: House) -> list[str]:
    environment_id = add_record(house)
    run_sql(
        "INSERT INTO providers_recordvector (record_id, project_id, scope_id, model, dim, vector, content_sha256)"
        " SELECT id, project_id, scope_id, 'm', 3, '\\x0000', sha256('') FROM providers_memoryrecord WHERE project_id = %s",
        [house.tenant.project.id],
    )
    return [environment_id]


@breaks("memory_effects")
def effect_that_nobody_sends(house: House) -> list[str]:
    add_record(house, memoryeffect__state="begun")
    return [MemoryEffect.objects.get(project=house.tenant.project).wire_id]


@breaks("recalled_items")
def item_of_a_forgotten_record(house: House) -> list[str]:
    notes = RecordSessions(house.tenant)
    session = notes.open()
    request = notes.begin(session)
    saved = notes.save(session, request, "Tea.")["id"]
    notes.search(session, request, "tea")
    notes.forget(session, request, saved)
    change(house, "UPDATE providers_recalleditem SET text = 'Tea.'")
    return [session]


def break_write(name: str, assignments: str, *, decision: str | None = None) -> None:
    """Plant a write of a session, waiting or decided on, that is wrong in these columns."""

    def plant(house: House) -> list[str]:
        notes = RecordSessions(house.tenant, "ask")
        session = notes.open()
        write_id = str(notes.save(session, notes.begin(session), "Tea.")["id"])
        if decision == "approved":
            record_writes.approve_write(write_id, actor=house.tenant.actor)
        change(house, f"UPDATE providers_recordwrite SET {assignments}")
        return [write_id]

    plant.__name__ = name
    breaks("record_writes")(plant)


break_write("waits_without_its_text", "payload = NULL")
break_write("decided_by_nobody", "state = 'approved'")
break_write("text_of_a_decided_write", "payload = '{}'", decision="approved")
break_write("done_and_not_in_the_ledger", "key = 'other'", decision="approved")
break_write(
    "rejected_and_in_the_ledger", "state = 'rejected', outcome = NULL, payload = NULL", decision="approved"
)


def add_token(house: House) -> tuple[str, str]:
    """A session and its token."""
    session = house.desk.open({})
    return session, session_tokens.create_token(session, seconds=60, actor=house.tenant.actor).key.wire_id


@breaks("session_tokens")
def token_of_an_ended_session(house: House) -> list[str]:
    session, token = add_token(house)
    run_sql("UPDATE memoryhub_session SET ended_at = clock_timestamp() WHERE id = %s", [key_of(session)])
    return [token]


@breaks("session_tokens")
def token_of_another_environment(house: House) -> list[str]:
    _, token = add_token(house)
    values = [house.tenant.production.id, key_of(token)]
    run_sql("UPDATE memoryhub_apikey SET environment_id = %s WHERE id = %s", values)
    return [token]


def add_remote(house: House, **columns: Any) -> RemoteRecord:
    """A record at a service, as one that was saved, but for the columns named."""
    add_record(house)
    effect = MemoryEffect.objects.get(project=house.tenant.project)
    held = effect.scope
    of: dict[str, Any] = {"project_id": held.project_id, "scope": held, "provider": "team"}
    RemoteScope.objects.create(**of, origin="https://a.example", identity="mh_a", home="one")
    binding = RecordBinding.objects.get(scope=held)
    values: dict[str, Any] = {
        "record_id": "mrec_there", "name": "k_1", "digest": b"1", "text_seal": "1", "namespace": held.namespace,
        "binding_id": binding.record_id, "origin": "host", "version": "1", "sends": 1, "sent_at": ClockTimestamp(),
        "saved_at": ClockTimestamp(), "external_id": "theirs",
    }  # fmt: skip
    return RemoteRecord.objects.create(**(of | values | columns))


def break_remote(name: str, invariant: str = "remote_records", **columns: Any) -> None:
    """Plant a record at a service that is wrong in these columns."""

    def plant(house: House) -> list[str]:
        add_remote(house, **columns)
        return [house.tenant.development.wire_id]

    plant.__name__ = name
    breaks(invariant)(plant)


break_remote("turn_without_end", claim=ids.new_id())
break_remote("saved_and_never_sent", sends=0)
break_remote("found_and_not_saved", saved_at=None)
break_remote("text_that_no_erasure_finds", text_seal=None)
break_remote("forgotten_with_its_seal", forgotten_at=ClockTimestamp())
break_remote("corrected_by_no_save", correction_sha256="0" * 64)
break_remote("record_where_no_scope_is", provider="other")
break_remote("remote_record_of_another_binding", "remote_bindings", binding_id="rec_other")


@breaks("remote_scopes")
def two_scopes_in_one_place(house: House) -> list[str]:
    add_remote(house)
    whose = WantedScope("development", RecordScope("support", "api", "bob"))
    records.save_record(whose, {"text": "Tea."}, key="k", actor=house.tenant.actor)
    bobs = RecordScopeRow.objects.get(project=house.tenant.project, scope="api/bob")
    of: dict[str, Any] = {"project_id": bobs.project_id, "scope": bobs, "provider": "team"}
    RemoteScope.objects.create(**of, origin="https://a.example", identity="mh_b", home="one")
    return [house.tenant.development.wire_id] * 2


@breaks("remote_saves")
def save_of_no_record(house: House) -> list[str]:
    add_remote(house)
    change(house, "UPDATE providers_memoryeffect SET provider = %s", "team")
    return [MemoryEffect.objects.get(project=house.tenant.project).wire_id]


def add_job(house: House, **columns: Any) -> Job:
    """An export that is done, with a file of one piece."""
    values: dict[str, Any] = {
        "project": house.tenant.project, "environment": house.tenant.development, "kind": "export_store",
        "arguments": {"store_id": house.store}, "subject_id": key_of(house.store), "asked_by": house.tenant.owner,
        "state": "done", "finished_at": ClockTimestamp(), "file_name": "a.tar", "file_bytes": 4,
    }  # fmt: skip
    job = Job.objects.create(**values | columns)
    JobChunk.objects.create(project_id=job.project_id, job_id=job.id, position=0, content=b"file")
    return job


@breaks("job_tenancy")
def foreign_job(house: House) -> list[str]:
    job = add_job(house)
    drop_links("memoryhub_job")
    Job.objects.filter(id=job.id).update(environment_id=house.stranger.production.id)
    return [job.wire_id]


@breaks("job_file")
def cut_job_file(house: House) -> list[str]:
    add_job(house)
    return [add_job(house, file_bytes=5).wire_id]


@breaks("job_file")
def left_job_file(house: House) -> list[str]:
    return [add_job(house, state="failed", file_bytes=None).wire_id]


@breaks("job_file")
def holey_job_file(house: House) -> list[str]:
    job = add_job(house)
    JobChunk.objects.filter(job_id=job.id).update(position=1)
    return [job.wire_id]


@breaks("store_exported")
def file_of_a_deleted_store(house: House) -> list[str]:
    add_job(house)
    return [add_job(house, subject_id=ids.new_id()).wire_id]


@breaks("usage_counts")
def wrong_count(house: House) -> list[str]:
    quotas.count_usage()
    run_sql(
        "UPDATE memoryhub_usage SET memories = 9, counted_at = clock_timestamp() + interval '1 hour' WHERE project_id = %s",
        [house.tenant.project.id],
    )
    return [house.tenant.project.wire_id]


@breaks("audit_chain")
def changed_audit(house: House) -> list[str]:
    audit.seal_all()
    with unguarded("memoryhub_auditevent"):
        run_sql(
            "UPDATE memoryhub_auditevent SET actor_id = 'user_x' WHERE project_id = %s AND chain_index = 3",
            [house.tenant.project.id],
        )
    return [f"{house.tenant.project.wire_id} row 3: the row is not what was sealed"]


def test_a_house_without_faults_has_none(house: House) -> None:
    quotas.count_usage()
    assert faults() == {}


def reviewed_of(house: House) -> Reviewed:
    """An authority with an adopted nomination."""
    made = make_reviewed(house.tenant, work=(entity("note:a"),))
    nomination = agent.nominate(
        made.authority.wire_id, {"nominationId": "review", "roots": ["note:a"], "v": 1}, actor=made.actor
    )
    made.submit_adoption(nomination)
    host_runs.run_next(HeldTurn(made.authority.id, ids.new_id()))
    return made


def spoil(table: str, assignments: str, authority_id: UUID) -> None:
    with unguarded(f"authority_{table}"):
        run_sql(f"UPDATE authority_{table} SET {assignments} WHERE authority_id = %s", [authority_id])


@breaks("space_history")
def flipped_record(house: House) -> list[str]:
    made = reviewed_of(house)
    with unguarded("authority_recordversion"):
        run_sql(
            "UPDATE authority_recordversion SET body = overlay(body placing '~' from 20 for 1) WHERE space_id = %s",
            [made.canonical.id],
        )
    return [made.canonical.wire_id]


@breaks("authority_pin")
def pin_of_no_head(house: House) -> list[str]:
    made = reviewed_of(house)
    with unguarded("authority_authority"):
        run_sql(
            "UPDATE authority_authority SET pin_records_sha256 = repeat('f', 64) WHERE id = %s",
            [made.authority.id],
        )
    return [made.authority.wire_id]


@breaks("authority_lanes")
def authority_of_another_environment(house: House) -> list[str]:
    made = reviewed_of(house)
    with unguarded("authority_authority"):
        run_sql(
            "UPDATE authority_authority SET environment_id = %s WHERE id = %s",
            [house.tenant.production.id, made.authority.id],
        )
    return [made.authority.wire_id]


@breaks("host_calls")
def call_without_a_receipt(house: House) -> list[str]:
    made = reviewed_of(house)
    spoil("hostcall", "receipt_sha256 = repeat('f', 64)", made.authority.id)
    [(key,)] = run_sql("SELECT id FROM authority_hostcall WHERE authority_id = %s", [made.authority.id])
    return [ids.to_wire(ids.HOST_CALL, key)]


@breaks("receipt_digest")
def changed_receipt(house: House) -> list[str]:
    made = reviewed_of(house)
    spoil("receipt", "body = replace(body, 'adopted', 'Adopted')", made.authority.id)
    [(key,)] = run_sql("SELECT id FROM authority_hostcall WHERE authority_id = %s", [made.authority.id])
    return [ids.to_wire(ids.HOST_CALL, key)]


@breaks("nomination_digest")
def changed_nomination(house: House) -> list[str]:
    made = reviewed_of(house)
    spoil("nomination", "body = replace(body, 'Name', 'Mane')", made.authority.id)
    return [made.authority.wire_id]


@pytest.mark.parametrize(("invariant", "plant"), PLANTS, ids=[plant.__name__ for _, plant in PLANTS])
def test_a_planted_fault_is_named_by_its_invariant_alone(house: House, invariant: str, plant: Plant) -> None:
    named = plant(house)
    assert {name: sorted(found) for name, found in faults().items()} == {invariant: sorted(named)}


def test_every_invariant_has_its_planted_fault() -> None:
    planted = {invariant for invariant, _ in PLANTS}
    assert planted == {invariant.name for invariant in integrity.all_invariants()}


def test_a_count_that_lags_behind_writing_is_no_fault(house: House) -> None:
    quotas.count_usage()
    house.write("/later.md", "x")
    assert faults() == {}


def run_command(**options: Any) -> str:
    out = io.StringIO()
    call_command("check_integrity", stdout=out, **options)
    return out.getvalue()


def test_the_command_prints_one_line_for_each_invariant(house: House) -> None:
    lines = run_command().splitlines()
    assert [line.split()[:2] for line in lines] == [["ok", i.name] for i in integrity.all_invariants()]


def test_the_command_names_ids_and_never_content_and_fails(house: House) -> None:
    house.set_version(house.first, "content = 'canary'")
    house.set_memory(house.other, "path = '/canary//x', path_key = '/canary//x'::bytea")
    out = io.StringIO()
    with pytest.raises(CommandError, match="3 of what must hold does not"):
        call_command("check_integrity", stdout=out)
    assert "FAULT version_content" in out.getvalue()
    assert house.first in out.getvalue()
    assert "canary" not in out.getvalue()


def test_at_most_twenty_faults_are_shown(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        house.write(f"/{number}", "x")
    with unguarded(VERSIONS):
        run_sql(f"UPDATE {VERSIONS} SET content_size_bytes = 2 WHERE content = 'x'")
    run_sql(f"UPDATE {MEMORIES} SET content_size_bytes = 2 WHERE path ~ '^/[0-9]'")
    [finding] = [finding for finding in integrity.check_all() if finding.faults]
    assert (len(finding.faults), finding.has_more) == (20, False)
    house.set_version(house.first, "content_size_bytes = 2")
    [finding] = [finding for finding in integrity.check_all() if finding.faults]
    assert (len(finding.faults), finding.has_more) == (20, True)


def test_a_published_head_is_expected_and_found_or_not(house: House) -> None:
    audit.seal_all()
    head = audit.get_chain_head(house.tenant.project.id)
    text = f"{head.chain_index}:{head.chain_sha256}"
    assert "ok    audit_head" in run_command(expect_head=[text])
    with unguarded("memoryhub_auditevent"):
        run_sql(
            "DELETE FROM memoryhub_auditevent WHERE project_id = %s AND chain_index >= %s",
            [house.tenant.project.id, head.chain_index],
        )
    run_command()  # a cut chain alone shows nothing
    with pytest.raises(CommandError, match="1 of what must hold does not"):
        run_command(expect_head=[text])


@pytest.mark.parametrize("text", ["", "1", "1:", "x:" + "0" * 64, "1:" + "0" * 63, "1:" + "A" * 64])
def test_a_head_that_cannot_be_read_is_refused(db: None, text: str) -> None:
    with pytest.raises(CommandError, match="INDEX:SHA256"):
        run_command(expect_head=[text])


def test_what_waits_is_sealed_before_the_chain_is_walked(house: House) -> None:
    run_command()
    assert not AuditEvent.objects.filter(chain_index=None).exists()

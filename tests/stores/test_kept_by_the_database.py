"""What no code path can do, not even SQL: change history, put two memories at one path, mix tenants."""

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from memoryhub import ids
from tests.plants import run_sql
from tests.stores.shelf import Shelf
from tests.world import Tenant

VERSIONS = "stores_memoryversion"


def refused(statement: str, values: Any = ()) -> str:
    """The database's words when it refuses a statement."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic():
        run_sql(statement, values)
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    assert isinstance(caught.value, IntegrityError)
    return str(caught.value)


@pytest.fixture
def former(shelf: Shelf) -> Any:
    """The key of a version that is no head."""
    shelf.update(shelf.put("/a", "old"), content="new")
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    return shelf.versions()[-1].id


COLUMNS: list[tuple[str, Any]] = [
    ("content", "other"),
    ("content", None),
    ("title", "other"),
    ("summary", "other"),
    ("agent_writes", True),
    ("path", "/other"),
    ("path", None),
    ("content_sha256", "0" * 64),
    ("content_size_bytes", 1),
    ("operation", "deleted"),
    ("number", 1),
    ("created_by_id", "apikey_other"),
    ("created_by_type", "user_actor"),
    ("redacted_by_id", "apikey_other"),
    ("redacted_at", "2026-01-01T00:00:00Z"),
    ("created_at", "2026-01-01T00:00:00Z"),
    ("memory_id", ids.new_id()),
    ("id", ids.new_id()),
]


@pytest.mark.parametrize(("column", "value"), COLUMNS, ids=[column for column, _ in COLUMNS])
def test_no_column_of_a_version_can_be_changed(shelf: Shelf, former: Any, column: str, value: Any) -> None:
    state = shelf.state()
    assert "append-only" in refused(f"UPDATE {VERSIONS} SET {column} = %s WHERE id = %s", [value, former])
    assert shelf.state() == state


def test_a_version_cannot_be_deleted(shelf: Shelf, former: Any) -> None:
    state = shelf.state()
    assert "append-only" in refused(f"DELETE FROM {VERSIONS} WHERE id = %s", [former])
    assert shelf.state() == state


def test_versions_cannot_be_truncated(shelf: Shelf, former: Any) -> None:
    assert "append-only" in refused(f"TRUNCATE {VERSIONS} CASCADE")
    assert len(shelf.versions()) == 2


REDACT = (
    f"UPDATE {VERSIONS} SET path = NULL, content = NULL, content_size_bytes = NULL, content_sha256 = NULL, "
    "redacted_at = clock_timestamp(), redacted_by_type = 'api_actor', redacted_by_id = 'apikey_x'"
)


def test_redaction_is_the_one_change_and_happens_once(shelf: Shelf, former: Any) -> None:
    run_sql(f"{REDACT} WHERE id = %s", [former])
    assert shelf.versions()[-1].content is None
    assert "append-only" in refused(f"{REDACT} WHERE id = %s", [former])
    restore = f"UPDATE {VERSIONS} SET redacted_at = NULL, content = 'old', path = '/a' WHERE id = %s"
    assert "append-only" in refused(restore, [former])


@pytest.mark.parametrize(
    "more",
    [
        "operation = 'deleted'",
        "created_at = now()",
        "created_by_id = 'x'",
        "memory_id = gen_random_uuid()",
        "number = 0",
    ],
)
def test_redaction_changes_nothing_besides(shelf: Shelf, former: Any, more: str) -> None:
    assert "append-only" in refused(f"{REDACT}, {more} WHERE id = %s", [former])


def test_redaction_leaves_nothing_of_the_text(shelf: Shelf, former: Any) -> None:
    for kept in ("path = NULL", "content = NULL", "content_size_bytes = NULL", "content_sha256 = NULL"):
        partial = REDACT.replace(f"{kept}, ", "", 1)
        assert partial != REDACT
        assert "append-only" in refused(f"{partial} WHERE id = %s", [former])


def test_two_memories_at_one_path_are_impossible(shelf: Shelf) -> None:
    one, other = shelf.put("/one"), shelf.put("/other")
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    values = [b"/one", other.id]
    assert "memory_store_path" in refused("UPDATE stores_memory SET path_key = %s WHERE id = %s", values)
    copy = (
        "INSERT INTO stores_memory (id, project_id, store_id, head_id, path, path_key, content_size_bytes, "
        "content_sha256, created_at, updated_at) SELECT uuidv7(), project_id, store_id, head_id, path, path_key, "
        "content_size_bytes, content_sha256, created_at, updated_at FROM stores_memory WHERE id = %s"
    )
    assert "memory_store_path" in refused(copy, [one.id])


def test_the_version_of_a_head_cannot_go(shelf: Shelf) -> None:
    memory = shelf.put()
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    values = [ids.new_id(), memory.id]
    assert "foreign key" in refused("UPDATE stores_memory SET head_id = %s WHERE id = %s", values)


@pytest.mark.parametrize("table", ["stores_memory", "stores_memoryindex", "stores_memorystore"])
def test_no_row_can_move_to_another_project(shelf: Shelf, stranger: Tenant, table: str) -> None:
    shelf.put()
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    moved = refused(
        f"UPDATE {table} SET project_id = %s WHERE project_id = %s",
        [stranger.project.id, shelf.actor.project_id],
    )
    assert "foreign key" in moved


def test_a_version_cannot_be_written_into_a_store_of_another_project(shelf: Shelf, stranger: Tenant) -> None:
    shelf.put()
    copy = (
        f"INSERT INTO {VERSIONS} (id, project_id, store_id, memory_id, operation, path, content, created_by_type, "
        f"created_by_id) SELECT uuidv7(), %s, store_id, memory_id, operation, path, content, created_by_type, "
        f"created_by_id FROM {VERSIONS} WHERE store_id = %s"
    )
    assert "foreign key" in refused(copy, [stranger.project.id, shelf.store.id])

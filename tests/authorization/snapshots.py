"""The rows of a project or of one of its environments, by reflection, so that a changed one shows."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from uuid import UUID

from django.db import connection, transaction

from memoryhub.models import Environment, Project

# When a key was last used is noted at every call, refused ones included.
IGNORED_COLUMNS = ["last_used_at"]
# Tables without project_id, and how their rows belong to a project.
INDIRECT = {
    "memoryhub_project": "id = %(project)s",
    "memoryhub_user": "id IN (SELECT user_id FROM memoryhub_membership WHERE project_id = %(project)s)",
}
IN_PROJECT = "project_id = %(project)s"
IN_ENVIRONMENT = "project_id = %(project)s AND (environment_id = %(environment)s OR environment_id IS NULL)"
IN_JOB = "job_id IN (SELECT id FROM memoryhub_job WHERE environment_id = %(environment)s)"
IN_STORE = "store_id IN (SELECT id FROM stores_memorystore WHERE environment_id = %(environment)s)"
IN_SESSION = "session_id IN (SELECT id FROM memoryhub_session WHERE environment_id = %(environment)s)"
IN_REQUEST = f"model_request_id IN (SELECT id FROM providers_modelrequest WHERE {IN_SESSION})"
IN_ENDPOINT = "endpoint_id IN (SELECT id FROM providers_endpoint WHERE environment_id = %(environment)s)"
IN_PARTITION = f"partition_id IN (SELECT id FROM providers_externalpartition WHERE {IN_ENDPOINT})"
IN_OPERATION = f"operation_id IN (SELECT id FROM providers_httpoperation WHERE {IN_SESSION})"
IN_SCOPE = "scope_id IN (SELECT id FROM providers_recordscope WHERE environment_id = %(environment)s)"
IN_SPACE = "space_id IN (SELECT id FROM authority_space WHERE environment_id = %(environment)s)"
IN_AUTHORITY = "authority_id IN (SELECT id FROM authority_authority WHERE environment_id = %(environment)s)"
IN_WEBHOOK = "webhook_id IN (SELECT id FROM memoryhub_webhook WHERE environment_id = %(environment)s)"
# The column by which a row belongs to an environment: the first that its table has.
PLACES = {
    "environment_id": IN_ENVIRONMENT,
    "store_id": IN_STORE,
    "session_id": IN_SESSION,
    "model_request_id": IN_REQUEST,
    "job_id": IN_JOB,
    "endpoint_id": IN_ENDPOINT,
    "partition_id": IN_PARTITION,
    "space_id": IN_SPACE,
    "authority_id": IN_AUTHORITY,
    "operation_id": IN_OPERATION,
    "webhook_id": IN_WEBHOOK,
    "delivery_id": f"delivery_id IN (SELECT id FROM memoryhub_webhookdelivery WHERE {IN_WEBHOOK})",
    "scope_id": IN_SCOPE,
}

type Snapshot = dict[str, tuple[int, str]]


def snapshot_project(project: Project) -> Snapshot:
    """(rows, digest of all their columns) of each table."""
    return _snapshot(dict.fromkeys(columns_by_table(), IN_PROJECT) | INDIRECT, {"project": project.id})


def snapshot_environment(environment: Environment) -> Snapshot:
    """The same without the rows of the project's other environments."""
    conditions = {
        table: next((PLACES[column] for column in PLACES if column in columns), IN_PROJECT)
        for table, columns in columns_by_table().items()
    }
    return _snapshot(
        conditions | INDIRECT, {"project": environment.project_id, "environment": environment.id}
    )


def snapshot_store(store_key: UUID) -> Snapshot:
    """The store's row and all rows that name it."""
    conditions = {
        table: "store_id = %(store)s"
        for table, columns in columns_by_table().items()
        if "store_id" in columns
    }
    return _snapshot(conditions | {"stores_memorystore": "id = %(store)s"}, {"store": store_key})


def snapshot_everything() -> Snapshot:
    """Every row of every table."""
    with connection.cursor() as cursor:
        return _snapshot(dict.fromkeys(connection.introspection.table_names(cursor), "true"), {})


def _snapshot(conditions: dict[str, str], values: dict[str, object]) -> Snapshot:
    parts = [
        f"SELECT '{table}', count(*), coalesce(md5(string_agg(line, '|' ORDER BY line)), '') FROM "
        f"(SELECT (to_jsonb(t) - %(ignored)s::text[])::text AS line FROM {table} t WHERE {condition}) AS lines"
        for table, condition in conditions.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), {**values, "ignored": IGNORED_COLUMNS})
        return {table: (int(count), digest) for table, count, digest in cursor.fetchall()}


@cache
def columns_by_table() -> dict[str, set[str]]:
    """Every table whose rows name their project."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables "
            "USING (table_schema, table_name) WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        found = defaultdict(set)
        for table, column in cursor.fetchall():
            found[str(table)].add(str(column))
    return {table: columns for table, columns in sorted(found.items()) if "project_id" in columns}


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is rolled back; verbs run in it as in a test's own transaction."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with block:
        yield
        transaction.set_rollback(True)

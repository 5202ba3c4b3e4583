"""Promise L2: what is done to sealed audit rows shows, at the right row; and sealers that meet make one chain."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import DatabaseError, connection, transaction
from pytest_django import DjangoAssertNumQueries
from structlog.testing import capture_logs

from memoryhub import audit
from memoryhub.audit import AuditAction, ChainHead
from memoryhub.models import AuditEvent
from tests.plants import run_sql, unguarded
from tests.world import Tenant

TABLE = "memoryhub_auditevent"
ROWS = 1_000
# The columns a seal covers, and SQL that changes one bit or letter of each.
BIT_FLIPS = {
    "number": "number # (1::bigint << 40)",
    "action": "overlay(action placing chr(ascii(action) # 1) from 1)",
    "actor_type": "overlay(actor_type placing chr(ascii(actor_type) # 1) from 1)",
    "actor_id": "overlay(actor_id placing chr(ascii(actor_id) # 1) from 1)",
    "subject_id": "overlay(subject_id placing chr(ascii(subject_id) # 1) from 1)",
    "details": """jsonb_build_object('n', (details->>'n')::int # 1)""",
    "created_at": "created_at + interval '1 microsecond'",
    "environment_id": "'00000000-0000-7000-8000-000000000001'::uuid",
    "parent_id": "'mem_x'",
    "request_id": "'req_x'",
    "chain_sha256": "overlay(chain_sha256 placing translate(left(chain_sha256, 1), '0123456789abcdef', '1032547698badcfe') from 1)",
}


def record_rows(tenant: Tenant, count: int) -> None:
    for number in range(count):
        audit.record(
            AuditAction.MEMORY_CREATED,
            f"mem_{number}",
            environment_id=None,
            details={"n": number},
            actor=tenant.actor,
        )


@pytest.fixture
def chain(tenant: Tenant) -> Tenant:
    """A project whose chain has ROWS rows."""
    record_rows(tenant, ROWS - AuditEvent.objects.filter(project=tenant.project).count())
    assert audit.seal_project(tenant.project.id) == ROWS
    assert faults(tenant) == []
    return tenant


def faults(tenant: Tenant, expected_head: ChainHead | None = None) -> list[tuple[int, str]]:
    found = audit.find_chain_faults(tenant.project.id, expected_head=expected_head)
    return [(fault.chain_index, fault.reason) for fault in found]


def test_one_bit_flipped_in_each_of_a_thousand_rows_names_each_of_them(chain: Tenant) -> None:
    columns = [column for column in BIT_FLIPS if column != "chain_sha256"]
    details_from = run_sql(
        f"SELECT min(chain_index) FROM {TABLE} WHERE project_id = %s AND details ? 'n'", [chain.project.id]
    )[0][0]
    with unguarded(TABLE):
        for index in range(1, ROWS + 1):
            column = columns[index % len(columns)] if index >= details_from else "subject_id"
            run_sql(
                f"UPDATE {TABLE} SET {column} = {BIT_FLIPS[column]} WHERE project_id = %s AND chain_index = %s",
                [chain.project.id, index],
            )
    assert faults(chain) == [(index, "the row is not what was sealed") for index in range(1, ROWS + 1)]


@pytest.mark.parametrize("column", BIT_FLIPS)
def test_each_sealed_column_is_covered(tenant: Tenant, column: str) -> None:
    record_rows(tenant, 3)
    last = audit.seal_project(tenant.project.id)
    with unguarded(TABLE):
        run_sql(
            f"UPDATE {TABLE} SET {column} = {BIT_FLIPS[column]} WHERE project_id = %s AND chain_index = %s",
            [tenant.project.id, last],
        )
    assert faults(tenant) == [(last, "the row is not what was sealed")]


def test_the_flipped_columns_are_all_that_a_row_holds() -> None:
    columns = {field.column for field in AuditEvent._meta.get_fields() if hasattr(field, "column")}
    assert columns - set(BIT_FLIPS) == {
        "id",
        "project_id",
        "chain_index",
    }  # changed by the tests of insert and swap


def test_a_forged_seal_breaks_the_row_behind_it(chain: Tenant) -> None:
    with unguarded(TABLE):
        run_sql(
            f"UPDATE {TABLE} SET chain_sha256 = {BIT_FLIPS['chain_sha256']} WHERE project_id = %s AND chain_index = 500",
            [chain.project.id],
        )
    assert [index for index, _ in faults(chain)] == [500, 501]


def test_deleted_rows_are_named_where_they_were(chain: Tenant) -> None:
    gone = sorted(random.Random(7).sample(range(2, ROWS - 1, 3), 50))
    with unguarded(TABLE):
        run_sql(
            f"DELETE FROM {TABLE} WHERE project_id = %s AND chain_index = ANY(%s)", [chain.project.id, gone]
        )
    assert faults(chain) == [(index, "rows are missing here") for index in gone]


def test_two_swapped_rows_are_named(chain: Tenant) -> None:
    with unguarded(TABLE):
        for old, new in ((100, -1), (200, 100), (-1, 200)):
            run_sql(
                f"UPDATE {TABLE} SET chain_index = %s WHERE project_id = %s AND chain_index = %s",
                [new, chain.project.id, old],
            )
    assert [index for index, _ in faults(chain)] == [100, 101, 200, 201]


def test_an_inserted_row_is_named(chain: Tenant) -> None:
    with unguarded(TABLE):
        run_sql(
            f"UPDATE {TABLE} SET chain_index = -chain_index WHERE project_id = %s AND chain_index > 300",
            [chain.project.id],
        )
        run_sql(
            f"UPDATE {TABLE} SET chain_index = 1 - chain_index WHERE project_id = %s AND chain_index < 0",
            [chain.project.id],
        )
        record_rows(chain, 1)
        run_sql(
            f"UPDATE {TABLE} SET chain_index = 301, chain_sha256 = repeat('0', 64) WHERE project_id = %s AND chain_index IS NULL",
            [chain.project.id],
        )
    named = [index for index, _ in faults(chain)]
    assert named[0] == 301
    assert named == list(range(301, ROWS + 2))  # and every row that was moved to make room


def test_a_row_with_details_that_have_no_canonical_form_is_a_fault(tenant: Tenant) -> None:
    audit.seal_project(tenant.project.id)
    with unguarded(TABLE):
        run_sql(
            f"""UPDATE {TABLE} SET details = '{{"n": 9007199254740993}}' WHERE project_id = %s AND chain_index = 1""",
            [tenant.project.id],
        )
    assert faults(tenant) == [(1, "the row is not what was sealed")]


def test_a_cut_chain_shows_against_a_published_head_only(chain: Tenant) -> None:
    head = audit.get_chain_head(chain.project.id)
    with unguarded(TABLE):
        run_sql(f"DELETE FROM {TABLE} WHERE project_id = %s AND chain_index > 990", [chain.project.id])
    assert faults(chain) == []
    assert faults(chain, head) == [(991, "the chain ends before a published head")]


def test_a_chain_written_anew_shows_against_a_published_head(tenant: Tenant) -> None:
    record_rows(tenant, 5)
    audit.seal_project(tenant.project.id)
    head = audit.get_chain_head(tenant.project.id)
    with unguarded(TABLE):
        run_sql(
            f"UPDATE {TABLE} SET subject_id = 'mem_other', chain_index = NULL, chain_sha256 = NULL WHERE project_id = %s",
            [tenant.project.id],
        )
    audit.seal_project(tenant.project.id)
    assert faults(tenant) == []
    assert faults(tenant, head) == [(head.chain_index, "the chain differs from a published head")]


def test_an_older_head_still_holds_after_more_was_sealed(tenant: Tenant) -> None:
    audit.seal_project(tenant.project.id)
    head = audit.get_chain_head(tenant.project.id)
    record_rows(tenant, 3)
    audit.seal_project(tenant.project.id)
    assert audit.get_chain_head(tenant.project.id).chain_index == head.chain_index + 3
    assert faults(tenant, head) == []


def test_the_database_refuses_to_change_or_remove_a_row(chain: Tenant) -> None:
    for statement in (
        f"UPDATE {TABLE} SET details = '{{}}' WHERE project_id = %s",
        f"UPDATE {TABLE} SET chain_index = NULL, chain_sha256 = NULL WHERE project_id = %s",
        f"DELETE FROM {TABLE} WHERE project_id = %s",
    ):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            run_sql(statement, [chain.project.id])


def test_the_sealer_publishes_each_new_head_in_the_log(tenant: Tenant) -> None:
    with capture_logs() as lines:
        audit.seal_project(tenant.project.id)
        audit.seal_project(tenant.project.id)  # nothing new: nothing said
    head = audit.get_chain_head(tenant.project.id)
    published = [line for line in lines if line["event"] == "audit_sealed"]
    assert [(line["chain_index"], line["chain_sha256"]) for line in published] == [
        (head.chain_index, head.chain_sha256)
    ]
    assert published[0]["project_id"] == tenant.project.id.hex


def test_seal_all_asks_nothing_of_projects_that_have_nothing_new(
    tenant: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    audit.seal_all()
    with django_assert_num_queries(1):
        assert audit.seal_all() == 0


def test_eight_writers_and_two_sealers_make_one_chain(committed: Tenant) -> None:
    writing = threading.Event()
    writing.set()

    def write(count: int) -> None:
        for _ in range(count):
            with transaction.atomic():
                record_rows(committed, 1)
        connection.close()

    def seal() -> None:
        while writing.is_set():
            audit.seal_project(committed.project.id)
        connection.close()

    before = AuditEvent.objects.filter(project=committed.project).count()
    with ThreadPoolExecutor(10) as pool:
        sealers = [pool.submit(seal) for _ in range(2)]
        wait([pool.submit(write, 60) for _ in range(8)])
        writing.clear()
        for sealer in sealers:
            sealer.result()
    audit.seal_project(committed.project.id)
    head = audit.get_chain_head(committed.project.id)
    assert head.chain_index == before + 8 * 60
    assert AuditEvent.objects.filter(project=committed.project, chain_index=None).count() == 0
    assert faults(committed) == []


def test_a_row_that_commits_late_is_sealed_behind_those_that_came_first(committed: Tenant) -> None:
    began, may_end = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            record_rows(committed, 1)
            began.set()
            assert may_end.wait(10)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(write_slowly)
        assert began.wait(10)
        record_rows(committed, 3)
        audit.seal_project(committed.project.id)
        sealed_first = audit.get_chain_head(committed.project.id).chain_index
        may_end.set()
        late.result()
    assert audit.seal_project(committed.project.id) == 1
    last, before = AuditEvent.objects.filter(project=committed.project).order_by("-chain_index")[:2]
    assert last.chain_index == sealed_first + 1
    assert last.number < before.number
    assert faults(committed) == []

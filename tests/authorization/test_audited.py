"""Promises L1 and L4: nothing changes without its audit row, and no audit row holds content, on every changing route."""

import pytest
from django.db import connection

from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from tests.answers import Answer
from tests.authorization.attempts import attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.snapshots import snapshot_everything, undone
from tests.documented import DocumentedOperation, documented_operations
from tests.plants import run_sql

CHANGING = [operation for operation in documented_operations() if operation.rights.writes]
# What must be done first, for the operation to change something.
FIRST = {"memory_stores.unfreeze": "memory_stores.freeze", "memories.unfreeze": "memories.freeze"}
REFUSE_AUDIT = """
CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no audit today'; END $$;
CREATE TRIGGER refuse_audit BEFORE INSERT ON memoryhub_auditevent FOR EACH ROW EXECUTE FUNCTION refuse_audit();
"""

changing = pytest.mark.parametrize("operation", CHANGING, ids=lambda operation: operation.name)


def make(operation: DocumentedOperation, plots: Plots) -> Answer:
    """As the one that may do most."""
    return attempt_on(operation, plots.mine).made_by(plots.mine.callers["whole admin"])


def make_first(operation: DocumentedOperation, plots: Plots) -> None:
    before = FIRST.get(operation.name)
    for other in CHANGING:
        if other.name == before:
            assert make(other, plots).status == other.status


@changing
def test_nothing_changes_when_the_audit_row_cannot_be_written(
    plots: Plots, operation: DocumentedOperation
) -> None:
    make_first(operation, plots)
    before = snapshot_everything()
    with undone():
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        run_sql(REFUSE_AUDIT)
        answer = make(operation, plots)
        assert answer.status == 500, answer.content[:300]
        assert snapshot_everything() == before
    with undone():  # and with the row it is written
        assert make(operation, plots).status == operation.status
        assert snapshot_everything() != before


@changing
def test_each_change_writes_audit_rows_that_hold_no_content(
    plots: Plots, operation: DocumentedOperation
) -> None:
    make_first(operation, plots)
    last = AuditEvent.objects.latest("number").number
    assert make(operation, plots).status == operation.status
    written = run_sql("SELECT to_jsonb(e)::text FROM memoryhub_auditevent e WHERE number > %s", [last])
    assert written, f"{operation.name} left no audit row"
    texts = [f"first {plots.mine.canary}", f"second {plots.mine.canary}", "third", "new", "put"]
    for (row,) in written:
        assert plots.mine.canary not in row
        for text in texts:
            assert sha256_hex(text) not in row
    assert connection.in_atomic_block  # rolled back with the test

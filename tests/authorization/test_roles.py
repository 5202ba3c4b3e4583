"""Every credential kind on every operation of the document, in its own environment: the table of rights, cell by cell."""

import pytest

from memoryhub import api
from memoryhub.operations import OPERATIONS, ROLES, SCOPES
from tests.authorization.attempts import GHOSTS, attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import AGENT_OPERATIONS, CREDENTIALS, OWNER
from tests.authorization.plots import Plot
from tests.authorization.seeds import SEEDS
from tests.authorization.snapshots import snapshot_project, undone
from tests.documented import EVERY_OPERATION, DocumentedOperation, documented_operations


def test_every_operation_of_the_document_is_seeded() -> None:
    documented = {operation.name for operation in documented_operations()}
    assert documented - SEEDS.keys() == set(), "UNSEEDED: give each its line in seeds.py"
    assert SEEDS.keys() - documented == set(), "seeds of operations that are gone"


def test_every_parameter_of_a_url_is_an_id_or_seeded(plots: Plots) -> None:
    unknown = {
        f"{operation.name}: {name}"
        for operation in documented_operations()
        for name in operation.parameters("path")
        if name not in GHOSTS and name not in SEEDS[operation.name](plots.mine).path
    }
    assert unknown == set()


@EVERY_OPERATION
def test_a_credential_does_what_the_table_allows_and_nothing_else(
    plots: Plots, operation: DocumentedOperation
) -> None:
    owned = attempt_on(operation, plots.mine)
    with undone():
        answer = owned.made_by(plots.mine.callers[OWNER.kind])
        assert answer.status == operation.status, f"VACUOUS: {answer.content[:300]!r}"
    assert role_findings(operation, plots.mine) == []


def role_findings(operation: DocumentedOperation, plot: Plot) -> list[str]:
    """The cells of one operation's row that differ from the table."""
    attempt = attempt_on(operation, plot)
    before = snapshot_project(plot.tenant.project)
    findings = []
    for kind, credential in CREDENTIALS.items():
        wanted = credential.expected_status(operation)
        with undone():
            answer = attempt.made_by(plot.callers[kind])
            if answer.status != wanted:
                findings.append(f"{kind}: {answer.status} instead of {wanted}: {answer.content[:200]!r}")
            if wanted == 403 and snapshot_project(plot.tenant.project) != before:
                findings.append(f"{kind}: refused, and yet it changed something")
    return findings


def test_a_missing_scope_check_is_found(plots: Plots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "check_scope", lambda actor, operation: None)
    probed = [operation for operation in documented_operations() if operation.method == "DELETE"]
    assert all(role_findings(operation, plots.mine) for operation in probed)


def test_agents_reach_six_operations_of_the_stores_contract() -> None:
    assert {name for name, row in OPERATIONS.items() if "agent" in row.scopes} == AGENT_OPERATIONS


# What a reader may change, and why.
READERS_MAY = {
    "jobs.cancel": "whoever asked for work may end it; nobody else's without the right to its kind",
    "jobs.delete_file": "the same of the file that it made",
}


def test_readers_change_nothing_and_a_worker_has_the_work_queue_alone() -> None:
    for name, row in OPERATIONS.items():
        assert name in READERS_MAY or not row.writes or "read" not in row.scopes, name
        assert "worker" not in row.scopes or name.startswith("work."), name


def test_roles_are_sets_of_scopes_and_only_owners_administer() -> None:
    assert all(scopes <= set(SCOPES) for scopes in ROLES.values())
    assert [role for role, scopes in ROLES.items() if "admin" in scopes] == ["owner"]

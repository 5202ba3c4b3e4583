"""One small history, built from literal values, and the digest of everything in it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from authority.bindings import CONTRACT, CONTRACT_SHA256, make_binding, make_profile
from authority.canonical import digest_of, parse, text_of
from authority.graph import EMPTY_HEAD, Put, Reference, apply_changes, find_head, make_record, records_digest
from authority.nominations import make_nomination, parse_nomination
from authority.operations import Operation, Signed, make_operation, parse_operation
from authority.receipts import (
    ConflictEntry,
    Side,
    adoption_conflict,
    adoption_receipt,
    advance_receipt,
    remember_receipt,
)
from authority.snapshots import closure_text, parse_closure, snapshot_bytes
from memoryhub.digests import sha256_hex

KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("known.json").read_text(encoding="utf-8"))
TEXTS = {name: item["text"] for name, item in KNOWN["digests"].items()}
DIGESTS = {name: item["sha256"] for name, item in KNOWN["digests"].items()}

CANONICAL = make_binding("canonical", realm_id="tenant:acme/project:demo", space_id="project:demo.canonical")
WORKING = make_binding("working", realm_id="tenant:acme/project:demo", space_id="project:demo.working")
BASE = make_record("entity:base", "entity", {"name": "Base"}, [])
RENAMED = make_record("entity:base", "entity", {"name": "Base, renamed"}, [])
ADA = make_record("entity:ada", "entity", {"name": "Ada", "note": "café – λ 😀"}, [])
FACT = make_record(
    "fact:ada-birth-year",
    "fact",
    {"confidence": 0.95, "text": "Ada was born in 1815.", "year": 1815},
    ["entity:ada"],
)


class Line:
    """A history in memory: enough to make heads."""

    def __init__(self, space_id: str) -> None:
        self.space_id, self.head = space_id, EMPTY_HEAD
        self.references: dict[str, Reference] = {}

    def commit(self, operation_id: str, actor_id: str, instant: str, *puts: Put) -> Operation:
        changes = tuple(sorted(puts, key=lambda put: put.key))
        self.references = apply_changes(self.references, changes)
        operation = make_operation(
            self.head,
            Signed(self.space_id, operation_id, actor_id, instant),
            changes,
            records_sha256=records_digest(self.references.values()),
        )
        self.head = operation.head
        return operation


REVIEWED = Line("project:demo.canonical")
SEED = REVIEWED.commit("op_seed", "host.seed", "2026-12-01T09:00:00.000Z", Put(BASE))
HEAD_1 = REVIEWED.head
ADOPTION = REVIEWED.commit(
    KNOWN["operation_ids"]["adopt"], "reviewer.demo", "2026-12-01T09:30:00.000Z", Put(ADA), Put(FACT)
)
HEAD_2 = REVIEWED.head
LATER = REVIEWED.commit("op_rename", "import.bot", "2026-12-01T09:45:00.000Z", Put(RENAMED))
HEAD_3 = REVIEWED.head
NOTES = Line("project:demo.working")
REMEMBERED = NOTES.commit(
    KNOWN["operation_ids"]["remember"], "agent.demo", "2026-12-01T09:10:00.000Z", Put(FACT), Put(ADA)
)
CLOSURE = parse_closure(
    parse(closure_text(WORKING, NOTES.head, ["fact:ada-birth-year"], [ADA.text, FACT.text]))
)
NOMINATION = make_nomination(
    CLOSURE, route="knowledge-review", destination_purpose="kb.review", authority_id="demo.working"
)
SIDE = Side("demo.canonical", CANONICAL.sha256)


def adopted(operation_sha256: str | None, prior: Any) -> str:
    return adoption_receipt(
        SIDE,
        actor_id="reviewer.demo",
        nomination_sha256=NOMINATION.sha256,
        operation_sha256=operation_sha256,
        prior=prior,
        head=HEAD_2,
    ).sha256


def conflicts() -> str:
    entries = [
        ConflictEntry("fact:unknown", None, FACT.sha256),
        ConflictEntry("entity:base", RENAMED.sha256, BASE.sha256),
    ]
    return str(adoption_conflict(entries, expected=HEAD_1, actual=HEAD_3).conflict["conflictsSha256"])


MADE = {
    "contract": digest_of(CONTRACT),
    "profile/canonical": make_profile("canonical")["profileSha256"],
    "profile/working": make_profile("working")["profileSha256"],
    "binding/canonical": CANONICAL.sha256,
    "binding/working": WORKING.sha256,
    "record/entity-base": BASE.sha256,
    "record/entity-ada": ADA.sha256,
    "record/fact-with-dependency": FACT.sha256,
    "operation/canonical-1": SEED.sha256,
    "graph-revision/canonical-1": SEED.graph_revision_sha256,
    "records/canonical-1": SEED.records_sha256,
    "operation/working-1": REMEMBERED.sha256,
    "receipt/remember": remember_receipt(
        Side("demo.working", WORKING.sha256), REMEMBERED, request_id="remember_ada"
    ).sha256,
    "closure": CLOSURE.sha256,
    "nomination": NOMINATION.sha256,
    "operation/canonical-2-adopt": ADOPTION.sha256,
    "receipt/adopted": adopted(ADOPTION.sha256, HEAD_1),
    "receipt/already-present": adopted(None, HEAD_2),
    "operation/canonical-3": LATER.sha256,
    "receipt/advanced": advance_receipt(SIDE, prior=HEAD_2, head=HEAD_3).sha256,
    "receipt/unchanged": advance_receipt(SIDE, prior=HEAD_3, head=HEAD_3).sha256,
    "conflicts": conflicts(),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_has_the_known_digest(name: str) -> None:
    assert MADE[name] == DIGESTS[name]


def test_the_contract_is_the_published_one() -> None:
    assert CONTRACT_SHA256 == "8c1fda3b665cd7ead76ff082c1bba414c2e56063cb0c3fa893f6c1386f825048"


@pytest.mark.parametrize("name", DIGESTS)
def test_a_known_text_is_read_and_written_to_its_own_bytes(name: str) -> None:
    assert text_of(parse(TEXTS[name])) == TEXTS[name].encode()
    assert sha256_hex(TEXTS[name]) == DIGESTS[name] == digest_of(parse(TEXTS[name]))


def test_the_heads_are_the_known_ones() -> None:
    made = {"canonical1": HEAD_1, "canonical2": HEAD_2, "canonical3": HEAD_3, "working1": NOTES.head}
    assert {name: head.as_wire() for name, head in made.items()} == KNOWN["heads"]
    assert all(find_head(KNOWN["heads"][name]) == head for name, head in made.items())


def test_the_nomination_is_the_known_one() -> None:
    assert parse(NOMINATION.text) == KNOWN["nomination"]
    assert parse_nomination(KNOWN["nomination"]) == NOMINATION


@pytest.mark.parametrize("operation", [SEED, ADOPTION, LATER, REMEMBERED], ids=lambda o: o.operation_id)
def test_an_operation_is_read_from_its_own_bytes(operation: Operation) -> None:
    assert parse_operation(parse(operation.text)) == operation
    assert text_of(parse(operation.text)) == operation.text


def test_the_size_of_a_snapshot_is_counted_without_writing_it() -> None:
    sizes = [len(record.text) for record in (ADA, RENAMED, FACT)]
    assert snapshot_bytes(HEAD_3, sizes) == KNOWN["snapshot_bytes"]


def test_the_pure_modules_need_no_django() -> None:
    program = (
        "import sys, authority.nominations, authority.receipts, authority.local;"
        "sys.exit(any(name.split('.')[0] in ('django', 'celery', 'rest_framework') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

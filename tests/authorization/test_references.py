"""Ids that stand in a body or a query: each goes through the actor, like those of the URL.

Every text property of the document is listed here as plain text or as a reference; a new one fails until it is.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

import pytest

from memoryhub import ids, store_access, tenancy
from stores import history
from stores.models import MemoryVersion
from tests.answers import Answer
from tests.authorization.attempts import Attempt, attempt_on, without_request_id
from tests.authorization.conftest import Plots
from tests.authorization.plots import Plot
from tests.authorization.snapshots import snapshot_environment, undone
from tests.authorization.test_isolation import leaks
from tests.documented import EVERY_OPERATION, DocumentedOperation, documented_operations
from tests.world import unused_id


@dataclass(frozen=True)
class Reference:
    """What a property names: the victim's ways to be named by it, and a name that never was."""

    named_by: Callable[[Plot], list[str]]
    ghost: str


REFERENCES = {
    "environment": Reference(lambda plot: [plot.environment.wire_id], unused_id(ids.ENVIRONMENT)),
    "memory_store_id": Reference(lambda plot: [plot.store_id], unused_id(ids.MEMORY_STORE)),
    "storeId": Reference(lambda plot: [plot.store_id], unused_id(ids.MEMORY_STORE)),
    "memoryId": Reference(lambda plot: [plot.memory_id], unused_id(ids.MEMORY)),
    "memory_id": Reference(lambda plot: [plot.memory_id], unused_id(ids.MEMORY)),
    "against": Reference(
        lambda plot: [plot.head_version_id, plot.old_version_id], unused_id(ids.MEMORY_VERSION)
    ),
    "subject_id": Reference(
        lambda plot: [plot.store_id, plot.memory_id, plot.key_id], unused_id(ids.MEMORY_STORE)
    ),
    "actor_id": Reference(lambda plot: [plot.key_id], unused_id(ids.API_KEY)),
    "deployment_id": Reference(lambda plot: [plot.deployment_id], unused_id(ids.DEPLOYMENT)),
    "resource": Reference(lambda plot: [plot.resource_id], "no-such-resource"),
    "recordId": Reference(lambda plot: [plot.memory_record_id], f"{ids.MEMORY_RECORD}_{'f' * 24}"),
    "id": Reference(lambda plot: [plot.memory_record_id], f"{ids.MEMORY_RECORD}_{'f' * 24}"),
    "api_key_id": Reference(lambda plot: [plot.key_id], unused_id(ids.API_KEY)),
}
PLAIN_TEXT = {
    "agent": "the name of an agent, within the environment of the request",
    "author": "a text of the caller's own",
    "issuer": "the name of a principal, within the environment of the request",
    "occurred_at": "a time",
    "subject": "the name of a principal, within the environment of the request",
    "tags": "texts of the caller's own",
    "thread": "a text of the caller's own",
    "user": "a name in the export that is imported",
    "acknowledge_endpoint_change": "names of resources that the manifest declares",
    "action": "the name of an audit action",
    "authorityId": "a name of the caller's own",
    "nominationId": "the name of a route, looked up in the authority of the URL",
    "realmId": "a name of the caller's own",
    "spaceId": "a name of the caller's own",
    "operation": "a digest, looked up in the space of the URL",
    "from_operation": "a digest, looked up in the space of the URL",
    "through_operation": "a digest, looked up in the space of the URL",
    "agent_id": "the name of an agent; its alias is looked up as an environment is",
    "allowed_origins": "origins of the caller's own choice",
    "call_id": "a name of the caller's own, within the request of the URL",
    "client_request_id": "a name of the caller's own, within the session of the URL",
    "at": "a time",
    "contains": "a text to look for, in what the actor may see",
    "content": "the text of a memory",
    "content_sha256": "a digest; searched for only in what the actor may see",
    "created_at[gte]": "a time",
    "created_at[lte]": "a time",
    "depth": "a choice",
    "description": "a text of the caller's own",
    "document_id": "the name of a document of the resource that is named beside it",
    "event_types": "names of events that the documentation lists",
    "since": "a time",
    "url": "an address of the caller's own choice",
    "email": "an address of the caller's own choice",
    "expected_content_sha256": "a digest that is compared",
    "expected_last_heartbeat": "a time that is compared",
    "expected_name": "a name that is compared",
    "expires_at": "a time",
    "instructions": "a text of the caller's own",
    "metadata": "texts of the caller's own",
    "mode": "a choice",
    "name": "a text of the caller's own",
    "page": "a cursor: sealed with its list, tests/hostile tries foreign ones",
    "path": "a path in the store of the URL",
    "path_prefix": "a path in the store of the URL",
    "query": "words to look for, in what the actor may see",
    "reason": "a text of the caller's own",
    "service_account_id": "compared with the author of versions in the store of the URL; there are none yet",
    "session_id": "compared with the author of versions in the store of the URL; of work: looked up as one in a URL is",
    "state": "a choice",
    "summary": "a text of the caller's own",
    "text": "a text of the caller's own",
    "title": "a text of the caller's own",
    "type": "the name of an event of the caller's own",
    "use": "names of memories that the session of the URL binds",
    "value": "a secret of the caller's own",
    "view": "a choice",
}


def properties(operation: DocumentedOperation) -> Iterator[tuple[str, str]]:
    """("query" or "body", dotted name) of each text property."""
    for name, schema in operation.query_schemas.items():
        if schema.get("type") == "string" and "enum" not in schema:
            yield "query", name
    for name in operation.body_strings:
        yield "body", name


def last_word(name: str) -> str:
    return name.rpartition(".")[2].removesuffix("[]")


def test_every_text_of_the_document_is_plain_or_a_reference() -> None:
    unlisted = {
        f"{operation.name}: {place} {name}"
        for operation in documented_operations()
        for place, name in properties(operation)
        if last_word(name) not in REFERENCES.keys() | PLAIN_TEXT.keys()
    }
    assert unlisted == set()


@EVERY_OPERATION
def test_a_foreign_reference_is_answered_like_one_that_never_was(
    plots: Plots, operation: DocumentedOperation
) -> None:
    for attacker in (plots.other_environment, plots.other_project):
        assert reference_findings(operation, plots.mine, attacker) == []


def test_a_missing_lookup_is_found(plots: Plots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "require_stores", lambda environment_id, grants: None)
    monkeypatch.setattr(tenancy, "get_environment", lambda name, *, actor: plots.mine.environment)
    monkeypatch.setattr(history, "versions_of", lambda store, with_content: MemoryVersion.objects.all())
    named = {operation.name: operation for operation in documented_operations()}
    for name in ("api_keys.create", "memory_stores.create", "memory_versions.diff"):
        assert reference_findings(named[name], plots.mine, plots.other_environment), name


def reference_findings(operation: DocumentedOperation, victim: Plot, attacker: Plot) -> list[str]:
    """What tells a reference to the victim's things from one to nothing, or reaches them."""
    attempt, findings = attempt_on(operation, attacker), []
    for place, name in properties(operation):
        reference = REFERENCES.get(last_word(name))
        if reference is None:
            continue
        aim = f"{place} {name}"
        own = _tried(referring(attempt, place, name, reference.named_by(attacker)[0]), attacker)
        if own.status != operation.status:
            findings.append(f"VACUOUS: {aim}: {own.content[:200]!r}")
        ghost = _tried(referring(attempt, place, name, reference.ghost), attacker)
        for real_id in reference.named_by(victim):
            real = _tried(referring(attempt, place, name, real_id), attacker, victim, findings)
            findings += leaks(real.headers, real.content, victim, aim)
            if without_request_id(real) != without_request_id(ghost):
                findings.append(f"{aim}: {real.content[:200]!r} is not {ghost.content[:200]!r}")
    return findings


def _tried(
    attempt: Attempt, attacker: Plot, victim: Plot | None = None, findings: list[str] | None = None
) -> Answer:
    """The answer to the attacker's admin key; what it did is undone, and rows of the victim that changed are found."""
    before = snapshot_environment(victim.environment) if victim else None
    with undone():
        answer = attempt.made_by(attacker.callers["admin"])
        if victim and findings is not None and snapshot_environment(victim.environment) != before:
            findings.append(f"{attempt.operation.name}: rows of the victim changed")
    return answer


def referring(attempt: Attempt, place: str, name: str, wire_id: str) -> Attempt:
    """The attempt with one property naming something."""
    if place == "query":
        return attempt.sending(query=attempt.seed.query | {name: wire_id})
    body = deepcopy(attempt.seed.body) or {}
    first, _, rest = name.partition(".")
    if rest:
        outer = first.removesuffix("[]")
        inner = next(iter(body.get(outer, [])), {}) | {rest: wire_id}
        body[outer] = [inner] if first.endswith("[]") else {rest: wire_id}
    else:
        body[first] = wire_id
    if attempt.operation.name == "api_keys.create" and rest:
        body["scopes"] = ["agent"]  # the only keys that name stores
    return attempt.sending(body=body)

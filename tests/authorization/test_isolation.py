"""What belongs to another project, environment or store does not exist: no effect, no content and no hint of it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from uuid import UUID

import pytest

from memoryhub import keys
from memoryhub.models import ApiKey
from providers.views import ProjectMemoryView
from stores import freezes, memories, memory_stores
from stores.models import Memory, MemoryStore
from stores.views import StoreView
from tests.authorization.attempts import GHOSTS, Attempt, attempt_on, id_parameters, without_request_id
from tests.authorization.conftest import Plots
from tests.authorization.credentials import CREDENTIALS, Credential
from tests.authorization.plots import Plot
from tests.authorization.snapshots import (
    Snapshot,
    snapshot_environment,
    snapshot_project,
    snapshot_store,
    undone,
)
from tests.documented import EVERY_OPERATION, DocumentedOperation, documented_operations
from tests.world import Caller

STORE_IDS = frozenset({"store_id", "memory_id", "version_id"})
SESSION_IDS = frozenset({"session_id", "request_id", "tool_call_id", "operation_id", "token_id"})
ENDPOINT_IDS = frozenset({"endpoint_id", "credential_id", "partition_id", "record_id", "item_id"})
AUTHORITY_IDS = frozenset({"space_id", "authority_id", "call_id", "receipt_sha256", "nomination_sha256"})
ENVIRONMENT_IDS = (
    STORE_IDS
    | SESSION_IDS
    | ENDPOINT_IDS
    | AUTHORITY_IDS
    | {
        "environment_id",
        "key_id",
        "deployment_id",
        "secret_id",
        "webhook_id",
        "delivery_id",
        "effect_id",
        "write_id",
        "work_id",
    }
)
PROJECT_IDS = ENVIRONMENT_IDS | {"project_id", "member_id", "invitation_id"}


WORLDS = ("another project", "another environment", "another store")


@dataclass(frozen=True)
class World:
    """Who attacks from where, and which ids of the victim's are foreign to him."""

    name: str
    victim: Plot
    attacker: Plot
    foreign: frozenset[str]
    kinds: list[Credential]

    def snapshot(self) -> Snapshot:
        """The victim's rows that are foreign to the attacker."""
        if self.name == WORLDS[0]:
            return snapshot_project(self.victim.tenant.project)
        if self.name == WORLDS[1]:
            return snapshot_environment(self.victim.environment)
        return snapshot_store(self.victim.store_key)

    @property
    def callers(self) -> dict[str, Caller]:
        return {kind.kind: self.attacker.callers[kind.kind] for kind in self.kinds}

    @property
    def leader(self) -> dict[str, Caller]:
        """The one that may do most."""
        kind = "admin" if "admin" in self.callers else "agent read_write"
        return {kind: self.callers[kind]}


def make_world(name: str, plots: Plots) -> World:
    everyone = list(CREDENTIALS.values())
    inside = [kind for kind in everyone if not kind.whole]
    agents = [kind for kind in inside if kind.access]
    worlds = (
        World(WORLDS[0], plots.mine, plots.other_project, PROJECT_IDS, everyone),
        World(WORLDS[1], plots.mine, plots.other_environment, ENVIRONMENT_IDS, inside),
        World(WORLDS[2], plots.mine, plots.beside, STORE_IDS, agents),
    )
    return next(world for world in worlds if world.name == name)


@pytest.fixture
def world(request: pytest.FixtureRequest, plots: Plots) -> World:
    return make_world(request.param, plots)


def test_every_id_of_a_url_is_foreign_to_another_project() -> None:
    assert set(GHOSTS) == PROJECT_IDS


EVERY_STORE_OPERATION = pytest.mark.parametrize(
    "operation",
    [operation for operation in documented_operations() if "store_id" in operation.parameters("path")],
    ids=lambda operation: operation.name,
)
EVERY_WORLD = pytest.mark.parametrize("world", WORLDS, indirect=True)


@EVERY_WORLD
@EVERY_OPERATION
def test_a_foreign_thing_is_answered_like_one_that_never_was(
    world: World, operation: DocumentedOperation
) -> None:
    assert foreign_findings(operation, world) == []


@EVERY_WORLD
@EVERY_OPERATION
def test_what_names_nothing_foreign_shows_and_changes_nothing_foreign(
    world: World, operation: DocumentedOperation
) -> None:
    assert own_findings(operation, world) == []


@EVERY_WORLD
@EVERY_STORE_OPERATION
def test_the_state_of_a_foreign_store_is_no_hint(world: World, operation: DocumentedOperation) -> None:
    victim, callers = world.victim, world.leader
    pairs = list(foreign_pairs(operation, world))
    memory_stores.freeze_store(victim.store_id, actor=victim.tenant.actor)
    freezes.freeze_memory(victim.store_id, victim.memory_id, actor=victim.tenant.actor)
    memory_stores.archive_store(victim.store_id, actor=victim.tenant.actor)
    assert [line for pair in pairs for line in compare(pair, callers, victim)] == []


def test_a_missing_project_filter_is_found(plots: Plots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_stores, "visible_stores", lambda actor: MemoryStore.objects.all())
    expected = {"memory_stores.get", "memory_stores.list", "memories.list", "memory_stores.delete"}
    assert operations_with_findings(expected, WORLDS[0], plots) == expected


def test_a_missing_environment_filter_is_found(plots: Plots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        keys, "_visible_keys", lambda actor: ApiKey.objects.filter(project_id=actor.project_id)
    )
    expected = {"api_keys.get", "api_keys.list", "api_keys.rotate", "api_keys.revoke"}
    assert operations_with_findings(expected, WORLDS[1], plots) == expected


def test_a_missing_store_filter_is_found(plots: Plots, monkeypatch: pytest.MonkeyPatch) -> None:
    def any_store(*, store_id: UUID, id: UUID) -> Memory | None:
        return Memory.objects.select_related("head").filter(id=id).first()

    everywhere = SimpleNamespace(row=any_store)
    monkeypatch.setattr(memories, "_with_id", {False: everywhere, True: everywhere})
    assert operations_with_findings({"memories.get"}, WORLDS[2], plots) == {"memories.get"}


def test_an_answer_that_says_more_than_not_found_is_found(
    plots: Plots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StoreView, "require_visible", lambda view, actor: None)
    expected = {"memories.update", "memories.create", "memory_stores.update"}
    assert operations_with_findings(expected, WORLDS[0], plots) == expected


def test_a_foreign_project_before_ones_own_things_is_found(
    plots: Plots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectMemoryView, "require_place", lambda view, actor: None)
    expected = {"memory_resources.list", "memory_documents.list", "memory_documents.get"}
    assert operations_with_findings(expected, WORLDS[0], plots) == expected


def operations_with_findings(names: set[str], world_name: str, plots: Plots) -> set[str]:
    """Those of the operations named that the matrix finds fault with."""
    world = make_world(world_name, plots)
    tried = [operation for operation in documented_operations() if operation.name in names]
    found = set()
    for operation in tried:
        with undone():
            if foreign_findings(operation, world) or own_findings(operation, world):
                found.add(operation.name)
    return found


def foreign_findings(operation: DocumentedOperation, world: World) -> list[str]:
    """All that tells the victim's things from things that never were, or that changed."""
    callers, leading = world.callers, world.leader
    before = snapshot_project(world.victim.tenant.project)
    findings = []
    for pair in foreign_pairs(operation, world):
        findings += compare(pair, callers, world.victim)
        for spoilt in spoil(pair):
            findings += compare(spoilt, leading, world.victim)
    if snapshot_project(world.victim.tenant.project) != before:
        findings.append("rows of the victim changed")
    return findings


@dataclass(frozen=True)
class Pair:
    """The same request for the victim's thing and for one that never was.

    `refusals`: in his own store a caller may be told first that he may not write to it.
    """

    aim: str
    real: Attempt
    ghost: Attempt
    refusals: tuple[int, ...] = (404,)


def foreign_pairs(operation: DocumentedOperation, world: World) -> Iterator[Pair]:
    """The victim's URL; the victim's outer id before the attacker's own; and the attacker's with each inner id of the victim's."""
    named = [name for name in id_parameters(operation) if name in world.foreign]
    attempt = attempt_on(operation, world.victim)
    if named:
        yield Pair("the victim's URL", attempt, attempt.aimed_at(**{named[0]: GHOSTS[named[0]]}))
        own = attempt_on(operation, world.attacker)
        lost = own.aimed_at(**{named[0]: attempt.ids[named[0]]})
        yield Pair(f"foreign {named[0]}, own rest", lost, own.aimed_at(**{named[0]: GHOSTS[named[0]]}))
    for inner in named[1:]:
        mine = attempt.aimed_at(**{named[0]: own.ids[named[0]]})
        yield Pair(
            f"own {named[0]}, foreign {inner}", mine, mine.aimed_at(**{inner: GHOSTS[inner]}), (404, 403)
        )


def spoil(pair: Pair) -> Iterator[Pair]:
    """The same pair with something wrong about the request, that must not be noticed before the id."""
    spoilt = {
        "unknown body field": {"body": {"no_such_field": 1}, "raw": None},
        "not JSON": {"raw": b"{"},
        "not an object": {"raw": b"[]"},
        "another content type": {"raw": b"x=1", "content_type": "text/csv"},
        "no body": {"raw": b"", "body": None},
        "bad query": {
            "query": {
                "limit": "0",
                "page": "page_x",
                "view": "none",
                "depth": "9",
                "expected_content_sha256": "",
            }
        },
        "stale": _staleness(pair.real),
    }
    for name, changes in spoilt.items():
        yield Pair(
            f"{pair.aim}, {name}", pair.real.sending(**changes), pair.ghost.sending(**changes), pair.refusals
        )


def _staleness(attempt: Attempt) -> dict[str, object]:
    stale = "0" * 64
    body = attempt.seed.body
    if isinstance(body, dict) and "precondition" in body:
        body = body | {"precondition": {"type": "content_sha256", "content_sha256": stale}}
    return {
        "body": body,
        "query": attempt.seed.query | {"expected_content_sha256": stale},
        "headers": attempt.seed.headers | {"If-Match": f'"{stale}"', "If-None-Match": "*"},
    }


def compare(pair: Pair, callers: dict[str, Caller], victim: Plot) -> list[str]:
    findings = []
    for kind, call in callers.items():
        real, ghost = pair.real.made_by(call), pair.ghost.made_by(call)
        if real.status not in pair.refusals:
            findings.append(f"{kind}, {pair.aim}: {real.status} {real.content[:150]!r}")
        if without_request_id(real) != without_request_id(ghost):
            findings.append(f"{kind}, {pair.aim}: {real.content[:150]!r} is not {ghost.content[:150]!r}")
        findings += leaks(real.headers, real.content, victim, f"{kind}, {pair.aim}")
    return findings


def leaks(headers: dict[str, str], content: bytes, victim: Plot, who: str) -> list[str]:
    shown = content + repr(headers).encode()
    return [f"{who}: {secret.decode()} in the answer" for secret in victim.secrets if secret in shown]


def own_findings(operation: DocumentedOperation, world: World) -> list[str]:
    """What a request of the attacker's own shows or changes of the victim's, also one that asks for its texts."""
    attempt = attempt_on(operation, world.attacker)
    curious = attempt_on(operation, replace(world.attacker, canary=world.victim.canary))
    curious = curious.sending(path=attempt.seed.path)
    callers, findings = world.callers, []
    before = world.snapshot()
    for kind, call in callers.items():
        with undone():
            answer = attempt.made_by(call)
            findings += leaks(answer.headers, answer.content, world.victim, kind)
            if operation.rights.writes and answer.status < 300 and world.snapshot() != before:
                findings.append(f"{kind}: rows of the victim changed")
        if curious != attempt:
            with undone():
                answer = curious.made_by(call)
                found = leaks(answer.headers, answer.content, world.victim, f"{kind}, curious")
                findings += [line for line in found if world.victim.canary not in line]
    return findings

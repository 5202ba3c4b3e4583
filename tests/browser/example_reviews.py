"""Reviewed memory of the example project: nominations in each state, a pin that is behind, receipts, a conflict, a call without an outcome."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.db.transaction import atomic

from authority import agent, authorities, host_calls, host_runs, reviews, spaces
from authority.authorities import Lane, Options
from authority.bindings import ProfileKind
from authority.canonical import parse
from authority.graph import Put, make_record
from authority.models import Authority, HostCall, Space
from authority.ports import Commit
from authority.turns import HeldTurn
from memoryhub.actors import Actor

ENVIRONMENT = "production"
KINDS: tuple[ProfileKind, ProfileKind] = ("canonical", "working")
REVIEWED = {
    "fact:opening-hours": "The counter is open from 9:00 to 17:00.",
    "fact:delivery": "Orders before noon are delivered the next day.",
    "policy:returns": "Unused goods go back within 30 days.",
}
NOTED = {
    "fact:opening-hours": "The counter is open from 8:00 to 18:00, on Saturdays to 13:00.",
    "fact:delivery": "Orders before 14:00 are delivered the next day.",
    "fact:gate": "Large deliveries come in by gate 3.",
    "fact:parking": "Trailers park behind hall 2.",
    "fact:discount": "Boatyards get 5 percent from 20 engines on.",
    "policy:returns": "Unused goods go back within 60 days.",
}
type Add = Callable[..., None]


class Desk:
    """One authority, written by the verbs. `say`: what a record's value is made of."""

    def __init__(
        self, name: str, actor: Actor, *, say: Callable[[str], Any] = lambda text: {"text": text}
    ) -> None:
        self.actor, self.say, self.name = actor, say, name
        self.canonical, self.working = (self._make_space(kind) for kind in KINDS)
        self.commit(*REVIEWED.items())
        routes = [{"destinationPurpose": "kb.support", "nominationId": "review"}]
        head = Space.objects.get(id=self.canonical.id).head.as_wire()
        canonical, working = _lane(self.canonical), _lane(self.working)
        options = Options(canonical, working, "agent.support", "reviewer.support", head, [], routes)
        self.authority = authorities.create_authority(options, actor=actor)

    def _make_space(self, kind: ProfileKind) -> Space:
        return spaces.create_space(
            f"{self.name}.{kind}",
            realm_id="tenant:harbor",
            profile_kind=kind,
            authority_id=f"{self.name}.{kind}",
            environment=ENVIRONMENT,
            actor=self.actor,
        )

    def commit(self, *texts: tuple[str, str]) -> None:
        """Of another writer of the reviewed memory."""
        changes = tuple(Put(make_record(key, "fact", self.say(text), [])) for key, text in texts)
        head = Space.objects.get(id=self.canonical.id).head
        wanted = Commit("importer.crm", f"op_n{uuid4().hex}", changes, head.reference, None, 67_108_864)
        spaces.commit_to_space(self.canonical.wire_id, wanted, actor=self.actor)

    def note(self, *texts: tuple[str, str], dependencies: list[str] | None = None) -> None:
        puts = [
            {"dependencies": dependencies or [], "key": key, "kind": "fact", "v": 1, "value": self.say(text)}
            for key, text in texts
        ]
        head = Space.objects.get(id=self.working.id).head
        expected = {"generation": head.sequence, "operationSha256": head.operation_sha256}
        asked = {
            "expectedHead": expected,
            "puts": puts,
            "requestId": f"req.n{uuid4().hex}",
            "tombstones": [],
            "v": 1,
        }
        agent.remember(self.authority.wire_id, asked, actor=self.actor)

    def nominate(self, *roots: str) -> str:
        asked = {"nominationId": "review", "roots": list(roots), "v": 1}
        return agent.nominate(self.authority.wire_id, asked, actor=self.actor).sha256

    @property
    def pin(self) -> dict[str, Any]:
        return dict(Authority.objects.get(id=self.authority.id).pin.as_wire())

    def adopt(self, sha256: str, note: str = "", *, head: dict[str, Any] | None = None) -> HostCall:
        """With every claim that it needs, unless the head is another."""
        made = reviews.adopt_nomination(
            self.authority.wire_id,
            sha256,
            expected_head=head or self.pin,
            replacements=[],
            note=note,
            actor=self.actor,
        ).call
        assert made is not None
        return self.run(made)

    def run(self, call: HostCall) -> HostCall:
        host_runs.run_next(HeldTurn(self.authority.id, uuid4()))
        call.refresh_from_db()
        return call


def _lane(space: Space) -> Lane:
    return Lane(space.wire_id, space.authority_id, space.binding_sha256)


def review_memory(known: dict[str, list[str]], actor: Actor) -> None:
    """`known`: the ids of the example, to which these are added; the fullest first."""
    desk = Desk("harbor", actor)
    desk.note(*NOTED.items())
    desk.note(("fact:rates", "See the gate and the discount."), dependencies=["fact:discount", "fact:gate"])
    adopted = desk.nominate("fact:parking")
    receipt = desk.adopt(adopted, "Seen on site.")
    conflicted = desk.nominate("policy:returns")
    in_conflict = desk.adopt(conflicted, "Without its tick.")
    rejected = desk.nominate("fact:discount")
    reviews.reject_nomination(desk.authority.wire_id, rejected, note="Nobody agreed to it.", actor=actor)
    waiting = desk.nominate("fact:delivery", "fact:opening-hours", "fact:rates")
    unknown = desk.nominate("fact:gate")
    lost = _lose(desk, unknown)
    behind = _fall_behind(actor)
    failed = host_calls.submit_advance(
        desk.authority.wire_id,
        {"expectedHead": behind.pin, "nextHead": desk.pin, "v": 1},
        actor=actor,
    )
    known["authority_id"] = [desk.authority.wire_id, behind.authority.wire_id]
    known["nomination_sha256"] = [waiting, adopted, conflicted, rejected, unknown]
    known["call_id"] = [call.wire_id for call in (receipt, in_conflict, lost, desk.run(failed))]
    known["receipt_sha256"] = [str(receipt.receipt_sha256)]


def _lose(desk: Desk, sha256: str) -> HostCall:
    """A call whose worker ended."""
    made = reviews.adopt_nomination(
        desk.authority.wire_id, sha256, expected_head=desk.pin, replacements=[], note="", actor=desk.actor
    ).call
    assert made is not None
    HostCall.objects.filter(id=made.id).update(state="running")
    running = HostCall.objects.select_related("authority").get(id=made.id)
    with atomic():
        host_runs._end(running, state="failed", error=host_runs.UNKNOWN)
    return running


def _fall_behind(actor: Actor) -> Desk:
    """Another authority, whose reviewed memory went on."""
    desk = Desk("fleet", actor)
    desk.note(("fact:gate", "Large deliveries come in by gate 3."))
    desk.nominate("fact:gate")
    desk.commit(("fact:mooring", "Berth 4 is ours."))
    desk.commit(("fact:mooring", "Berths 4 and 5 are ours."), ("fact:crane", "The crane lifts 6 tons."))
    return desk


def hostile_reviews(known: dict[str, list[str]], tag: str, pack: str, actor: Actor) -> None:
    """Records whose values hold texts of a hostile kind, in names and in what they say; a decision that repeats them."""
    desk = Desk(
        f"hostile{tag}", actor, say=lambda text: {pack[:200]: text, "text": pack, "more": [pack, {"a": pack}]}
    )
    desk.note(*NOTED.items())
    adopted = desk.adopt(desk.nominate("fact:parking"), pack)
    waiting = desk.nominate("fact:delivery", "fact:gate")
    reviews.reject_nomination(desk.authority.wire_id, waiting, note=pack, actor=actor)
    known |= {
        "authority_id": [desk.authority.wire_id],
        "nomination_sha256": [waiting],
        "call_id": [adopted.wire_id],
        "receipt_sha256": [str(adopted.receipt_sha256)],
    }
    assert parse(host_calls.find_receipt(adopted).body)  # type: ignore[union-attr]

"""The REST doors: what an agent, a host and a stranger get, and bodies that are read strictly."""

import json
import threading
import time
from typing import Any

import pytest
from django.db import connection

from authority import call_answers, host_runs
from authority.canonical import digest_of, parse
from authority.graph import EMPTY_HEAD
from authority.models import Authority, HostCall
from memoryhub import wakeups
from memoryhub.operations import OPERATIONS
from tests.answers import Answer
from tests.authority.doubles import entity
from tests.world import Caller, Tenant


class Desk:
    """An authority made over the wire, and callers of each kind."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.admin, self.host, self.agent = tenant.call(), tenant.caller("host"), tenant.caller("agent")
        self.canonical, self.working = self.make_space("canonical"), self.make_space("working")
        self.commit(self.canonical, entity("seed"))
        made = self.admin("POST", "/v1/authorities", self.options())
        assert made.status == 200, made.body
        self.authority_id = made.body["id"]
        self.url = f"/v1/authorities/{self.authority_id}"

    def make_space(self, kind: str) -> dict[str, Any]:
        body = {
            "spaceId": f"door.{kind}",
            "realmId": "realm:door",
            "profileKind": kind,
            "authorityId": f"label.{kind}",
        }
        made = self.admin("POST", "/v1/spaces", body)
        assert made.status == 200, made.body
        return dict(made.body)

    def head(self, space: dict[str, Any]) -> dict[str, Any]:
        return dict(self.host("GET", f"/v1/spaces/{space['id']}/head").body)

    def commit(self, space: dict[str, Any], *records: Any, **more: Any) -> Answer:
        head = self.head(space)
        changes = [{"kind": "put", "record": parse(record.text), "v": 1} for record in records]
        body = {
            "actorId": "writer.door",
            "changes": changes,
            "expectedHead": {"operationSha256": head["operationSha256"], "sequence": head["sequence"]},
            "operationId": f"op_n{head['sequence'] + 1}",
            "v": 1,
        }
        return self.host("POST", f"/v1/spaces/{space['id']}/commit", {**body, **more})

    def options(self) -> dict[str, Any]:
        lanes = {
            name: {
                "authorityId": space["authorityId"],
                "bindingSha256": space["binding"]["bindingSha256"],
                "space": space["id"],
            }
            for name, space in (("canonical", self.canonical), ("working", self.working))
        }
        return {
            **lanes,
            "actorId": "agent.door",
            "adoptionActorId": "reviewer.door",
            "expectedHead": self.head(self.canonical),
            "routes": [{"destinationPurpose": "kb.review", "nominationId": "review"}],
            "v": 1,
        }

    def remember(self, key: str, text: str = "text") -> Answer:
        head = self.head(self.working)
        put = {"dependencies": [], "key": key, "kind": "note", "v": 1, "value": {"text": text}}
        body = {
            "expectedHead": {"generation": head["sequence"], "operationSha256": head["operationSha256"]},
            "puts": [put],
            "requestId": f"req.{key}",
            "tombstones": [],
            "v": 1,
        }
        return self.agent("POST", f"{self.url}/agent/remember", body)

    def nominate(self, *roots: str) -> Answer:
        body = {"nominationId": "review", "roots": list(roots), "v": 1}
        return self.agent("POST", f"{self.url}/agent/nominate", body)

    def query(self) -> Answer:
        bindings = {"keyPrefix": None, "kind": None, "lane": None}
        body = {"bindings": bindings, "continuation": None, "programId": "memory.records", "v": 2}
        return self.agent("POST", f"{self.url}/agent/query", body)

    @property
    def pin(self) -> dict[str, Any]:
        return dict(self.host("GET", self.url).body["pin"])

    def adopt(self, nomination_sha256: str, **more: Any) -> Answer:
        body = {"expectedCanonicalHead": self.pin, "nominationSha256": nomination_sha256, "v": 1}
        return self.host("POST", f"{self.url}/host/adopt", body, **more)

    def drain(self) -> None:
        host_runs.drain(
            Authority.objects.get(canonical__space_id="door.canonical", project=self.tenant.project).id
        )


@pytest.fixture
def desk(committed: Tenant) -> Desk:
    return Desk(committed)


def test_from_a_note_to_reviewed_memory(desk: Desk) -> None:
    assert desk.remember("note:a").body["status"] == "committed"
    nomination = desk.nominate("note:a").body
    listed = desk.host("GET", f"{desk.url}/nominations").body["data"]
    assert [(row["nominationSha256"], row["state"]) for row in listed] == [
        (nomination["nominationSha256"], "pending")
    ]
    answer = desk.adopt(nomination["nominationSha256"])
    assert (answer.status, answer.body["state"], answer.body["ordinal"]) == (202, "queued", 1)
    url = answer.headers["location"]
    assert desk.host("GET", url).body == answer.body
    desk.drain()
    ended = desk.host("GET", url).body
    receipt = ended["receipt"]
    assert (ended["state"], receipt["status"], ended["error"]) == ("succeeded", "adopted", None)
    fields = {name: value for name, value in receipt.items() if name != "receiptSha256"}
    assert receipt["receiptSha256"] == digest_of(fields)
    assert desk.host("GET", f"{desk.url}/receipts/{receipt['receiptSha256']}").body == receipt
    seen = desk.query().body
    assert [(row["lane"], row["key"]) for row in seen["rows"]] == [
        ("canonical", "note:a"),
        ("working", "note:a"),
        ("canonical", "seed"),
    ]
    asked = {
        "pageRow": 0,
        "resultSha256": seen["resultSha256"],
        "token": seen["explainCapability"]["token"],
        "v": 2,
    }
    explained = desk.agent("POST", f"{desk.url}/agent/explain", asked).body
    assert explained["provenance"]["actorId"] == "reviewer.door"
    state = desk.host("GET", desk.url).body
    assert (state["distance"], state["queuedCalls"], state["pin"]) == (0, 0, state["storeHead"])
    assert desk.host("GET", f"{desk.url}/nominations").body["data"][0]["state"] == "adopted"
    assert desk.admin("POST", f"/v1/spaces/{desk.canonical['id']}/verify").body["isIntact"] is True


def test_a_snapshot_and_a_page_of_changes_are_those_of_their_heads(desk: Desk) -> None:
    first = desk.head(desk.canonical)
    desk.commit(desk.canonical, entity("seed", "Other"))
    url = f"/v1/spaces/{desk.canonical['id']}"
    query = {"sequence": 1, "operation": first["operationSha256"]}
    old = desk.host("GET", f"{url}/snapshot", query=query).body
    assert (old["head"], old["records"][0]["value"]) == (first, {"name": "Name"})
    assert desk.host("GET", f"{url}/snapshot").body["head"] == desk.head(desk.canonical)
    page = desk.host("GET", f"{url}/changes", query={"from_sequence": 0, "limit": 1}).body
    assert (len(page["operations"]), page["hasMore"]) == (1, True)
    wrong = desk.host("GET", f"{url}/snapshot", query={"sequence": 1, "operation": "f" * 64})
    assert (wrong.status, wrong.body["error"]["details"]["error_code"]) == (409, "head_conflict")


def test_who_prefers_to_wait_gets_the_outcome(desk: Desk) -> None:
    desk.remember("note:a")
    sha256 = desk.nominate("note:a").body["nominationSha256"]
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                desk.drain()
                stop.wait(0.02)
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        waited = {"headers": {"Prefer": "respond-async, wait=20"}}
        answer = desk.adopt(sha256, **waited)
        assert (answer.status, answer.body["receipt"]["status"]) == (200, "adopted")
        desk.remember("seed")
        conflict = desk.adopt(desk.nominate("seed").body["nominationSha256"], **waited)
        assert (conflict.status, conflict.body["error"]["type"]) == (409, "adoption_conflict_error")
        assert conflict.headers["x-should-retry"] == "false"
        details = conflict.body["error"]["details"]
        assert (details["error_code"], details["conflict"]["totalConflicts"]) == ("adoption_conflict", 1)
    finally:
        stop.set()
        worker.join(30)


def test_a_wait_that_ends_too_early_and_a_full_house_answer_202(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"expectedHead": desk.pin, "nextHead": desk.pin, "v": 1}
    began = time.monotonic()
    answer = desk.host("POST", f"{desk.url}/host/advance", body, headers={"Prefer": "wait=1"})
    assert answer.status == 202
    assert 1 <= time.monotonic() - began < 10
    monkeypatch.setattr(wakeups, "_places", threading.BoundedSemaphore(1))
    assert wakeups._places.acquire(blocking=False)
    began = time.monotonic()
    answer = desk.host("POST", f"{desk.url}/host/advance", body, headers={"Prefer": "wait=20"})
    assert (answer.status, answer.body["ordinal"]) == (202, 2)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("preference", "seconds"),
    [("wait=5", 5), ("wait=90", 25), ("respond-async, wait=3", 3), ("", 0), ("wait=-1", 0), ("await=5", 0)],
)
def test_a_preference_is_read(preference: str, seconds: int) -> None:
    assert call_answers.wait_seconds(preference) == seconds


def test_an_agent_reaches_four_calls_and_nothing_else(desk: Desk) -> None:
    mine = {
        name
        for name, row in OPERATIONS.items()
        if "agent" in row.scopes
        and name.partition(".")[0] in ("spaces", "authorities", "host_calls", "receipts", "nominations")
    }
    assert mine == {
        "authorities.remember",
        "authorities.query",
        "authorities.explain",
        "authorities.nominate",
    }
    body = {"expectedHead": desk.pin, "nextHead": desk.pin, "v": 1}
    for method, path in (
        ("GET", desk.url),
        ("POST", f"{desk.url}/host/advance"),
        ("POST", f"{desk.url}/host/adopt"),
        ("GET", f"{desk.url}/host/calls"),
        ("GET", f"{desk.url}/nominations"),
        ("DELETE", desk.url),
        ("GET", f"/v1/spaces/{desk.working['id']}/snapshot"),
        ("POST", f"/v1/spaces/{desk.working['id']}/commit"),
        ("POST", f"/v1/spaces/{desk.working['id']}/purge"),
    ):
        assert desk.agent(method, path, body if method == "POST" else None).status == 403, path
    assert not HostCall.objects.filter(authority__project=desk.tenant.project).exists()
    assert desk.host("POST", f"{desk.url}/agent/remember", {}).status == 403


BODIES = [
    b'{"expectedHead":{},"expectedHead":{},"nextHead":{},"v":1}',
    b'{"expectedHead":-0,"nextHead":{},"v":1}',
    b'{"expectedHead":1e400,"nextHead":{},"v":1}',
    b'{"expectedHead":NaN,"nextHead":{},"v":1}',
    b'{"expectedHead":"\\ud800","nextHead":{},"v":1}',
    b'{"expectedHead":"\\u0000","nextHead":{},"v":1}',
    b'{"expectedHead":{},"nextHead":{},"v":true}',
    b'{"expectedHead":{},"nextHead":{},"v":1,"extra":1}',
    b"[1]",
    b"{",
    b"\xff",
    b"",
]


@pytest.mark.parametrize("raw", BODIES, ids=repr)
def test_a_body_that_cannot_be_hashed_is_refused_at_once(desk: Desk, raw: bytes) -> None:
    answer = desk.host("POST", f"{desk.url}/host/advance", raw=raw)
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
    assert not HostCall.objects.filter(authority__project=desk.tenant.project).exists()


def test_bounds_of_bodies(desk: Desk) -> None:
    long = json.dumps({"expectedHead": "x" * 90_000, "nextHead": {}, "v": 1}).encode()
    answer = desk.host("POST", f"{desk.url}/host/advance", raw=long)
    assert (answer.status, answer.body["error"]["type"]) == (413, "request_too_large")
    deep = b'{"expectedHead":' + b"[" * 200 + b"]" * 200 + b',"nextHead":{},"v":1}'
    assert desk.host("POST", f"{desk.url}/host/advance", raw=deep).status == 400
    # More than Django's own limit of small bodies.
    big = desk.remember("note:big", "x" * 1_040_000)
    assert big.status == 200, big.body


def test_what_is_foreign_does_not_exist(desk: Desk, stranger: Tenant) -> None:
    theirs = stranger.call()
    for method, path in (
        ("GET", desk.url),
        ("POST", f"{desk.url}/host/advance"),
        ("POST", f"{desk.url}/agent/remember"),
        ("GET", f"/v1/spaces/{desk.canonical['id']}/snapshot"),
    ):
        assert theirs(method, path, {} if method == "POST" else None).status == 404
    other = Caller(desk.tenant.production_key)
    assert other("GET", desk.url).status == 404


def test_a_commit_over_its_own_bound_says_both_sizes(desk: Desk) -> None:
    answer = desk.commit(desk.canonical, entity("other"), maximumOperationBytes=1)
    details = answer.body["error"]["details"]
    assert (answer.status, details["error_code"]) == (422, "memoryhub.operation-size.v1")
    assert details["operationBytes"] > details["maximumOperationBytes"] == 1
    assert desk.head(desk.canonical)["sequence"] == 1


def test_a_purged_memory_answers_410_with_its_receipt(desk: Desk) -> None:
    desk.remember("note:a")
    sha256 = desk.nominate("note:a").body["nominationSha256"]
    answer = desk.admin("POST", f"/v1/spaces/{desk.working['id']}/purge", {"expectedSequence": 1})
    assert answer.status == 200
    gone = desk.query()
    assert (gone.status, gone.body["error"]["details"]["error_code"]) == (410, "space_purged")
    assert gone.body["error"]["details"]["receipt"] == answer.body["purge"]
    call = desk.adopt(sha256)
    desk.drain()
    error = desk.host("GET", call.headers["location"]).body["error"]
    assert (error["name"], error["code"]) == ("PurgedSpaceError", "space_purged")
    assert desk.pin["sequence"] == 1


def test_an_empty_authority_can_be_made(desk: Desk) -> None:
    space = desk.admin(
        "POST",
        "/v1/spaces",
        {"spaceId": "empty", "realmId": "r", "profileKind": "canonical", "authorityId": "empty"},
    ).body
    assert space["head"] == EMPTY_HEAD.as_wire()

"""The authority's four calls as tools."""

import pytest

from authority.canonical import parse
from authority.models import Nomination, Space
from memoryhub.actors import RecordScope
from tests.authority.desk import Reviewed, make_reviewed
from tests.authority.doubles import entity
from tests.mcp.conftest import Desk
from tests.mcp.live import Agent

PROGRAM = {
    "maximumPageBytes": 65_536,
    "maximumRows": 10,
    "order": "key",
    "pageSize": 2,
    "parameters": ["prefix"],
    "programId": "notes",
    "purpose": "test",
    "searchConfig": "simple",
    "v": 2,
    "where": [{"field": "key", "operand": {"parameter": "prefix"}, "operator": "prefix"}],
}


@pytest.fixture
def reviewed(desk: Desk) -> Reviewed:
    return make_reviewed(desk.tenant, work=(entity("note:a", "A"),), programs=[PROGRAM])


@pytest.fixture
def agent(desk: Desk, reviewed: Reviewed) -> Agent:
    return desk.agent("")


def test_an_agent_remembers_asks_why_and_nominates(agent: Agent, reviewed: Reviewed) -> None:
    names = {"authority_remember", "authority_query", "authority_explain", "authority_nominate"}
    assert agent.tools().keys() == names
    head = Space.objects.get(id=reviewed.working.id).head
    put = {
        "key": "note:b",
        "kind": "note",
        "value": {"text": "Deploy before noon."},
        "dependencies": ["note:a"],
        "v": 1,
    }
    request = {
        "requestId": "req.one",
        "expectedHead": {"generation": head.sequence, "operationSha256": head.operation_sha256},
        "puts": [put],
        "tombstones": [],
    }
    receipt = agent.give("authority_remember", **request)
    assert agent.give("authority_remember", **request) == receipt  # sent again
    page = agent.give("authority_query", programId="notes", bindings={"prefix": "note:"})
    assert [row["key"] for row in page["rows"]] == ["note:a", "note:b"]
    why = agent.give(
        "authority_explain",
        token=page["explainCapability"]["token"],
        resultSha256=page["resultSha256"],
        pageRow=1,
    )
    assert why["row"]["key"] == "note:b"
    nominated = agent.give("authority_nominate", nominationId="review", roots=["note:b"])
    [waiting] = Nomination.objects.filter(authority=reviewed.authority)
    assert waiting.nomination_sha256 == nominated["nominationSha256"]


def test_a_stale_head_is_refused_with_the_contracts_code(agent: Agent, reviewed: Reviewed) -> None:
    refused = agent.refuse(
        "authority_remember",
        requestId="req.two",
        expectedHead={"generation": 0, "operationSha256": None},
        puts=[],
        tombstones=[{"key": "note:a", "priorSha256": "0" * 64, "v": 1}],
    )
    assert (refused["type"], refused["details"]["error_code"]) == ("conflict_error", "head_conflict")


def test_which_of_several_must_be_said(desk: Desk, agent: Agent, reviewed: Reviewed) -> None:
    second = make_reviewed(desk.tenant, programs=[PROGRAM])
    asked = {"programId": "notes", "bindings": {"prefix": None}}
    refused = agent.refuse("authority_query", **asked)
    assert refused["type"] == "invalid_request_error"
    assert all(one.authority.wire_id in refused["message"] for one in (reviewed, second))
    chosen = agent.give("authority_query", authority_id=reviewed.authority.wire_id, **asked)
    assert "note:a" in [row["key"] for row in chosen["rows"]]


def test_without_an_authority_its_tools_are_not_there(desk: Desk) -> None:
    assert not any(name.startswith("authority_") for name in desk.agent().tools())


def test_the_first_request_may_be_of_eight_mebibytes_and_no_other(desk: Desk, agent: Agent) -> None:
    """What is too large for any other tool reaches the verb, which judges it."""
    large = {"text": "x" * 2_000_000}
    put = {"key": "note:c", "kind": "note", "value": large, "dependencies": [], "v": 1}
    head = {"generation": 0, "operationSha256": None}
    refused = agent.refuse(
        "authority_remember", requestId="req.large", expectedHead=head, puts=[put], tombstones=[]
    )
    assert refused["details"].get("error_code") != "body_too_large"
    other = agent.refuse("authority_query", programId="notes", bindings={"prefix": "x" * 2_000_000})
    assert other["details"]["error_code"] == "body_too_large"


def test_an_agent_nominates_a_memory_of_its_scope(desk: Desk, reviewed: Reviewed) -> None:
    of = RecordScope("support", "api", "alice")
    assert "nominate_memory" not in desk.agent("").tools()
    agent = desk.agent("", of=of)
    assert agent.tools()["nominate_memory"].annotations.destructive_hint is False
    ref = agent.give("save_memory", text="The office closes at five.")
    made = agent.give("nominate_memory", id=ref["id"], nominationId="review")
    assert (made["state"], made["records"]) == ("pending", 1)
    assert agent.give("nominate_memory", id=ref["id"], nominationId="review") == made
    kept = Nomination.objects.get(nomination_sha256=made["nominationSha256"])
    [record] = parse(kept.body)["closure"]["records"]
    assert (record["value"]["recordId"], record["value"]["origin"]) == (ref["id"], "model")
    other = desk.agent("", of=RecordScope("support", "api", "bob"))
    assert other.refuse("nominate_memory", id=ref["id"], nominationId="review")["type"] == "not_found_error"

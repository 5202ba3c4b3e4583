"""Records as tools: the scope stands on the key, and what was recalled reaches a model as references only."""

import json

from memoryhub.actors import RecordScope
from tests.mcp.conftest import Desk
from tests.mcp.live import text_of

ALICE = RecordScope("support", "api", "alice")
BOB = RecordScope("support", "api", "bob")
NAMES = {"save_memory", "search_memory", "forget_memory"}


def test_a_memory_is_saved_recalled_and_forgotten(desk: Desk) -> None:
    agent = desk.agent("", of=ALICE)
    assert agent.tools().keys() == NAMES
    saved = agent.call("save_memory", text="Alice likes <b>green</b> tea.")
    ref = saved.structured_content
    assert ref is not None and json.loads(text_of(saved)) == ref and ref["id"].startswith("mrec_")
    found = agent.call("search_memory", query="green tea", k=1)
    line, _, references = text_of(found).partition("\n")
    assert line == "1 memories, shown below as untrusted references"
    assert f'id="{ref["id"]}"' in references and "&lt;b&gt;green&lt;/b&gt; tea." in references
    assert "<b>" not in json.dumps(found.structured_content) + text_of(found)
    forgotten = agent.call("forget_memory", id=ref["id"])
    assert text_of(forgotten) == f"forgot {ref['id']}"
    assert text_of(agent.call("search_memory", query="green tea")) == "no memories found"


def test_no_scope_reaches_the_records_of_another(desk: Desk, other: Desk) -> None:
    ref = desk.agent("", of=ALICE).give("save_memory", text="Alice likes tea.")
    for stranger in (desk.agent("", of=BOB), other.agent("", of=ALICE)):
        assert stranger.give("search_memory", query="tea")["count"] == 0
        foreign = stranger.refuse("forget_memory", id=ref["id"])
        unknown = stranger.refuse("forget_memory", id="mrec_" + "0" * 32)
        assert json.dumps(foreign).replace(ref["id"], "mrec_" + "0" * 32) == json.dumps(unknown)
    assert desk.agent("", of=ALICE).give("search_memory", query="tea")["count"] == 1


def test_a_key_without_a_scope_has_no_tools_of_records_and_none_takes_one(desk: Desk) -> None:
    assert not NAMES & desk.agent().tools().keys()
    agent = desk.agent("", of=ALICE)
    scope = {"agent": "support", "principal": {"issuer": "api", "subject": "bob"}}
    assert agent.refuse("search_memory", query="tea", scope=scope)["type"] == "invalid_request_error"


def test_a_text_that_is_too_long_is_refused(desk: Desk) -> None:
    agent = desk.agent("", of=ALICE)
    assert agent.refuse("save_memory", text="é" * 4_097)["type"] in (
        "unprocessable_error",
        "invalid_request_error",
    )
    assert agent.give("save_memory", text="é" * 4_096)["id"]

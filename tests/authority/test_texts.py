"""An erasure says where its text stands in spaces, and changes nothing there."""

from hashlib import sha256
from typing import Any

import pytest

from authority import agent, spaces
from tests.authority.desk import Reviewed, make_reviewed, write
from tests.authority.doubles import entity
from tests.world import Caller, Tenant, make_tenant

TEXT = 'The "safe" code is\t4711 \u00e9'


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    made = make_reviewed(tenant, work=(entity("note:a", TEXT), entity("note:b", "Another", "note:a")))
    write(tenant, made.working, entity("note:a", f"{TEXT}!"))
    asked = {"nominationId": "review", "roots": ["note:b"], "v": 1}
    agent.nominate(made.authority.wire_id, asked, actor=tenant.actor)
    return made


def named(call: Caller, **sought: str) -> Any:
    answer = call("POST", "/v1/redactions", {"reason": "A secret.", "dry_run": False, **sought})
    assert answer.status == 200, answer.content
    return answer.body["elsewhere"]["spaces"]


def test_a_text_in_versions_and_nominations_is_counted(reviewed: Reviewed, call: Caller) -> None:
    kept = {"id": reviewed.working.wire_id, "space": reviewed.working.space_id, "profile_kind": "working"}
    assert named(call, contains=TEXT) == [kept | {"records": 2, "nominations": 1}]
    whole = sha256(TEXT.encode()).hexdigest()
    assert named(call, content_sha256=whole) == [kept | {"records": 1, "nominations": 0}]
    assert named(call, contains="4712") == []
    assert spaces.verify_space(reviewed.working.wire_id, actor=reviewed.actor)[1] == []


def test_reviewed_memory_is_named_too(reviewed: Reviewed, call: Caller) -> None:
    write(reviewed.tenant, reviewed.canonical, entity("note:a", TEXT))
    found = {one["profile_kind"]: one["records"] for one in named(call, contains=TEXT)}
    assert found == {"canonical": 1, "working": 2}


def test_another_project_and_a_purged_space_hold_nothing(reviewed: Reviewed, call: Caller) -> None:
    make_reviewed(make_tenant(), work=(entity("note:a", TEXT),))
    assert {one["id"] for one in named(call, contains=TEXT)} == {reviewed.working.wire_id}
    spaces.purge_space(reviewed.working.wire_id, expected_sequence=2, actor=reviewed.actor)
    assert [(one["records"], one["nominations"]) for one in named(call, contains=TEXT)] == [(0, 1)]

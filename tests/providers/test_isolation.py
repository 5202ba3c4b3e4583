"""No read across resources, documents or environments, whatever their names. Sibling names, property-based."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryhub.errors import NotFound, RevisionConflict
from memoryhub.pagination import ListRequest
from providers import documents
from tests.providers.desk import Desk
from tests.world import Tenant

IDS = [
    "a",
    "ab",
    "a_b",
    "a-b",
    "A",
    "aB",
    "a%",
    "a.",
    "a b",
    "á",
    "a\u0301",
    "_",
    "-",
    "a/b",
    "..",
    "%",
    "a\\",
    "А",
]
SIBLINGS = st.lists(st.sampled_from(IDS), min_size=1, max_size=6, unique=True)


@given(names=SIBLINGS, asked=st.sampled_from(IDS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_name_reaches_its_own_document_and_no_other(desk: Desk, names: list[str], asked: str) -> None:
    made = {name: name for name in names if _put(desk, name)}
    held = set(_list(desk, "playbook"))
    assert set(made) <= held
    if asked in held:
        assert desk.get(asked).id == asked
        assert desk.get(asked).text == f"Text of {asked}"
    else:
        with pytest.raises(NotFound):
            desk.get(asked)


def _put(desk: Desk, name: str) -> bool:
    try:
        desk.put(name, text=f"Text of {name}", title=name)
    except RevisionConflict:
        return True  # an earlier example made it
    except Exception as error:
        assert getattr(error, "error_code", None) == "document_path_invalid"
        return False
    return True


def _list(desk: Desk, resource_id: str) -> list[str]:
    wanted = ListRequest("memory_documents", {}, 100, None)
    page = documents.list_documents(desk.environment, resource_id, wanted, actor=desk.actor)
    return [document.id for document in page.rows]


def test_the_same_ids_in_another_resource_environment_and_project_are_others(
    desk: Desk, stranger: Tenant
) -> None:
    desks: list[tuple[Desk, dict[str, Any]]] = [(desk, {}), (desk, {"resource_id": "other"})]
    desk.declare("other")
    elsewhere = Desk(desk.tenant)
    elsewhere.environment = desk.tenant.production.wire_id
    elsewhere.declare()
    foreign = Desk(stranger)
    foreign.declare()
    desks += [(elsewhere, {}), (foreign, {})]
    for number, (one, where) in enumerate(desks):
        one.put(text=f"Text {number}", **where)
    for number, (one, where) in enumerate(desks):
        assert one.get(**where).text == f"Text {number}"
        assert _list(one, where.get("resource_id", "playbook")) == ["team-a"]

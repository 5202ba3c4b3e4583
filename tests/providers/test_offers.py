"""What a model is offered, and which resource its call means. Contract, sections 7.2 and 9."""

from typing import Any

import pytest

from providers.declarations import parse_manifest
from providers.offers import (
    DOCUMENT_TOOLS,
    UNNAMED,
    BoundResource,
    choose_target,
    find_collision,
    known_tools,
    offer_tools,
)
from tests.providers.manifests import SCHEMA, document_resource, http_resource, manifest, tool

SAVE_SCHEMA = DOCUMENT_TOOLS[0].input


def bound(
    *resources: dict[str, Any], scope: str = "namespace", is_writable: bool = True
) -> list[BoundResource]:
    declared = parse_manifest(manifest(*resources)).resources
    return [BoundResource(one, scope, is_writable) for one in declared.values()]


def test_a_tool_is_offered_under_its_prefix_when_its_resource_is_selected() -> None:
    both = bound(http_resource("a"), http_resource("b"))
    assert list(offer_tools(both, ["a", "b"])) == ["memory_remember"]
    assert list(offer_tools(both, ["a"])["memory_remember"].targets) == ["a"]
    assert offer_tools(both, []) == {}


def test_a_binding_that_only_reads_is_offered_only_what_reads() -> None:
    resource = http_resource(tools=[tool("keep"), tool("search", access="read")])
    assert list(offer_tools(bound(resource, is_writable=False), ["knowledge"])) == ["memory_search"]
    assert list(offer_tools(bound(resource), ["knowledge"])) == ["memory_keep", "memory_search"]


@pytest.mark.parametrize(
    ("scope", "is_writable", "names"),
    [
        ("document", True, ["memory_save"]),
        ("document", False, []),
        ("collection", False, ["memory_list", "memory_read"]),
    ],
)
def test_a_document_resource_offers_by_its_scope(scope: str, is_writable: bool, names: list[str]) -> None:
    documents = bound(document_resource(), scope=scope, is_writable=is_writable)
    assert list(offer_tools(documents, ["playbook"])) == names


def test_the_model_sees_memory_in_every_schema_and_must_choose_among_several() -> None:
    one = offer_tools(bound(http_resource("a")), ["a"])["memory_remember"].input_schema
    assert one["properties"]["memory"]["enum"] == ["a"]
    assert one["required"] == ["fact"]
    two = offer_tools(bound(http_resource("b"), http_resource("a")), ["a", "b"])[
        "memory_remember"
    ].input_schema
    assert two["properties"]["memory"]["enum"] == ["a", "b"]
    assert two["required"] == ["fact", "memory"]
    assert "memory" not in SCHEMA["properties"]


def test_bounds_on_properties_make_room_for_memory() -> None:
    schema = {
        "type": "object",
        "maxProperties": 1,
        "propertyNames": {"maxLength": 2},
        "additionalProperties": False,
    }
    seen = offer_tools(bound(http_resource(tools=[tool(input=schema)])), ["knowledge"])["memory_remember"]
    assert seen.input_schema["maxProperties"] == 2
    assert seen.input_schema["propertyNames"] == {"anyOf": [{"maxLength": 2}, {"const": "memory"}]}
    assert seen.input_schema["additionalProperties"] is False


def test_descriptions_of_several_targets_stand_under_each_other_and_tell_what_differs() -> None:
    plain = http_resource("a")
    repeatable = http_resource("b", tools=[tool(idempotent=True)])
    lines = offer_tools(bound(repeatable, plain), ["a", "b"])["memory_remember"].description.splitlines()
    assert [line.split(":")[0] for line in lines] == ["a", "b"]
    assert lines[0].startswith("a: What is known. — Keep a fact; recall sees it.")
    assert lines[0].endswith("(writes)")
    assert lines[1].endswith("(writes; repeating a call changes nothing more)")
    assert all("accepted means" in line for line in lines)
    same = offer_tools(bound(http_resource("a"), http_resource("b")), ["a", "b"])[
        "memory_remember"
    ].description
    assert "(writes)" not in same


@pytest.mark.parametrize(
    ("arguments", "resource_ids", "chosen"),
    [
        ({"fact": "x"}, ["a"], "a"),
        ({"fact": "x", "memory": "a"}, ["a"], "a"),
        ({"fact": "x", "memory": "b"}, ["a", "b"], "b"),
        ({"fact": "x"}, ["a", "b"], None),
        ({"fact": "x", "memory": "c"}, ["a", "b"], None),
        ({"fact": "x", "memory": 1}, ["a"], None),
        ({"fact": "x", "memory": None}, ["a"], None),
        ({"fact": "x", "memory": ["a"]}, ["a"], None),
    ],
)
def test_a_call_means(arguments: dict[str, Any], resource_ids: list[str], chosen: str | None) -> None:
    known = known_tools(bound(*map(http_resource, resource_ids)), resource_ids)["memory_remember"]
    found = choose_target(known, resource_ids, arguments.get("memory", UNNAMED))
    assert (found if isinstance(found, str) else found.resource_id) == (chosen or "not_bound")


def test_a_call_to_what_may_only_be_read_is_told_so() -> None:
    known = known_tools(bound(http_resource("a"), http_resource("b"), is_writable=False), ["a", "b"])
    assert choose_target(known["memory_remember"], ["a"], "b") == "read_only"
    assert choose_target(known["memory_remember"], [], UNNAMED) == "not_bound"
    alone = known_tools(bound(http_resource("a"), is_writable=False), ["a"])
    assert choose_target(alone["memory_remember"], [], UNNAMED) == "read_only"


def collision(*resources: dict[str, Any], ordinary: tuple[str, ...] = ()) -> str | None:
    return find_collision(parse_manifest(manifest(*resources)).resources.values(), ordinary)


def test_one_name_with_the_same_arguments_on_two_resources_is_one_tool() -> None:
    other = tool(input={"required": ["fact"], "properties": {"fact": {"type": "string"}}, "type": "object"})
    assert collision(http_resource("a"), http_resource("b", tools=[other])) is None


def test_one_name_with_other_arguments_collides() -> None:
    other = http_resource("b", tools=[tool(input={"type": "object"})])
    assert collision(http_resource("a"), other) == (
        "The tool memory_remember of b takes other arguments than that of a."
    )


@pytest.mark.parametrize("name", ["save", "read", "list"])
def test_a_document_resource_keeps_its_three_names(name: str) -> None:
    assert collision(document_resource(), http_resource(tools=[tool(name)]))
    assert collision(http_resource(tools=[tool(name)])) is None


def test_a_save_of_the_same_arguments_stands_beside_a_document() -> None:
    http = http_resource(tools=[tool("save", input=SAVE_SCHEMA)])
    assert collision(document_resource(), http) is None
    both = bound(document_resource(), scope="document") + bound(http)
    assert list(offer_tools(both, ["knowledge", "playbook"])["memory_save"].targets) == [
        "knowledge",
        "playbook",
    ]


def test_a_tool_of_the_agent_itself_collides_by_its_whole_name() -> None:
    assert collision(http_resource(), ordinary=("memory_remember",))
    assert collision(document_resource(), ordinary=("memory_list",))
    assert collision(http_resource(), ordinary=("remember", "memory_other")) is None

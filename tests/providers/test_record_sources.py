"""What other products export, read as records to be: nothing of a text is lost, and what is not taken is told."""

import json
import time
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.errors import InvalidRequest
from memoryhub.source_files import SourceFile, Unread
from providers.limits import IMPORT_DOCUMENT_VALUES_MAX, IMPORT_PART_BYTES, RECORD_TEXT_BYTES_MAX
from providers.record_sources import FORMATS
from providers.record_sources.frontmatter import FrontmatterError, read_note
from providers.record_sources.items import Candidate, Item, LeftOut, Refusal, Wishes, split_text


def read(source: str, *files: tuple[str, Any], user: str | None = None) -> list[Item]:
    """Contents that are no text are sent as JSON."""
    found = [
        SourceFile(name, BytesIO(given.encode() if isinstance(given, str) else json.dumps(given).encode()))
        for name, given in files
    ]
    return list(FORMATS[source].read(found, Wishes(user)))


def shown(item: Item) -> dict[str, Any]:
    """What a candidate says, without what is empty; what a refusal says."""
    if not isinstance(item, Candidate):
        return {"where": item.where} | ({"reason": item.reason} if isinstance(item, Refusal) else {})
    kept = {name: value for name, value in item.fields.items() if value and name != "provenance"}
    return {"where": item.where} | kept


def texts(items: list[Item]) -> list[str]:
    return [one.fields["text"] for one in items if isinstance(one, Candidate)]


# --- mem0 ---

MEM0 = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    "memory": "Likes to play cricket.",
    "user_id": "alex",
    "run_id": "run-7",
    "actor_id": "Alex",
    "categories": ["hobbies"],
    "created_at": "2024-07-20T01:30:36.275141-07:00",
    "metadata": {"food": "vegan"},
}


def test_mem0_says_who_when_and_in_which_run() -> None:
    for export in ([MEM0], {"results": [MEM0]}, {"memories": [MEM0]}):
        [item] = read("mem0", ("export.json", export))
        assert shown(item) == {
            "where": "export.json, memory 1",
            "text": "Likes to play cricket.",
            "thread": "run-7",
            "author": "Alex",
            "tags": ["hobbies"],
            "occurred_at": datetime(2024, 7, 20, 8, 30, 36, 275141, UTC),
        }


def test_mem0_relations_are_sentences() -> None:
    relation = {"source": "alex", "relationship": "plays", "target": "cricket"}
    found = {"source": "alex", "relationship": "lives_in", "destination": "pune"}
    items = read("mem0", ("e", {"results": [], "relations": [relation, found, {"source": "alex"}]}))
    assert texts(items) == ["alex plays cricket", "alex lives_in pune"]
    assert shown(items[2])["reason"].startswith("It is no relation")


def test_the_users_of_mem0_are_not_mixed_by_files_either() -> None:
    alice, bob = MEM0 | {"user_id": "alice"}, MEM0 | {"id": "2", "user_id": "bob"}
    with pytest.raises(InvalidRequest, match="memories of several users"):
        read("mem0", ("alice.json", [alice]), ("bob.json", [bob]))
    assert len(texts(read("mem0", ("alice.json", [alice]), ("more.json", [alice | {"id": "3"}])))) == 2


def test_the_users_of_mem0_are_never_mixed() -> None:
    export = [MEM0, MEM0 | {"id": "2", "user_id": "sam"}, MEM0 | {"id": "3", "user_id": None}]
    with pytest.raises(InvalidRequest, match="memories of several users") as refused:
        read("mem0", ("e", export))
    assert refused.value.error_code == "import_of_several_users"
    items = read("mem0", ("e", export), user="sam")
    assert [type(item) for item in items] == [LeftOut, Candidate, LeftOut]
    related = {"results": export, "relations": [{"source": "a", "relationship": "b", "target": "c"}]}
    assert len(read("mem0", ("e", related), user="sam")) == 3, "a relation says of nobody whose it is"


@pytest.mark.parametrize(
    ("memory", "reason"),
    [
        (7, "It is no object."),
        ({"id": "1"}, "It has no memory, which is its text."),
        (MEM0 | {"user_id": []}, "Its user_id is no text."),
        (MEM0 | {"user_id": 7}, "Its user_id is no text."),
        (MEM0 | {"created_at": "soon"}, "created_at: 'soon' is no time."),
        (MEM0 | {"created_at": 7}, "created_at: its time is not a text."),
    ],
)
def test_a_memory_of_mem0_that_cannot_be_read_is_told(memory: Any, reason: str) -> None:
    [item] = read("mem0", ("e", [memory]))
    assert shown(item) == {"where": "e, memory 1", "reason": reason}


# --- Letta ---

BLOCK = {"label": "human", "value": "The user is called Chad.", "created_at": "2025-03-01T10:00:00Z"}


@pytest.mark.parametrize(
    "export",
    [
        [BLOCK],
        {"agents": [{"block_ids": ["block-0"]}], "blocks": [BLOCK]},
        {"agent_type": "memgpt_agent", "core_memory": [BLOCK], "messages": []},
        {"memory": {"blocks": [BLOCK]}},
    ],
)
def test_letta_blocks_of_every_form(export: Any) -> None:
    [item] = read("letta", ("agent.af", export))
    assert shown(item)["where"].endswith("1 (human), part 1")
    assert shown(item) | {"where": ""} == {
        "where": "",
        "text": "The user is called Chad.",
        "title": "human",
        "thread": "human",
        "occurred_at": datetime(2025, 3, 1, 10, 0, tzinfo=UTC),
    }


def test_a_long_block_is_taken_in_parts_and_an_empty_one_told() -> None:
    paragraphs = [f"{number} " + "x" * 900 for number in range(5)]
    long = {"label": "notes", "value": "\n\n".join(paragraphs)}
    items = read("letta", ("a", [long, {"label": "empty", "value": " \n"}, {"label": "n"}, {"value": "v"}]))
    assert "\n\n".join(texts(items)) == long["value"] and len(texts(items)) == 3
    assert [shown(item)["reason"] for item in items[3:]] == [
        "Its value is empty.",
        "It is no block, with label and value, and no passage, with text.",
        "It has no label.",
    ]


def test_letta_passages() -> None:
    [item] = read("letta", ("p", {"passages": [{"id": "passage-1", "text": "A fact.", "tags": ["t"]}]}))
    assert shown(item) == {"where": "p, passage 1", "text": "A fact.", "tags": ["t"]}


# --- Basic Memory ---

NOTE = """---
title: Coffee Brewing Methods
type: note
tags: [coffee, brewing]
permalink: coffee-brewing-methods
created: 2024-05-01
author: Ann
---

# Coffee Brewing Methods

What I know of it.

## Observations
- [method] Pour over gives more clarity #taste
- [preference] Ethiopian beans work well (personal
  experience)
- [ ] buy a kettle
- plain item

## Relations
- relates_to [[Coffee Bean Origins]]
- [[Tea]] (contrast)

```
- [code] not an observation
```
"""


def test_a_note_of_basic_memory_is_taken_whole() -> None:
    items = read("basic_memory", ("coffee/brewing.md", NOTE))
    note = {
        "title": "Coffee Brewing Methods",
        "thread": "coffee-brewing-methods",
        "author": "Ann",
        "occurred_at": datetime(2024, 5, 1, tzinfo=UTC),
    }
    tags = ["coffee", "brewing"]
    where = "coffee/brewing.md, "
    assert list(map(shown, items)) == [
        note
        | {
            "where": where + "line 15",
            "text": "Pour over gives more clarity #taste",
            "tags": ["method", "taste", *tags],
        },
        note
        | {
            "where": where + "line 16",
            "text": "Ethiopian beans work well (personal\nexperience)",
            "tags": ["preference", *tags],
        },
        note
        | {
            "where": where + "line 22",
            "text": "Coffee Brewing Methods relates_to Coffee Bean Origins",
            "tags": tags,
        },
        note
        | {
            "where": where + "line 23",
            "text": "Coffee Brewing Methods relates_to Tea (contrast)",
            "tags": tags,
        },
        note
        | {
            "where": where + "text 1",
            "text": "# Coffee Brewing Methods\n\nWhat I know of it.\n\n## Observations\n"
            "- [ ] buy a kettle\n- plain item\n\n## Relations\n\n```\n- [code] not an observation\n```",
            "tags": tags,
        },
    ]


@pytest.mark.parametrize(("items", "blanks"), [(30, 8_000), (1, 100_000)])
def test_blanks_behind_the_target_of_a_relation_take_no_time(items: int, blanks: int) -> None:
    note = f"- is [[Tea]]{' ' * blanks}x\n- is [[Tea]] ({')' * blanks}x\n" * items
    started = time.process_time()
    found = read("basic_memory", ("n.md", note))
    assert time.process_time() - started < 1
    assert all(one.where.startswith("n.md, text") for one in found), "what is no relation is text"


@pytest.mark.parametrize("size", [RECORD_TEXT_BYTES_MAX, RECORD_TEXT_BYTES_MAX + 1])
def test_an_item_that_no_record_holds_is_taken_in_parts(size: int) -> None:
    items = read("basic_memory", ("n.md", f"- [a] {'x' * (size - len('[a] '))}\n"))
    assert (len(items) == 1) is (size == RECORD_TEXT_BYTES_MAX)


def test_headings_that_nothing_is_left_under_go() -> None:
    text = "Title\n=====\n\n## Observations\n\n- [a] one\n\n## More\n\n### Below\n\nkept\n"
    assert texts(read("basic_memory", ("n.md", text))) == ["one", "Title\n\n\n\n## More\n\n### Below\n\nkept"]
    assert texts(read("basic_memory", ("n.md", "# T\n\n- [a] one\n"))) == ["one"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.png", "x", {"where": "a.png", "reason": "It is no Markdown note."}),
        ("a.md", "\n", {"where": "a.md", "reason": "It holds no text."}),
        (
            "a.md",
            "---\na: [\n---\nx",
            {"where": "a.md, line 1", "reason": "Its frontmatter cannot be read: it is no YAML."},
        ),
    ],
)
def test_what_is_no_note_is_told(name: str, text: str, told: dict[str, str]) -> None:
    assert list(map(shown, read("basic_memory", (name, text)))) == [told]


# --- frontmatter ---


def test_frontmatter_is_read_as_texts() -> None:
    note = read_note("---\nn: 7\nd: 2024-01-01\nyes: yes\nl: [1, 2]\n---\nrest")
    assert note.facts == {"n": "7", "d": "2024-01-01", "yes": "yes", "l": ["1", "2"]}
    assert (note.text, note.lines_before) == ("rest", 6)
    assert read_note('---\ntags: "a, #b, a"\n---\n').tags == ["a", "b"]
    assert read_note("---\ncreated: soon\ndate: 2024-01-01\n---\n").occurred_at == datetime(
        2024, 1, 1, tzinfo=UTC
    )
    assert read_note("--- \nno end").text == "--- \nno end"


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &x [1]\nb: *x",
        "a: " + "[" * 9 + "]" * 9,
        "[" * 5_000,
        "- a list",
        "a: !!python/object:os.system x\n b: y",
        "a: " + "x" * 16_384,
    ],
)
def test_frontmatter_that_would_grow_is_refused(yaml: str) -> None:
    with pytest.raises(FrontmatterError):
        read_note(f"---\n{yaml}\n---\n")


# --- memory.json ---

ENTITY = {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Speaks Dutch.", "Skis."]}
RELATION = {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"}


def test_a_graph_is_read_line_by_line() -> None:
    lines = [json.dumps(ENTITY), "", json.dumps(RELATION), "{", '{"type": "other"}', '{"type": "entity"}']
    items = read("memory_json", ("memory.json", "\n".join(lines)))
    ann = {"title": "Ann", "thread": "Ann"}
    assert list(map(shown, items)) == [
        ann
        | {
            "where": "memory.json, line 1, observation 1",
            "text": "Speaks Dutch.",
            "tags": ["person"],
        },
        ann | {"where": "memory.json, line 1, observation 2", "text": "Skis.", "tags": ["person"]},
        ann | {"where": "memory.json, line 3", "text": "Ann works_at Acme"},
        {
            "where": "memory.json, line 4",
            "reason": "It is not valid JSON (line 1, column 2).",
        },
        {"where": "memory.json, line 5", "reason": "It is neither an entity nor a relation."},
        {
            "where": "memory.json, line 6",
            "reason": "It is no entity with name, entityType and observations.",
        },
    ]


def test_a_graph_as_one_object_gives_the_same_records() -> None:
    lines = read("memory_json", ("m", f"{json.dumps(ENTITY)}\n{json.dumps(RELATION)}"))
    graph = {"entities": [ENTITY], "relations": [{**RELATION, "type": "relation"}]}
    whole = read("memory_json", ("m", graph))
    assert [one.key for one in lines if isinstance(one, Candidate)] == [
        one.key for one in whole if isinstance(one, Candidate)
    ]
    assert len(whole) == 3


def test_an_entity_that_nothing_is_said_of_is_named() -> None:
    assert texts(read("memory_json", ("m", ENTITY | {"observations": []}))) == ["Ann: person"]
    [told] = read("memory_json", ("m", ENTITY | {"observations": [7]}))
    assert shown(told) == {"where": "m, line 1, observation 1", "reason": "It is no text."}


# --- texts ---


def test_a_text_file_is_a_thread_of_its_parts() -> None:
    text = "---\ntitle: Diary\n---\n" + "\n\n".join(f"{n} " + "x" * 1_500 for n in range(3)) + "\n"
    items = read("text", ("diary/may.txt", text))
    assert [shown(item)["where"] for item in items] == [f"diary/may.txt, part {n}" for n in (1, 2, 3)]
    assert {(shown(item)["title"], shown(item)["thread"]) for item in items} == {("Diary", "diary/may.txt")}


def test_what_only_looks_like_frontmatter_is_text() -> None:
    assert texts(read("text", ("a.md", "---\n- a list\n---\nrest"))) == ["---\n- a list\n---\nrest"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a\x00b", "é".encode("latin-1")])
def test_what_is_no_text_is_told(content: bytes) -> None:
    for source in ("text", "basic_memory"):
        [item] = FORMATS[source].read([SourceFile("a.md", BytesIO(content))], Wishes())
        assert shown(item) == {"where": "a.md", "reason": "It is not UTF-8 text."}


def test_a_mark_of_the_byte_order_is_no_text() -> None:
    [item] = FORMATS["text"].read([SourceFile("a", BytesIO(b"\xef\xbb\xbfx"))], Wishes())
    assert shown(item)["text"] == "x"


@given(st.text(alphabet=st.sampled_from("aé🙂 \n\r\t"), max_size=6_000))
def test_parts_leave_out_blank_lines_and_nothing_else(text: str) -> None:
    parts = split_text(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part.encode()) <= IMPORT_PART_BYTES and part.strip() for part in parts)


@pytest.mark.parametrize("size", [IMPORT_PART_BYTES, IMPORT_PART_BYTES + 1])
def test_a_part_has_its_limit(size: int) -> None:
    assert len(split_text("x" * size)) == 1 + (size > IMPORT_PART_BYTES)
    assert len(split_text("🙂" * (size // 4) + "x" * (size % 4))) == 1 + (size > IMPORT_PART_BYTES)


# --- of every source ---


@pytest.mark.parametrize("source", sorted(FORMATS))
def test_what_was_not_read_is_told(source: str) -> None:
    try:
        items = list(FORMATS[source].read([Unread("a", "It is a link.")], Wishes()))
    except InvalidRequest as error:
        pytest.fail(str(error))
    assert list(map(shown, items)) == [{"where": "a", "reason": "It is a link."}]


@pytest.mark.parametrize("source", ["mem0", "letta", "memory_json"])
@pytest.mark.parametrize(
    "content", [b"{", b'{"a": 1, "a": 2}', b"[" * 100 + b"]" * 100, b"\xff", b'"\\u0000"', b"7", b"{}"]
)
def test_json_is_read_strictly(source: str, content: bytes) -> None:
    items = list(FORMATS[source].read([SourceFile("a", BytesIO(content))], Wishes()))
    assert items and all(isinstance(one, Refusal) for one in items)


@pytest.mark.parametrize("source", ["mem0", "letta", "memory_json"])
def test_json_of_too_many_objects_is_refused_before_it_is_read(source: str) -> None:
    content = b'{"entities": [' + b"[],{}," * (IMPORT_DOCUMENT_VALUES_MAX // 2) + b"[]]}"
    [refused] = FORMATS[source].read([SourceFile("a", BytesIO(content))], Wishes())
    assert (
        isinstance(refused, Refusal) and refused.reason == "It holds more than 1,000,000 objects and lists."
    )


def test_the_same_source_gives_the_same_keys() -> None:
    for source, given_ in (("mem0", [MEM0]), ("letta", [BLOCK]), ("memory_json", ENTITY), ("text", "x")):
        first, again = read(source, ("a.md", given_)), read(source, ("a.md", given_))
        assert [one.key for one in first if isinstance(one, Candidate)] == [
            one.key for one in again if isinstance(one, Candidate)
        ]
        assert all(len(one.key.encode()) <= 256 for one in first if isinstance(one, Candidate))

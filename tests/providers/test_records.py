"""Remember, recall, forget over the built-in provider: what is kept, what is found, what is gone."""

from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from memoryhub import deletions, jobs
from memoryhub.actors import RecordScope
from memoryhub.errors import NotFound, Unprocessable
from memoryhub.models import AuditEvent
from memoryhub.ranking import QUESTION_LENGTH_MAX
from providers import held_records, record_search
from providers.contract import (
    Binding,
    MemoryRecord,
    Provenance,
    RecordRef,
    Scope,
    scope_of,
)
from providers.models import MemoryEffect, ProviderCall, RecordIndex, RecordStatistics, RecordTerm
from providers.models import MemoryRecord as RecordRow
from providers.record_names import record_id_of
from tests.providers.record_desk import ALICE, BOB, RecordDesk
from tests.providers.test_call_secrets import tables_with
from tests.providers.test_deletions import rows_of
from tests.world import Tenant


@pytest.fixture
def records(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


@pytest.mark.parametrize("record_id", ["\0", "mem_\0", "x"])
def test_an_id_that_no_record_has_is_not_found(records: RecordDesk, record_id: str) -> None:
    records.save("Tea.")
    with pytest.raises(NotFound):
        held_records.get_record(records.row().wire_id, record_id, actor=records.actor)


# --- types and names ---


@pytest.mark.parametrize(
    ("scope", "key", "wanted"),
    [
        (Scope("t1", "support", "api/alice"), "k1", "mrec_a7417dc3277fba6cdcfaf83c"),
        (Scope("t2", "support", "api/alice"), "k1", "mrec_861691a1b89659f8f3ae56df"),
    ],
)
def test_ids_are_those_of_the_contract(scope: Scope, key: str, wanted: str) -> None:
    assert record_id_of(scope, key) == wanted


def test_no_two_principals_share_a_scope() -> None:
    pairs = [("idp/a", "b"), ("idp", "a/b"), ("idp%2Fa", "b"), ("idp%252Fa", "b"), ("idp", "a%2Fb")]
    assert len({scope_of(*pair) for pair in pairs}) == len(pairs)
    assert scope_of("idp/a", "b") == "idp%2Fa/b" and scope_of("api", "alice") == "api/alice"


RECORD: dict[str, Any] = {
    "text": "Tea.",
    "origin": "user",
    "provenance": {"thread_id": "s", "event_ids": ["e"]},
    "binding": {"namespace": "ns", "record_id": "rec"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"text": ""},
        {"text": "x" * 8_193},
        {"text": "a\0b"},
        {"text": "\ud800"},
        {"text": 1},
        {"origin": "nobody"},
        {"unknown": 1},
        {"tags": "one"},
        {"tags": ["x"] * 17},
        {"thread": ""},
        {"occurred_at": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"binding": {"namespace": "ns"}},
        {"binding": {"namespace": "ns", "record_id": "rec", "more": 1}},
        {"provenance": {"thread_id": "s", "event_ids": "e"}},
        {"provenance": None},
    ],
)
def test_a_record_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        MemoryRecord.read(RECORD | change)


def test_a_record_is_read_back_from_its_wire_form() -> None:
    full = MemoryRecord(
        "Tea.",
        "user",
        Provenance("s", ("e",)),
        Binding("ns", "rec"),
        thread="t",
        author="Ann",
        title="Drinks",
        tags=("a", "b"),
        occurred_at=datetime(2026, 5, 8, 13, 56, tzinfo=UTC),
    )
    assert MemoryRecord.read(full.to_wire()) == full
    assert MemoryRecord.read(RECORD | {"text": "x" * 8_192}).text == "x" * 8_192
    bare = MemoryRecord.read(RECORD)
    assert set(bare.to_wire()) == {"text", "origin", "provenance", "binding"}
    assert bare.canonical() != full.canonical()
    with pytest.raises(AttributeError):
        bare.text = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        RecordRef.read({"id": 1, "version": "1"})


# --- writing ---


def test_a_save_is_one_record_with_its_trail(records: RecordDesk) -> None:
    saved = records.save("Alice drinks tea.", key="k1", thread="chat", author="Alice", tags=["drinks"])
    assert saved == record_id_of(records.scope(), "k1")
    row = RecordRow.objects.get(record_id=saved, scope=records.row())
    assert (row.text, row.origin, row.thread, row.author) == ("Alice drinks tea.", "host", "chat", "Alice")
    [effect] = MemoryEffect.objects.filter(scope=records.row())
    assert (effect.state, effect.payload, effect.tool) == ("done", None, "save_memory")
    assert effect.created_by_id == records.actor.actor_id
    [call] = ProviderCall.objects.filter(scope=records.row())
    assert (call.method, call.code) == ("remember", "ok") and call.duration_ms is not None
    [event] = AuditEvent.objects.filter(project=records.tenant.project, action="memory_record.saved")
    assert event.subject_id == saved and "tea" not in str(event.details)


def test_the_same_save_again_writes_nothing_but_a_line_of_the_log(records: RecordDesk) -> None:
    first = records.save("Tea.", key="k1")
    before = rows_of(records.tenant)
    assert records.save("Tea.", key="k1") == first
    changed = {table for table, count in rows_of(records.tenant).items() if count != before[table]}
    assert changed == {"providers_providercall"}


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Coffee."},
        {"text": "Tea.", "thread": "t"},
        {"text": "Tea.", "author": "Ann"},
        {"text": "Tea.", "title": "n"},
        {"text": "Tea.", "tags": ["x"]},
        {"text": "Tea.", "occurred_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_key_is_of_one_record(records: RecordDesk, other: dict[str, Any]) -> None:
    records.save("Tea.", key="k1")
    with pytest.raises(Unprocessable) as refused:
        records.save(key="k1", **other)
    assert refused.value.error_code == "invalid"
    assert records.find("tea coffee") == ["Tea."]


def test_a_forgotten_record_leaves_its_id_and_digests_and_nothing_of_its_text(records: RecordDesk) -> None:
    canary = "canary5de1"
    fields = {"thread": canary, "author": canary, "title": canary, "tags": [canary]}
    saved = records.save(f"It is {canary}.", key="k1", **fields)
    assert "providers_recordindex" in tables_with(canary)
    records.forget(saved)
    assert tables_with(canary) == []
    row = RecordRow.objects.get(record_id=saved, scope=records.row())
    assert row.forgotten_at is not None and row.key_sha256
    assert records.find(canary) == []
    assert records.save(f"It is {canary}.", key="k1", **fields) == saved, "a key is kept for ever"
    assert records.find(canary) == []
    with pytest.raises(Unprocessable):
        records.save("Another.", key="k1")


def test_what_is_not_in_the_scope_cannot_be_forgotten(records: RecordDesk) -> None:
    saved = records.save("Tea.")
    records.save("Coffee.", of=BOB)
    told = []
    for record_id, of in ((saved, BOB), ("mrec_" + "0" * 24, BOB), ("nothing", ALICE)):
        with pytest.raises(Unprocessable) as refused:
            records.forget(record_id, of=of, key=record_id)
        told.append(refused.value.message)
    assert len(set(told)) == 1 and records.find("tea") == ["Tea."]


def test_a_deleted_environment_takes_its_records_with_it(records: RecordDesk) -> None:
    records.save("Tea.", thread="t")
    records.find("tea")
    used = {table for table, count in rows_of(records.tenant).items() if count}
    assert {"providers_memoryrecord", "providers_recordindex", "providers_memoryeffect"} <= used
    deletions.delete_environment("development", expected_name="development", actor=records.actor)
    connection.check_constraints()
    left = {table for table, count in rows_of(records.tenant).items() if count and "providers_" in table}
    assert left == set()


# --- finding ---

IDENTIFIERS = {
    "ERR_CONN_4711": "The service failed with ERR_CONN_4711 last night.",
    "src/app/main_loop.py": "Look at src/app/main_loop.py before the release.",
    "main_loop.py": "Look at src/app/main_loop.py before the release.",
    "well-known": "The well-known folder holds the keys.",
    "ann.lee@mail.example.com": "Write to ann.lee@mail.example.com about it.",
    "parseConfigFile": "Call parseConfigFile() with no arguments.",
    "550e8400-e29b-41d4-a716-446655440000": "The order is 550e8400-e29b-41d4-a716-446655440000.",
    "検索": "全文検索の設定を確認する。",
    "咖啡": "用户喜欢喝咖啡。",
    "v2.13.1": "We pinned libfoo to v2.13.1 yesterday.",
    "std::vector": "Prefer std::vector over arrays.",
    "O'Brien": "O'Brien signs the contract.",
}


def test_exact_names_are_found_first(records: RecordDesk) -> None:
    for number, text in enumerate(dict.fromkeys(IDENTIFIERS.values())):
        records.save(text)
        records.save(f"Filler {number}: service order folder main keys call release contract source vector.")
    first = {query: records.find(query)[:1] for query in IDENTIFIERS}
    assert first == {query: [text] for query, text in IDENTIFIERS.items()}


def test_neighbours_in_a_thread_gain_and_an_author_who_is_named(records: RecordDesk) -> None:
    records.save("Where did you go for your holiday?", thread="one", author="Melanie")
    records.save("To a small village by the sea.", thread="one", author="Caroline")
    records.save("I like boats.", thread="two", author="Melanie")
    records.save("I like boats.", author="Caroline", tags=["again"])
    assert records.find("holiday")[:2] == [
        "Where did you go for your holiday?",
        "To a small village by the sea.",
    ]
    hits = records.recall("What boats does Caroline like?").hits
    rows = {row.record_id: row.author for row in RecordRow.objects.filter(scope=records.row())}
    assert rows[hits[0].id] == "Caroline"


def test_a_question_in_a_thread_stands_behind_what_answers_as_well(records: RecordDesk) -> None:
    records.save("Has the boat left the harbour?", thread="a")
    records.save("The boat has left the harbour.", thread="b")
    assert records.find("Has the boat left the harbour?") == [
        "The boat has left the harbour.",
        "Has the boat left the harbour?",
    ]


QUESTION_AT_MOST = f"{' '.join(f'word{number}' for number in range(QUESTION_LENGTH_MAX))}?"
QUESTIONS = [
    ("Where is the boat?", "talk", True),
    ("Where is the boat? \n", "talk", True),
    ("ボートはどこ？", "talk", True),
    (QUESTION_AT_MOST, "talk", True),
    (f"boats {QUESTION_AT_MOST}", "talk", False),
    ("Where is the boat?", None, False),
    ("Where is the boat? In the harbour.", "talk", False),
]


@pytest.mark.parametrize(("text", "thread", "is_one"), QUESTIONS)
def test_a_short_question_in_a_thread_is_one(
    records: RecordDesk, text: str, thread: str | None, is_one: bool
) -> None:
    records.save(text, thread=thread)
    [row] = RecordIndex.objects.filter(scope=records.row())
    assert row.is_question is is_one


def test_questions_of_an_older_hub_are_marked(records: RecordDesk) -> None:
    for number, (text, thread, _) in enumerate(QUESTIONS):
        records.save(text, thread=thread, key=f"k{number}")
    held = RecordIndex.objects.filter(scope=records.row())
    said = list(held.order_by("record_id").values_list("is_question", flat=True))
    held.update(is_question=False)
    migration = import_module("providers.migrations.0021_questions_in_threads").Migration
    with connection.cursor() as cursor:
        cursor.execute(migration.operations[1].sql)
    assert list(held.order_by("record_id").values_list("is_question", flat=True)) == said
    assert said == [is_one for _, _, is_one in QUESTIONS]


def test_titles_tags_and_dates_find_a_record(records: RecordDesk) -> None:
    records.save("See below.", title="Quarterly budget", tags=["finance"])
    records.save("We met.", occurred_at=datetime(2023, 5, 8, tzinfo=UTC))
    records.save("Something else.")
    assert records.find("budget") == ["See below."]
    assert records.find("finance") == ["See below."]
    assert records.find("8 May 2023") == ["We met."]


def test_a_query_of_stop_words_gives_the_newest_and_one_without_words_nothing(records: RecordDesk) -> None:
    for text in ("First.", "Second.", "Third."):
        records.save(text)
    assert records.find("who am I?", k=2) == ["Third.", "Second."]
    assert records.find("?!") == []


@pytest.fixture
def counted(records: RecordDesk, monkeypatch: pytest.MonkeyPatch) -> RecordDesk:
    """A scope that is large enough to be counted, and was."""
    monkeypatch.setattr(record_search, "COUNTED_ROWS_MIN", 1)
    asked: list[str] = []
    monkeypatch.setattr(jobs, "enqueue", lambda name, *ids: asked.extend(ids))
    for number in range(12):
        records.save(f"The garden has {number} apple trees.")
    records.save("A marmalade sandwich.")
    records.save("More marmalade for breakfast.")
    records.find("garden")
    assert asked == [records.row().id.hex]
    record_search.count_records(records.row().id)
    return records


def terms_of(records: RecordDesk) -> dict[str, int]:
    return dict(RecordTerm.objects.filter(scope=records.row()).values_list("term", "records"))


def test_a_counted_scope_is_found_in_as_before(counted: RecordDesk) -> None:
    assert terms_of(counted)["garden"] == 12 and terms_of(counted)["marmalad"] == 2
    statistics = RecordStatistics.objects.get(scope=counted.row())
    assert (statistics.records, statistics.counted_at is None) == (14, False)
    assert counted.find("marmalade garden", k=2) == ["More marmalade for breakfast.", "A marmalade sandwich."]
    counted.save("A zeppelin over the garden.")  # a word that was not counted yet
    assert counted.find("zeppelin", k=1) == ["A zeppelin over the garden."]


def test_a_typing_error_finds_the_word_that_is_meant(counted: RecordDesk) -> None:
    assert "A marmalade sandwich." in counted.find("marmalde", k=2)


def test_a_forgotten_word_is_counted_no_more(counted: RecordDesk) -> None:
    hits = counted.recall("marmalade", k=2).hits
    for number, hit in enumerate(hits):
        counted.forget(hit.id, key=f"f{number}")
    assert "marmalad" not in terms_of(counted) and terms_of(counted)["garden"] == 12
    [first] = counted.recall("garden", k=1).hits
    counted.forget(first.id, key="f3")
    assert terms_of(counted)["garden"] == 11


def test_a_scope_is_counted_again_when_it_has_grown(counted: RecordDesk) -> None:
    counted.save("One more garden.")
    record_search.count_records(counted.row().id)
    assert terms_of(counted)["garden"] == 12, "a fourteenth more is no reason"
    counted.save("And one more garden.")
    record_search.count_records(counted.row().id)
    assert terms_of(counted)["garden"] == 14


def test_a_scope_shows_nothing_of_another(records: RecordDesk) -> None:
    records.save("The code word is marmalade.")
    others = [BOB, RecordScope("billing", "api", "alice"), RecordScope("support", "ap", "i/alice")]
    for other in others:
        records.save("Nothing here.", of=other)
        assert records.find("The code word is marmalade.", of=other) == []
    assert RecordIndex.objects.filter(scope=records.row()).count() == 1

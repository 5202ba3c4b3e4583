"""The vector arm of recalls: what is found by meaning, what waits, what forgetting takes, and that without a backend nothing changes."""

import io
import threading
import uuid
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.transaction import atomic

from memoryhub.erasure import Sought, TextErasure
from memoryhub.errors import Unavailable
from providers import checks, nearest, record_search, record_vectors
from providers.embedding import BATCH_TEXTS_MAX, EmbeddingBackend, EmbeddingError, Vector, find_backend
from providers.models import MemoryRecord, RecordIndex, RecordScope, RecordVector
from providers.record_fusion import Candidate, fuse
from providers.record_texts import erase_text
from providers.session_serializers import tool_call_wire
from tests.providers.embeddings import PATH, Meanings, fail, vector_of
from tests.providers.record_desk import ALICE, BOB, RecordDesk
from tests.providers.record_sessions import RecordSessions
from tests.providers.test_records import IDENTIFIERS
from tests.world import Tenant


@pytest.fixture
def backend(settings: Any) -> Iterator[EmbeddingBackend]:
    settings.EMBEDDING_BACKEND = PATH
    made = find_backend()
    assert made is not None
    yield made
    Meanings.before = None


@pytest.fixture
def desk(tenant: Tenant, backend: EmbeddingBackend) -> RecordDesk:
    return RecordDesk(tenant)


def vectors_of(desk: RecordDesk) -> dict[str, RecordVector]:
    """By the texts of their records."""
    rows = RecordVector.objects.filter(scope__environment=desk.tenant.development).select_related("record")
    return {str(row.record.text): row for row in rows}


def let_claims_end(desk: RecordDesk) -> None:
    RecordVector.objects.filter(scope__environment=desk.tenant.development).update(claimed_until=None)


# --- scores ---


def test_scores_are_added_by_their_share() -> None:
    first, second, third = (uuid.UUID(int=number) for number in (1, 2, 3))
    fused = fuse(
        [
            Candidate(first, words=4.0, cosine=0.0, factor=1.0),
            Candidate(second, words=2.0, cosine=0.8, factor=1.0),
            Candidate(third, words=0.0, cosine=0.4, factor=1.5),
        ],
        share=0.25,
    )
    assert fused == [
        (first, 0.75),
        (second, pytest.approx(0.75 * 0.5 + 0.25)),
        (third, pytest.approx(1.5 * 0.25 * 0.5)),
    ]


def test_of_equal_scores_the_latest_is_first_and_what_is_opposite_counts_nothing() -> None:
    one, other = uuid.UUID(int=1), uuid.UUID(int=2)
    same = [Candidate(key, words=0.0, cosine=-0.5, factor=1.0) for key in (one, other)]
    assert fuse(same, share=0.5) == [(other, 0.0), (one, 0.0)]
    assert fuse([], share=0.5) == []


# --- finding ---


def test_a_record_is_found_by_what_it_means(desk: RecordDesk) -> None:
    desk.save("Tea in the morning.")
    desk.save("He went by car.")
    assert desk.find("Which beverage?") == []
    record_vectors.embed_records()
    assert desk.find("Which beverage?")[0] == "Tea in the morning."


def test_words_and_meaning_count_together(desk: RecordDesk, settings: Any) -> None:
    desk.save("A beverage list was printed.", title="Office")
    desk.save("Tea, a hot drink.")
    record_vectors.embed_records()
    settings.EMBEDDING_PERCENT = 0
    assert desk.find("beverage list")[0] == "A beverage list was printed."
    settings.EMBEDDING_PERCENT = 100
    assert desk.find("drink list")[0] == "Tea, a hot drink."


def test_a_named_author_and_a_question_count_for_what_is_near_too(desk: RecordDesk, settings: Any) -> None:
    desk.save("Tea.", thread="plain")
    desk.save("The tea.", thread="named", author="Ann")
    desk.save("Tea?", thread="asked")
    record_vectors.embed_records()
    settings.EMBEDDING_PERCENT = 100
    scores = {hit.text: hit.score for hit in desk.recall("Which beverage for Ann").hits}
    assert scores == {"The tea.": pytest.approx(1.5), "Tea.": pytest.approx(1), "Tea?": pytest.approx(0.75)}


def test_what_has_no_vector_yet_is_found_by_its_words(desk: RecordDesk) -> None:
    desk.save("Tea in the morning.")
    record_vectors.embed_records()
    desk.save("The beverage was cold.")
    assert set(desk.find("Which beverage?")) == {"The beverage was cold.", "Tea in the morning."}


def test_no_scope_sees_another_by_its_vectors(desk: RecordDesk) -> None:
    desk.save("Tea for Bob.", of=BOB)
    desk.save("A car.", of=ALICE)
    record_vectors.embed_records()
    assert desk.find("Which beverage?", of=ALICE) == ["A car."]


def test_while_the_backend_is_away_words_alone_rank(desk: RecordDesk) -> None:
    desk.save("Tea in the morning.")
    record_vectors.embed_records()
    Meanings.before = fail()
    assert desk.find("tea") == ["Tea in the morning."]
    assert desk.find("beverage") == []


@pytest.mark.parametrize("vector", [[1.0], [float("nan")] * 4, ["x"] * 4, None, KeyError("tea")])
def test_whatever_a_backend_does_with_a_query_words_rank(
    desk: RecordDesk, monkeypatch: pytest.MonkeyPatch, vector: Any
) -> None:
    desk.save("Tea in the morning.")
    record_vectors.embed_records()

    def embed_query(*_: Any) -> Any:
        if isinstance(vector, Exception):
            raise vector
        return vector

    monkeypatch.setattr(Meanings, "embed_query", embed_query)
    assert desk.find("Tea?") == ["Tea in the morning."]


def test_a_vector_of_another_length_is_compared_with_none(desk: RecordDesk) -> None:
    desk.save("Tea in the morning.")
    record_vectors.embed_records()
    [(_, score)] = record_search.rank_records(desk.row(), "Tea?", limit=5)
    ranked = record_search.rank_records(desk.row(), "Tea?", limit=5, vector=[1.0, 0.0])
    assert [found for _, found in ranked] == [score]


def test_a_search_of_a_session_asks_the_backend_once_and_before_its_transaction(desk: RecordDesk) -> None:
    notes = RecordSessions(desk.tenant)
    session = notes.open()
    request = notes.begin(session)
    notes.save(session, request, "Tea in the morning.")
    record_vectors.embed_records()
    outside, found_in = len(connection.atomic_blocks), []
    Meanings.before = lambda texts: found_in.append(len(connection.atomic_blocks) - outside)
    for _ in range(2):
        call = notes.search(session, request, "Which beverage?", call_id="c")
        assert [item["text"] for item in tool_call_wire(call)["items"]] == ["Tea in the morning."]
    assert found_in == [0]


def test_without_a_backend_nothing_is_kept_and_nothing_changes(desk: RecordDesk, settings: Any) -> None:
    settings.EMBEDDING_BACKEND = None
    desk.save("Tea in the morning.")
    assert vectors_of(desk) == {}
    before = [(hit.text, hit.score) for hit in desk.recall("tea").hits]
    settings.EMBEDDING_BACKEND = PATH
    assert [(hit.text, hit.score) for hit in desk.recall("tea").hits] == before, "it has no vectors"
    settings.EMBEDDING_BACKEND = None
    assert record_vectors.embed_records() == 0
    record_vectors.sweep_vectors()
    assert vectors_of(desk) == {}


def test_exact_names_are_found_first_with_a_real_model_too(desk: RecordDesk, settings: Any) -> None:
    settings.EMBEDDING_BACKEND = "providers.embedding.minilm.MiniLM"
    for number, text in enumerate(dict.fromkeys(IDENTIFIERS.values())):
        desk.save(text)
        desk.save(f"Filler {number}: service order folder main keys call release contract source vector.")
    record_vectors.embed_records()
    first = {query: desk.find(query)[:1] for query in IDENTIFIERS}
    assert first == {query: [text] for query, text in IDENTIFIERS.items()}


# --- making ---


def test_a_saved_record_waits_for_its_vector_and_gets_it(desk: RecordDesk) -> None:
    desk.save("Tea.", author="Ann", title="Breakfast")
    assert vectors_of(desk)["Tea."].vector is None
    seen: list[str] = []
    Meanings.before = seen.extend
    record_vectors.embed_records()
    row = vectors_of(desk)["Tea."]
    assert (row.model, row.dim, len(bytes(row.vector or b""))) == ("meanings", 4, 8)
    assert "Breakfast\nAnn: Tea." in seen


def test_more_than_a_batch_is_made(desk: RecordDesk) -> None:
    for number in range(BATCH_TEXTS_MAX + 1):
        desk.save(f"Tea {number}.")
    sizes: list[int] = []
    Meanings.before = lambda texts: sizes.append(len(texts))
    record_vectors.embed_records()
    assert max(sizes) == BATCH_TEXTS_MAX
    assert all(row.vector is not None for row in vectors_of(desk).values())


LONG = "He went by car. " * 40 + "Then there was tea. " + "The dog barked at a song. " * 39 + "The end."


def test_a_long_record_is_found_by_one_of_its_passages(desk: RecordDesk, settings: Any) -> None:
    """As one vector it would be of cars and dogs more than of tea."""
    settings.EMBEDDING_PERCENT = 100
    desk.save(LONG, author="Ann")
    desk.save("A drink while he had to drive a vehicle.")
    seen: list[str] = []
    Meanings.before = seen.extend
    record_vectors.embed_records()
    passages = [text for text in seen if text != "A drink while he had to drive a vehicle."]
    assert len(passages) == 4 and all(text.startswith("Ann: ") for text in passages)
    assert len(bytes(vectors_of(desk)[LONG].vector or b"")) == 4 * 8
    assert desk.find("Which music and pet?", k=1) == [LONG]
    assert desk.find("Which vehicle?", k=1) == [LONG]


def test_passages_of_many_records_go_in_batches_and_each_stays_with_its_record(desk: RecordDesk) -> None:
    for number in range(BATCH_TEXTS_MAX):
        desk.save(f"{LONG}{number}")
    desk.save("Tea.")
    sizes: list[int] = []
    Meanings.before = lambda texts: sizes.append(len(texts))
    assert record_vectors.embed_records() == BATCH_TEXTS_MAX + 1
    assert max(sizes) == BATCH_TEXTS_MAX
    rows = vectors_of(desk)
    lengths = {text: len(bytes(row.vector or b"")) for text, row in rows.items()}
    assert lengths.pop("Tea.") == 8 and set(lengths.values()) == {4 * 8}


def test_what_was_saved_before_the_backend_was_chosen_is_made_up_for(
    desk: RecordDesk, settings: Any, backend: EmbeddingBackend
) -> None:
    settings.EMBEDDING_BACKEND = None
    desk.save("Tea in the morning.")
    settings.EMBEDDING_BACKEND = PATH
    record_vectors.sweep_vectors()
    assert desk.find("Which beverage?") == ["Tea in the morning."]


def test_another_model_makes_all_vectors_anew_and_compares_no_old_one(
    desk: RecordDesk, settings: Any
) -> None:
    desk.save("Tea in the morning.")
    record_vectors.embed_records()
    settings.EMBEDDING_OPTIONS = '{"model": "other"}'
    assert desk.find("Which beverage?") == []
    record_vectors.sweep_vectors()
    assert vectors_of(desk)["Tea in the morning."].model == "other"
    assert desk.find("Which beverage?") == ["Tea in the morning."]


def test_what_the_backend_cannot_make_now_is_made_later(desk: RecordDesk) -> None:
    desk.save("Tea.")
    Meanings.before = fail()
    assert record_vectors.embed_records() == 0
    Meanings.before = None
    record_vectors.embed_records()
    assert vectors_of(desk)["Tea."].vector is None, "its claim has not ended"
    let_claims_end(desk)
    record_vectors.embed_records()
    assert vectors_of(desk)["Tea."].vector is not None


def test_a_text_that_is_refused_holds_up_no_other(desk: RecordDesk) -> None:
    desk.save("Tea.")
    desk.save("A strange text.")
    Meanings.before = fail(refuses=True, word="strange")
    record_vectors.embed_records()
    rows = vectors_of(desk)
    assert rows["Tea."].vector is not None and rows["A strange text."].vector is None


@pytest.mark.parametrize("wrong", ["error", "vector"])
def test_a_text_that_fails_in_a_batch_holds_up_no_other(
    desk: RecordDesk, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Of a batch a backend cannot always say that it is one text that it refuses, or gives for it what is no vector."""
    desk.save("A strange text.")
    desk.save("Tea.")

    def embed_documents(_: Meanings, texts: Sequence[str]) -> Sequence[Vector]:
        is_strange = any("strange" in text for text in texts)
        if is_strange and wrong == "error":
            raise EmbeddingError("Too much.", refuses=len(texts) == 1)
        return [[1.0]] * len(texts) if is_strange else [vector_of(text) for text in texts]

    monkeypatch.setattr(Meanings, "embed_documents", embed_documents)
    assert record_vectors.embed_records() == 1
    rows = vectors_of(desk)
    assert rows["Tea."].vector is not None and rows["A strange text."].vector is None


def test_a_backend_that_is_away_is_asked_for_one_text_more_and_no_further(desk: RecordDesk) -> None:
    for number in range(BATCH_TEXTS_MAX):
        desk.save(f"Tea, {number}.")
    asked: list[int] = []

    def before(texts: Sequence[str]) -> None:
        asked.append(len(texts))
        raise EmbeddingError("It is away.")

    Meanings.before = before
    assert record_vectors.embed_records() == 0
    assert asked == [BATCH_TEXTS_MAX, 1]


# --- forgetting ---


def test_forgetting_takes_the_vector_and_what_waits(desk: RecordDesk) -> None:
    first = desk.save("Tea.")
    record_vectors.embed_records()
    second = desk.save("A car.")
    for number, record_id in enumerate((first, second)):
        desk.forget(record_id, key=f"f{number}")
    assert not RecordVector.objects.filter(scope__environment=desk.tenant.development).exists()
    record_vectors.sweep_vectors()
    assert not RecordVector.objects.filter(scope__environment=desk.tenant.development).exists()


def test_an_erased_text_leaves_no_vector(desk: RecordDesk) -> None:
    desk.save("Tea with a secret.")
    desk.save("Tea.")
    record_vectors.embed_records()
    with atomic():
        erase_text(
            TextErasure(desk.tenant.development.id, Sought(contains="secret"), dry_run=False, deletes=True)
        )
    assert list(vectors_of(desk)) == ["Tea."]


def test_a_record_that_is_forgotten_while_its_text_is_away_gets_no_vector(desk: RecordDesk) -> None:
    record_id = desk.save("Tea.")
    forgotten: list[str] = []

    def forget(texts: Any) -> None:
        if not forgotten:
            forgotten.append(record_id)
            desk.forget(record_id)

    Meanings.before = forget
    record_vectors.embed_records()
    assert forgotten and not RecordVector.objects.filter(scope=desk.row()).exists()


def test_a_record_that_is_being_forgotten_is_not_queued_again(
    committed: Tenant, backend: EmbeddingBackend, settings: Any
) -> None:
    desk = RecordDesk(committed)
    settings.EMBEDDING_BACKEND = None
    record_id = desk.save("Tea.")
    queued = threading.Event()

    def queue() -> None:
        record_vectors.queue_missing(backend)
        queued.set()
        connection.close()

    thread = threading.Thread(target=queue)
    with atomic():
        held = RecordScope.objects.select_for_update(no_key=True).get(id=desk.row().id)
        record = MemoryRecord.objects.get(scope=held, record_id=record_id)
        record_search.unindex_record(record)
        MemoryRecord.objects.filter(id=record.id).update(
            text=None, provenance=None, tags=None, forgotten_at=record.created_at
        )
        thread.start()
        assert not queued.wait(0.5), "it waits for who forgets"
    thread.join(20)
    assert queued.is_set()
    assert not RecordIndex.objects.filter(scope=held).exists()
    assert not RecordVector.objects.filter(scope=held).exists()


# --- pgvector ---


@pytest.fixture
def with_pgvector(db: None, settings: Any) -> None:
    """The column is in the test's transaction, as everything else; the extension stays. As in a hub with an embedded database.

    A PostgreSQL without pgvector fails these tests, and says what it lacks.
    """
    settings.DATABASE_URL = None
    nearest.add_column()


def test_pgvector_finds_what_no_word_and_no_newness_would(
    desk: RecordDesk, with_pgvector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.record_fusion.CANDIDATES_MAX", 2)
    desk.save("Tea in the morning.")
    desk.save("Tea for Bob.", of=BOB)
    for number in range(3):
        desk.save(f"A car, {number}.")
    record_vectors.embed_records()
    assert desk.find("Which beverage?", k=1) == ["Tea in the morning."]
    monkeypatch.setattr(nearest, "find_nearest", lambda *given, **more: None)
    assert "Tea in the morning." not in desk.find("Which beverage?"), "the two newest are cars"


def test_pgvector_finds_a_long_record_by_its_nearest_passage(desk: RecordDesk, with_pgvector: None) -> None:
    desk.save(LONG)
    desk.save("Car, tea.")
    record_vectors.embed_records()
    rows = vectors_of(desk)
    found = nearest.find_nearest(desk.row(), [0.0, 1.0, 0.0, 0.0], model="meanings", limit=5)
    assert found == [rows[LONG].record_id, rows["Car, tea."].record_id]


def test_vectors_from_before_pgvector_are_added_to_it(
    desk: RecordDesk, with_pgvector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("Tea in the morning.")
    with monkeypatch.context() as patch:
        patch.setattr(nearest, "is_ready", lambda: False)
        record_vectors.embed_records()
    assert nearest.fill_column() >= 1 and nearest.fill_column() == 0
    found = nearest.find_nearest(desk.row(), [1.0, 0.0, 0.0, 0.0], model="meanings", limit=5)
    assert found == [vectors_of(desk)["Tea in the morning."].record_id]


def test_long_records_that_have_one_vector_wait_anew_and_pgvector_keeps_the_others(
    desk: RecordDesk, with_pgvector: None
) -> None:
    """As a hub comes from before there were passages."""
    desk.save(LONG)
    desk.save("Tea.")
    record_vectors.embed_records()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE providers_recordvector ALTER COLUMN near TYPE halfvec USING near[1]")
        [operation] = import_module("providers.migrations.0020_vectors_of_passages").Migration.operations
        cursor.execute(operation.sql)
    rows = vectors_of(desk)
    assert (rows["Tea."].vector is None, rows[LONG].vector is None) == (False, True)
    found = nearest.find_nearest(desk.row(), [1.0, 0.0, 0.0, 0.0], model="meanings", limit=5)
    assert found == [rows["Tea."].record_id]
    assert record_vectors.embed_records() == 1
    assert len(bytes(vectors_of(desk)[LONG].vector or b"")) == 4 * 8


def test_pgvector_compares_no_vectors_of_another_length(desk: RecordDesk, with_pgvector: None) -> None:
    desk.save("Tea.")
    desk.save("A car.")
    record_vectors.embed_records()
    other = vectors_of(desk)["A car."].record_id
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE providers_recordvector SET dim = 2, near = ARRAY['[1,0]'::halfvec] WHERE record_id = %s",
            [other],
        )
    found = nearest.find_nearest(desk.row(), [1.0, 0.0, 0.0, 0.0], model="meanings", limit=5)
    assert found == [vectors_of(desk)["Tea."].record_id]


def test_a_scope_that_is_too_large_is_not_looked_through(desk: RecordDesk, with_pgvector: None) -> None:
    desk.save("Tea.")
    desk.save("A car.")
    record_vectors.embed_records()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "NEAREST_ROWS_MAX", 2)
        assert nearest.find_nearest(desk.row(), [1, 0, 0, 0], model="meanings", limit=5) is not None
        patch.setattr(nearest, "NEAREST_ROWS_MAX", 1)
        assert nearest.find_nearest(desk.row(), [1, 0, 0, 0], model="meanings", limit=5) is None


def test_a_role_that_may_not_add_pgvector_is_told(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATABASE_URL = "postgresql://somebody@elsewhere/memoryhub"
    monkeypatch.setattr(nearest, "_CREATE", "CREATE EXTENSION file_fdw")  # which no plain role may
    with pytest.raises(Unavailable, match="administrator"):
        nearest.add_column()


def test_where_pgvector_is_not_installed_one_is_told(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_IS_AVAILABLE", "SELECT false")
    with pytest.raises(Unavailable, match="no pgvector"):
        nearest.add_column()


# --- the command and the check ---


def test_the_command_makes_all_vectors(desk: RecordDesk, settings: Any) -> None:
    settings.EMBEDDING_BACKEND = None
    desk.save("Tea.")
    settings.EMBEDDING_BACKEND = PATH
    out = io.StringIO()
    call_command("embed_records", stdout=out)
    assert vectors_of(desk)["Tea."].vector is not None
    assert "0 records wait." in out.getvalue()


def test_the_command_says_what_it_could_not_make(desk: RecordDesk) -> None:
    desk.save("Tea.")
    Meanings.before = fail()
    with pytest.raises(CommandError, match="no vector yet"):
        call_command("embed_records", stdout=io.StringIO())


def test_the_command_wants_a_backend(db: None) -> None:
    with pytest.raises(CommandError, match="MEMORYHUB_EMBEDDING_BACKEND"):
        call_command("embed_records")


@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("nowhere.at.all", "{}", "cannot be loaded"),
        ("plain", "{}", "cannot be loaded"),
        ("builtins.dict", "{}", "makes no embedding backend"),
        (PATH, "[]", "options cannot be read"),
        (PATH, '{"model": ""}', "1 to 128 characters"),
    ],
)
def test_a_backend_that_cannot_be_made_is_told_at_the_start(
    settings: Any, path: str, options: str, told: str
) -> None:
    settings.EMBEDDING_BACKEND, settings.EMBEDDING_OPTIONS = path, options
    [message] = checks.check_embedding(None)
    assert message.id == "memoryhub.E006" and told in str(message.msg)


def test_no_backend_is_as_well(settings: Any) -> None:
    assert settings.EMBEDDING_BACKEND is None
    assert checks.check_embedding(None) == []

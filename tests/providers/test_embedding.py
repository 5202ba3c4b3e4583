"""The backends: MiniLM on this machine, a service over real sockets, and the bytes that vectors become."""

import json
import math
from typing import Any

import pytest

from providers.contract import ConfigError
from providers.embedding import DIMENSIONS_MAX, EmbeddingError
from providers.embedding.http import HttpEmbeddings
from providers.embedding.minilm import DIM, PIECES_MAX, MiniLM
from providers.embedding.vectors import cosine, pack, unpack
from providers.embedding.wordpiece import number_pieces, split_words
from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint, Exchange

# --- bytes ---


def test_a_vector_is_kept_with_length_one() -> None:
    packed = pack([3.0, 4.0], 2)
    assert len(packed) == 4 and unpack(packed) == pytest.approx((0.6, 0.8), abs=1e-3)
    assert cosine(unpack(packed), unpack(pack([30, 40], 2))) == pytest.approx(1, abs=1e-3)
    assert unpack(pack([0, 0], 2)) == (0.0, 0.0)


@pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_what_is_no_vector_of_its_model_is_refused(vector: list[float]) -> None:
    with pytest.raises(EmbeddingError, match="not 2 numbers"):
        pack(vector, 2)


# --- word pieces ---


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", ["hello", ",", "world", "!"]),
        ("Crème BRÛLÉE", ["creme", "brulee"]),
        ("検索x", ["検", "索", "x"]),
        ("a\u200bb\tc\n", ["ab", "c"]),
        ("$5.00", ["$", "5", ".", "00"]),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("hello world", [101, 7592, 2088, 102]),
        ("unaffable", [101, 14477, 20961, 3468, 102]),  # un ##aff ##able, the example of BERT's own code
        ("\U0001f9ff", [101, 100, 102]),
        ("x" * 101, [101, 100, 102]),
        ("", [101, 102]),
    ],
)
def test_words_become_the_numbers_of_their_pieces(text: str, numbers: list[int]) -> None:
    assert number_pieces(text, length_max=256) == numbers


def test_a_long_text_is_cut_at_what_the_model_reads() -> None:
    assert len(number_pieces("tea " * (PIECES_MAX - 2), length_max=PIECES_MAX)) == PIECES_MAX
    cut = number_pieces("tea " * 1_000, length_max=PIECES_MAX)
    assert len(cut) == PIECES_MAX and cut[-1] == 102


# --- MiniLM ---


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM({})


def alike(backend: MiniLM, query: str, text: str) -> float:
    """As a recall compares them."""
    [document] = backend.embed_documents([text])
    return cosine(unpack(pack(backend.embed_query(query), DIM)), unpack(pack(document, DIM)))


def test_the_model_knows_what_means_the_same(minilm: MiniLM) -> None:
    query = "Which hot beverage does she like?"
    assert alike(minilm, query, "Alice: I drink tea every morning.") > 0.3
    assert alike(minilm, query, "The deployment runs on Friday.") < 0.2


def test_a_text_has_the_same_vector_beside_a_longer_one(minilm: MiniLM) -> None:
    [alone] = minilm.embed_documents(["Tea."])
    beside, _ = minilm.embed_documents(["Tea.", "A far longer text about trains and their stations. " * 20])
    assert cosine(unpack(pack(alone, DIM)), unpack(pack(beside, DIM))) > 0.99


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"threads": 17}, {"threads": "2"}, {"model": "/nowhere"}, {"what": 1}]
)
def test_options_of_the_model_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MiniLM(options)


def test_without_its_packages_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match="hub setup semantic"):
        MiniLM({})


# --- a service ---


def made(endpoint: Endpoint, **options: Any) -> HttpEmbeddings:
    return HttpEmbeddings({"url": f"{endpoint.origin}/v1", "model": "m", "dim": 2} | options)


def vectors(*given: list[float]) -> dict[str, Any]:
    """In another order than asked, as a service may."""
    return {"data": [{"index": n, "embedding": one} for n, one in reversed(list(enumerate(given)))]}


def test_a_service_is_asked_as_openai_is(endpoint: Endpoint, settings: Any) -> None:
    settings.EMBEDDING_KEY = "key-4711"
    asked: list[Exchange] = []

    def serve(exchange: Exchange) -> None:
        asked.append(exchange)
        misbehaving.body(vectors([1, 0], [0, 1]), 200)(exchange)

    endpoint.always = serve
    backend = made(endpoint, document_prefix="passage: ")
    assert backend.embed_documents(["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]
    [one] = asked
    assert one.line.startswith("POST /v1/embeddings ")
    assert one.headers["authorization"] == "Bearer key-4711"
    assert json.loads(one.body) == {
        "encoding_format": "float", "input": ["passage: a", "passage: b"], "model": "m",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "refuses"),
    [
        (vectors([1, 0]), 500, False),
        (vectors([1, 0]), 429, False),
        (vectors([1, 0]), 400, True),
        (vectors([1, 0, 0]), 200, False),
        (vectors([1, 0], [0, 1]), 200, False),
        ({"data": [{"index": 1, "embedding": [1, 0]}]}, 200, False),
        ({"data": [{"index": 0, "embedding": "AAAA"}]}, 200, False),
        ({"data": 7}, 200, False),
        ({}, 200, False),
    ],
)
def test_an_answer_that_is_no_vector_is_an_error(
    endpoint: Endpoint, body: Any, status: int, refuses: bool
) -> None:
    endpoint.always = misbehaving.body(body, status)
    with pytest.raises(EmbeddingError) as raised:
        made(endpoint).embed_query("a")
    assert raised.value.refuses == refuses


def test_a_service_that_is_not_allowed_is_not_asked(endpoint: Endpoint, settings: Any) -> None:
    backend = made(endpoint)
    settings.EGRESS_PRIVATE_ORIGINS = {}
    with pytest.raises(EmbeddingError, match="EgressBlocked"):
        backend.embed_query("a")
    with pytest.raises(ConfigError, match="url"):
        made(endpoint)


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://example.com/v1"},
        {"url": None},
        {"model": ""},
        {"model": "m" * 129},
        {"dim": 0},
        {"dim": DIMENSIONS_MAX + 1},
        {"dim": "2"},
        {"query_prefix": 1},
        {"document_prefix": "x" * 1_025},
        {"other": 1},
    ],
)
def test_options_of_a_service_are_checked(options: dict[str, Any]) -> None:
    given = {"url": "https://example.com/v1", "model": "m" * 128, "dim": DIMENSIONS_MAX}
    HttpEmbeddings(given)
    with pytest.raises(ConfigError):
        HttpEmbeddings(given | options)

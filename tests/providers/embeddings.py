"""A backend whose vectors say what a text is about, by a few words for each of four things. It does as its script says first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from providers.embedding import EmbeddingError, Vector

ABOUT = (("tea", "beverage", "drink"), ("car", "vehicle", "drive"), ("dog", "pet"), ("song", "music"))
PATH = "tests.providers.embeddings.Meanings"


class Meanings:
    """`before`: called with the texts of each request. `model`: an option, since vectors of two models are never compared."""

    dim = 4
    before: Callable[[Sequence[str]], None] | None = None

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.name = options.get("model", "meanings")

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if Meanings.before is not None:
            Meanings.before(texts)
        return [vector_of(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        return self.embed_documents([text])[0]


def vector_of(text: str) -> Vector:
    words = text.lower().replace(".", " ").replace("?", " ").split()
    return [float(sum(word in words for word in named)) for named in ABOUT]


def fail(*, refuses: bool = False, word: str = "") -> Callable[[Sequence[str]], None]:
    """Fails for texts that hold the word."""

    def before(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise EmbeddingError("It does not want to.", refuses=refuses)

    return before

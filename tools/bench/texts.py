"""Texts to fill memories with: words as frequent as in a language, the same for the same name."""

import itertools
import random
from functools import cache

CONTENT_BYTES = 4_096
_WORDS = 4_000
_WORD_BYTES = 6  # on average, with its space
_SEED = 20_260_101


def make_text(name: str, number: int = 0) -> str:
    """A text of CONTENT_BYTES ASCII letters that begins with its name and number."""
    chance = random.Random(f"{_SEED} {name} {number}")
    words, weights = _vocabulary()
    text = " ".join(chance.choices(words, cum_weights=weights, k=CONTENT_BYTES // _WORD_BYTES))
    return f"{name} {number} {text}".ljust(CONTENT_BYTES, ".")[:CONTENT_BYTES]


def make_query(number: int) -> str:
    """Three words: a frequent one and two of the rarer ones."""
    chance = random.Random(f"{_SEED} query {number}")
    words, _ = _vocabulary()
    return " ".join([words[chance.randrange(20)], *chance.sample(words[20:1_000], 2)])


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words, the most frequent first, and their cumulated weights (Zipf's law)."""
    chance = random.Random(_SEED)
    syllables = [head + tail for head in "bdfgklmnprst" for tail in ("a", "e", "i", "o", "un", "er")]
    words = {"".join(chance.choices(syllables, k=chance.randint(2, 4))): None for _ in range(_WORDS)}
    return list(words), list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))

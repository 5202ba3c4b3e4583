"""Word pieces as BERT's uncased models read them. Source: google-research/bert, tokenization.py; its vocabulary lies beside this file.

A text is cleaned, lower-cased, freed of accents, cut at white space, at punctuation and around Han characters; each word is
then the longest piece of the vocabulary that begins it, and the longest pieces `##…` that go on.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

WORD_LENGTH_MAX = 100
TEXT_LENGTH_MAX = 16_384  # of what is looked at: far more than a model reads
VOCABULARY = Path(__file__).with_name("bert_uncased_vocabulary.txt")
UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
_HAN = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


@lru_cache(maxsize=1)
def read_vocabulary() -> dict[str, int]:
    """Piece -> its number."""
    lines = VOCABULARY.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return {piece: number for number, piece in enumerate(lines)}


def number_pieces(text: str, *, length_max: int) -> list[int]:
    """The numbers of a text's pieces between those of the start and the end, at most `length_max` in all."""
    pieces = read_vocabulary()
    numbers: list[int] = []
    for word in split_words(text[:TEXT_LENGTH_MAX]):
        numbers += [pieces[piece] for piece in _cut(word, pieces)]
        if len(numbers) >= length_max - 2:
            break
    return [pieces[START], *numbers[: length_max - 2], pieces[END]]


def split_words(text: str) -> Iterator[str]:
    word = ""
    for character in unicodedata.normalize("NFD", _clean(text)).lower():
        if character == " " or _is_punctuation(character):
            if word:
                yield word
            word = ""
            if character != " ":
                yield character
        elif unicodedata.category(character) != "Mn":
            word += character
    if word:
        yield word


def _clean(text: str) -> str:
    return "".join(_clean_character(character) for character in text)


def _clean_character(character: str) -> str:
    if character in "\t\n\r" or character.isspace():
        return " "
    if character in "\0\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs"):
        return ""
    if any(low <= ord(character) <= high for low, high in _HAN):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    """All that is neither letter nor digit of ASCII, and what Unicode calls so."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")


def _cut(word: str, pieces: dict[str, int]) -> list[str]:
    if len(word) > WORD_LENGTH_MAX:
        return [UNKNOWN]
    found: list[str] = []
    start = 0
    while start < len(word):
        piece = _longest(word, start, pieces)
        if piece is None:
            return [UNKNOWN]
        found.append(piece)
        start += len(piece) - 2 * (start > 0)
    return found


def _longest(word: str, start: int, pieces: dict[str, int]) -> str | None:
    mark = "##" if start else ""
    for end in range(len(word), start, -1):
        if mark + word[start:end] in pieces:
            return mark + word[start:end]
    return None

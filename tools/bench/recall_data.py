"""The data of a recall benchmark: conversations with their questions, and filler for a scope of a given size.

A file holds `[{"scope", "records": [{"id", "speaker", "session", "ts", "text"}], "questions": [{"query", "category",
"evidence": [id]}]}]`, as LoCoMo is normalised. It is not part of this repository: its licence is another.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KEPT_LENGTH_MAX, KEPT_SHARE = 4, 0.2
ENDINGS = ("a", "ek", "il", "or", "um")
LEFT_OUT = "adversarial"  # questions that have no answer


@dataclass(frozen=True, slots=True)
class Turn:
    name: str
    author: str
    thread: str
    occurred_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    query: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    turns: list[Turn]
    questions: list[Question]


def read_conversations(path: Path) -> list[Conversation]:
    return [_read(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _read(given: dict[str, Any]) -> Conversation:
    name = given["scope"]
    turns = [
        Turn(
            f"{name}|{one['id']}",
            one.get("speaker", ""),
            f"{name}/{one['session']}",
            datetime.fromisoformat(one["ts"]).replace(tzinfo=UTC),
            one["text"],
        )
        for one in given["records"]
    ]
    questions = [
        Question(one["query"], one["category"], frozenset(f"{name}|{turn}" for turn in one["evidence"]))
        for one in given["questions"]
        if one["category"] != LEFT_OUT
    ]
    return Conversation(name, turns, questions)


def join(conversations: list[Conversation], count: int) -> Conversation:
    """All in one scope, with filler up to `count` turns: each the halves of two others, in threads of its own.

    Most of its longer words are made other ones, as in talk of other things; a fifth of them stays.
    """
    turns = [turn for one in conversations for turn in one.turns]
    questions = [question for one in conversations for question in one.questions]
    return Conversation(f"{count} records", [*turns, *_filler(turns, count - len(turns))], questions)


def _filler(turns: list[Turn], count: int) -> Iterator[Turn]:
    chosen = random.Random(7)
    for number in range(count):
        one, other = chosen.choice(turns), chosen.choice(turns)
        first, last = one.text.split(), other.text.split()
        words = [_other(word, chosen) for word in first[: len(first) // 2] + last[len(last) // 2 :]]
        text = " ".join(words) or "Nothing."
        yield Turn(f"filler {number}", one.author, f"filler/{number // 20}", one.occurred_at, text)


def _other(word: str, chosen: random.Random) -> str:
    if len(word) < KEPT_LENGTH_MAX or chosen.random() < KEPT_SHARE:
        return word
    return f"{word[::-1].strip('.,!?')}{chosen.choice(ENDINGS)}"


def draw(questions: list[Question], count: int) -> list[Question]:
    return questions if len(questions) <= count else random.Random(7).sample(questions, count)

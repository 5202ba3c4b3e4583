"""The figures of a recall benchmark: what a ranked list is worth against its evidence."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tools.bench.recall_data import Conversation, Question, Turn, join, read_conversations
from tools.bench.recall_long import LENGTH_MAX, join_turns
from tools.bench.recall_quality import Measured, goals, score


def test_a_list_is_worth_what_it_finds_and_how_early() -> None:
    evidence = frozenset({"a", "b"})
    best = score(["a", "b", "c"], evidence)
    assert best == {"r5": 1.0, "r10": 1.0, "r20": 1.0, "h5": 1.0, "ndcg10": 1.0, "mrr": 1.0}
    late = score(["x"] * 6 + ["a"] + ["x"] * 13 + ["b"], evidence)
    assert (late["r5"], late["r10"], late["r20"], late["h5"]) == (0.0, 0.5, 0.5, 0.0)
    assert late["mrr"] == pytest.approx(1 / 7) and 0 < late["ndcg10"] < 0.5
    assert set(score([], evidence).values()) == {0.0}


def test_goals_are_missed_by_a_ranking_that_finds_less() -> None:
    measured = Measured("some", 600)
    measured.scores["single-hop"] = [score(["x"] * 7 + ["a"], frozenset({"a"}))]
    told = {goal.what.split(",")[0]: goal.is_met for goal in goals(measured, [])}
    assert told == {
        "share of the evidence not among the first 5": False,
        "share of the evidence not among the first 10": True,
    }


def test_vectors_that_find_less_miss_their_goal() -> None:
    found, lost = Measured("words", 600), Measured("vectors", 600)
    found.scores["single-hop"] = [score(["a"], frozenset({"a"}))]
    lost.scores["single-hop"] = [score(["x"], frozenset({"a"}))]
    assert [goal.is_met for goal in goals(found, [], [found, found, found])] == [True, True, True, True]
    assert [goal.is_met for goal in goals(found, [], [lost, found, found])] == [True, True, False, True]
    assert [goal.is_met for goal in goals(found, [], [found, found, lost])] == [True, True, True, False]


def test_conversations_are_read_and_joined(tmp_path: Path) -> None:
    turn = {"id": "D1", "speaker": "Ann", "session": 1, "ts": "2023-05-08T13:56:00", "text": "Tea at four."}
    asked = [
        {"query": "When is tea?", "category": "temporal", "evidence": ["D1"]},
        {"query": "Nothing?", "category": "adversarial", "evidence": ["D1"]},
    ]
    file = tmp_path / "data.json"
    file.write_text(json.dumps([{"scope": "c", "records": [turn], "questions": asked}]))
    [one] = read_conversations(file)
    assert [question.query for question in one.questions] == ["When is tea?"]
    joined = join([one], 5)
    assert len(joined.turns) == 5 and joined.turns == join([one], 5).turns
    assert joined.questions[0].evidence == {one.turns[0].name}


def test_turns_are_joined_into_long_records_that_hold_the_evidence() -> None:
    at = datetime(2023, 5, 8, tzinfo=UTC)
    turns = [Turn(f"t{n}", "Ann", f"session {n // 30}", at, f"{n} " + "tea " * 30) for n in range(40)]
    asked = [
        Question("When?", "temporal", frozenset({"t0", "t29", "gone"})),
        Question("No?", "x", frozenset({"gone"})),
    ]
    joined = join_turns([Conversation("c", turns, asked)])
    assert [one.text.count("Ann: ") for one in joined.turns] == [15, 15, 10]
    assert all(len(one.text) <= LENGTH_MAX for one in joined.turns)
    assert [one.thread for one in joined.turns] == ["session 0", "session 0", "session 1"]
    assert [one.evidence for one in joined.questions] == [frozenset({"long-0", "long-1"})]

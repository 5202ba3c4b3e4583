"""`./hub bench-recall --data FILE`: how well and how fast records are found, through the product itself.

Each conversation is a scope, each turn a record; the query is the question as it is. With `--records` all conversations stand in
one scope of that many, and with `--vectors` they are asked once more by words and vectors, as turns and joined into long records. R@k: the mean share of the evidence among the first k; H@5: any of it among the first five.
"""

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING

from tools.bench.figures import Goal
from tools.bench.hub import started_postgres
from tools.bench.recall_data import Conversation, Question, draw, join, read_conversations
from tools.bench.recall_long import LENGTH_MAX, join_turns

if TYPE_CHECKING:
    from tools.bench.recall_records import RecallDesk

HITS = 20
TRIES = 2  # of each question; the faster one counts
QUESTIONS_AT_SCALE = 200
WARM_UP = 10
GOALS_MS = {10_000: 8.0, 100_000: 20.0}


@dataclass(slots=True)
class Measured:
    """Of one arrangement: scores by category, and milliseconds of each recall.

    `worked_ms`: for how long processors worked for the ranking, which on a machine with nothing else to do is how long it takes.
    """

    name: str
    records: int
    scores: dict[str, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    ranking_ms: list[float] = field(default_factory=list)
    worked_ms: list[float] = field(default_factory=list)
    whole_ms: list[float] = field(default_factory=list)

    def mean(self, what: str, category: str | None = None) -> float:
        chosen = self.scores if category is None else {category: self.scores[category]}
        return 100 * fmean(score[what] for scores in chosen.values() for score in scores)

    def row(self) -> str:
        quality = [f"{self.mean(what):.1f}" for what in ("r5", "r10", "r20", "h5", "ndcg10", "mrr")]
        spreads = (_spread(one) for one in (self.ranking_ms, self.worked_ms, self.whole_ms))
        speed = [f"{value:.1f}" for spread in spreads for value in spread]
        return f"| {self.name} | {' | '.join(quality + speed)} |"

    def categories(self) -> str:
        found = (f"{name} {self.mean('r10', name):.1f}" for name in sorted(self.scores))
        return f"R@10 by category, {self.name}: " + ", ".join(found)


HEAD = (
    "| records | R@5 | R@10 | R@20 | H@5 | nDCG@10 | MRR | ranking p50 ms | p95 | worked p50 ms | p95 | whole recall p50 ms | p95 |\n"
    "| --- " + "| ---: " * 12 + "|"
)


def _spread(milliseconds: list[float]) -> tuple[float, float]:
    return median(milliseconds), quantiles(milliseconds, n=20)[-1]


def score(ranked: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """Of one question. Source: the harness of the recall design."""
    places = [place for place, name in enumerate(ranked[:HITS]) if name in evidence]
    found = {f"r{k}": sum(place < k for place in places) / len(evidence) for k in (5, 10, 20)}
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(evidence))))
    gain = sum(1 / math.log2(place + 2) for place in places if place < 10)
    first = 1 / (places[0] + 1) if places else 0.0
    return found | {"h5": float(any(place < 5 for place in places)), "ndcg10": gain / ideal, "mrr": first}


def measure(
    desk: "RecallDesk", conversations: list[Conversation], name: str, questions: int | None
) -> Measured:
    measured = Measured(name, max(len(one.turns) for one in conversations))
    for one in conversations:
        asked = one.questions if questions is None else draw(one.questions, questions)
        for question in asked[:WARM_UP]:
            desk.recall(one.name, question.query)
        for question in asked:
            _ask(desk, one, question, measured)
    return measured


def _ask(desk: "RecallDesk", one: Conversation, question: Question, measured: Measured) -> None:
    whole, ranking, worked = [], [], []
    for _ in range(TRIES):
        began = time.perf_counter()
        ranked = desk.recall(one.name, question.query)
        whole.append(time.perf_counter() - began)
        began, work = time.perf_counter(), desk.worked_seconds()
        desk.rank(one.name, question.query)
        ranking.append(time.perf_counter() - began)
        worked.append(desk.worked_seconds() - work)
    measured.whole_ms.append(1_000 * min(whole))
    measured.ranking_ms.append(1_000 * min(ranking))
    measured.worked_ms.append(1_000 * min(worked))
    measured.scores[question.category].append(score(ranked, question.evidence))


def goals(plain: Measured, scaled: list[Measured], by_vectors: Sequence[Measured] = ()) -> Iterator[Goal]:
    """`by_vectors`: the same as `plain`; then long records by words, and by words and vectors."""
    yield Goal("share of the evidence not among the first 5, per cent", 100 - plain.mean("r5"), at_most=33)
    yield Goal(
        "share of the evidence not among the first 10, per cent", 100 - plain.mean("r10"), at_most=25.5
    )
    if by_vectors:
        same, long, long_by_vectors = by_vectors
        lost = plain.mean("r10") - same.mean("r10")
        yield Goal("R@10 that vectors lose, points", lost, at_most=0)
        missed, left = 100 - long.mean("r10"), 100 - long_by_vectors.mean("r10")
        yield Goal("R@10 of long records that vectors lose, points", left - missed, at_most=0)
    for one in scaled:
        if one.records in GOALS_MS:
            name = f"work of a ranking among {one.records:,} records, p95, ms"
            yield Goal(name, _spread(one.worked_ms)[1], at_most=GOALS_MS[one.records])
    by_size = {one.records: _spread(one.worked_ms)[0] for one in scaled}
    if {10_000, 100_000} <= by_size.keys():
        growth = by_size[100_000] / by_size[10_000]
        yield Goal("median work of a ranking among 100,000 records beside 10,000, times", growth, at_most=3)


def main() -> int:
    options = _parse()
    conversations = read_conversations(options.data)
    with started_postgres():
        desk = _make_desk()
        for one in conversations:
            desk.save_all(one)
        plain = measure(desk, conversations, f"{max(len(one.turns) for one in conversations)} at most", None)
        print(HEAD, plain.row(), sep="\n", flush=True)
        by_vectors = _measure_vectors(desk, conversations) if options.vectors else []
        scaled = []
        for count in options.records:
            joined = join(conversations, count)
            desk.fill(joined)
            scaled.append(measure(desk, [joined], f"{count:,}", QUESTIONS_AT_SCALE))
            print(scaled[-1].row(), flush=True)
    shown = [plain, *by_vectors, *scaled]
    print("", *(one.categories() for one in shown), sep="\n")
    print("", *goals(plain, scaled, by_vectors), sep="\n")
    return 0


def _measure_vectors(desk: "RecallDesk", conversations: list[Conversation]) -> list[Measured]:
    """The same scopes with MiniLM, which later scopes do without; and long records without and with it."""
    long = join_turns(conversations)
    desk.save_all(long)
    name = f"{len(long.turns)} of up to {LENGTH_MAX:,} characters"
    measured = [measure(desk, [long], name, None)]
    with desk.embedded():
        most = max(len(one.turns) for one in conversations)
        measured.insert(0, measure(desk, conversations, f"{most} at most, vectors too", None))
        measured.append(measure(desk, [long], f"{name}, vectors too", None))
    print(*(one.row() for one in measured), sep="\n", flush=True)
    return measured


def _make_desk() -> "RecallDesk":
    import django

    django.setup()
    from django.core.management import call_command

    from tools.bench.arrange import make_world
    from tools.bench.recall_records import RecallDesk

    call_command("migrate", verbosity=0)
    return RecallDesk(make_world().actor)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./hub bench-recall", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="conversations with questions"
    )
    parser.add_argument(
        "--records",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[],
        metavar="N,N",
        help="also all of them in one scope of so many records",
    )
    parser.add_argument("--vectors", action="store_true", help="also by words and vectors, of MiniLM")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

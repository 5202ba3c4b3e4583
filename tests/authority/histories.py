"""Random histories of an authority, each call judged by the oracle.

`python -m tests.authority.histories --histories 500 --operations 200 [--seed N]` runs many; each prints its seed when it
fails.
"""

import argparse
import random
import time
from typing import Any

from authority.graph import Head, Record
from authority.nominations import Nomination
from memoryhub.errors import HubError
from tests.authority import oracle
from tests.authority.doubles import Bench, entity

KEYS = [f"key:{letter}" for letter in "abcdef"]
NAMES = ["One", "Two", "Three"]


class LostReply(RuntimeError):
    """The commit was made, and nobody was told."""


class History:
    """One authority, what happened to it, and the chance that says what comes next."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.bench = Bench(entity("key:a", "Zero"), work=(entity("key:a"), entity("key:b", "One", "key:a")))
        self.nominations: list[Nomination] = [self.bench.working.nominate("key:b")]
        self.words: dict[str, int] = {}

    def states(self) -> list[oracle.State]:
        return [
            {key: record.sha256 for key, record in state.items()} for state in self.bench.canonical.states
        ]

    def step(self) -> None:
        self.chance.choices([self.write, self.note, self.advance, self.adopt], weights=[3, 3, 3, 8])[0]()

    def records(self) -> tuple[Record, ...]:
        """One to three, of few keys and names, so that many are equal."""
        keys = self.chance.sample(KEYS, self.chance.randint(1, 3))
        return tuple(entity(key, self.chance.choice(NAMES)) for key in keys)

    def write(self) -> None:
        self.bench.canonical.write(*self.records())

    def note(self) -> None:
        self.bench.working.write(*self.records())
        there = sorted(self.bench.working.states[-1])
        roots = self.chance.sample(there, self.chance.randint(1, min(3, len(there))))
        self.nominations.append(self.bench.working.nominate(*roots))

    def head(self) -> int | None:
        """An index of the history, often the pin or the newest; sometimes a head that never was."""
        newest, pin = len(self.bench.canonical.heads) - 1, self.bench.pin.sequence
        return self.chance.choice([pin, pin, pin, newest, newest, self.chance.randint(0, newest), None])

    def head_of(self, index: int | None) -> Head:
        if index is not None:
            return self.bench.canonical.heads[index]
        invented = self.chance.randint(1, len(self.bench.canonical.heads) + 2)
        return Head(invented, "e" * 64, "d" * 64, "c" * 64)

    def advance(self) -> None:
        self.advance_from(self.head(), self.head())

    def advance_from(self, expected: int | None, following: int | None) -> None:
        wanted = oracle.advance(self.states(), self.bench.pin.sequence, expected, following)
        self.judge(
            wanted,
            lambda: self.bench.advance(self.head_of(following), expected=self.head_of(expected)),
        )

    def claims(self, nomination: Nomination, *, honest: bool) -> dict[str, str]:
        """Digests to be replaced: all of them, or some, or wrong ones."""
        current = self.states()[self.bench.pin.sequence]
        if honest:
            wanted = {record.key: record.sha256 for record in nomination.records}
            return {key: current[key] for key in wanted if current.get(key, wanted[key]) != wanted[key]}
        claimed = {}
        for record in nomination.records:
            pick = self.chance.random()
            if pick < 0.6 and record.key in current and current[record.key] != record.sha256:
                claimed[record.key] = current[record.key]
            elif pick < 0.65:
                claimed[record.key] = current.get(record.key, "f" * 64)
            elif pick < 0.7:
                claimed[record.key] = self.chance.choice(["0" * 64, record.sha256])
        return claimed if self.chance.random() < 0.8 else {}

    def adopt(self) -> None:
        nomination, honest = self.chance.choice(self.nominations[-6:]), self.chance.random() < 0.5
        if honest:
            self.advance_from(self.bench.pin.sequence, len(self.bench.canonical.heads) - 1)
        claims = self.claims(nomination, honest=honest)
        expected = self.bench.pin.sequence if honest else self.head()
        trouble = self.chance.random()
        before = self.records() if trouble < 0.1 else None
        after = self.records() if 0.1 < trouble < 0.2 else None
        lost = 0.2 < trouble < 0.3
        asked = oracle.Asked(
            {record.key: record.sha256 for record in nomination.records},
            expected,
            claims,
            _state(before),
            _state(after),
            lost,
        )
        wanted = oracle.adopt(self.states(), self.bench.pin.sequence, asked)
        store = self.bench.canonical
        if before:
            store.before_commit = lambda: store.write(*before)
        if after:
            store.after_commit = lambda: store.write(*after)
        store.lost = LostReply("the reply was lost") if lost else None
        self.judge(
            wanted,
            lambda: self.bench.adopt(nomination, claims or None, expected=self.head_of(expected)),
        )
        store.before_commit = store.after_commit = lambda: None
        store.lost = None

    def judge(self, wanted: oracle.Outcome, act: Any) -> None:
        prior = self.bench.pin
        try:
            receipt = act()
        except (HubError, LostReply) as error:
            word, conflict = type(error).__name__, getattr(error, "conflict", None)
            assert word == wanted.word, (wanted, repr(error))
            if conflict is not None:
                entries = [(e["key"], e["canonicalRecordSha256"]) for e in conflict["conflicts"]]
                assert entries == wanted.entries, (wanted, entries)
                assert conflict["actualHead"]["sequence"] == wanted.actual, wanted
            assert self.bench.pin == prior, "a call that failed moved the pin"
        else:
            word = receipt.status
            assert word == wanted.word, (wanted, receipt.wire)
            assert receipt.wire["priorHead"] == prior.as_wire()
            assert receipt.wire["head"] == self.bench.pin.as_wire()
        assert self.bench.pin == self.bench.canonical.heads[wanted.pin], wanted
        assert self.bench.pin.sequence >= prior.sequence, "the pin went back"
        self.words[word] = self.words.get(word, 0) + 1


def _state(records: tuple[Record, ...] | None) -> oracle.State | None:
    return None if records is None else {record.key: record.sha256 for record in records}


def run(seed: int, operations: int) -> dict[str, int]:
    """How often each word was answered. Raises: AssertionError, after the seed was printed."""
    history = History(seed)
    try:
        for _ in range(operations):
            history.step()
    except AssertionError:
        print(f"seed {seed}, after {sum(history.words.values())} calls")
        raise
    return history.words


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge random histories of an authority.")
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    began, total = time.monotonic(), dict[str, int]()
    for number in range(asked.histories):
        for word, count in run(asked.seed + number, asked.operations).items():
            total[word] = total.get(word, 0) + count
    print(f"{asked.histories} histories of {asked.operations}: {time.monotonic() - began:.0f} s, {total}")


if __name__ == "__main__":
    main()

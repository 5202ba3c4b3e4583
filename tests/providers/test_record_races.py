"""What meets at the same moment: real threads against two web processes on PostgreSQL. Promises E5 and I0."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from memoryhub.errors import Conflict
from providers.models import MemoryEffect, MemoryRecord, RecordIndex
from providers.record_corrections import correct_record
from tests.answers import Answer, Call
from tests.concurrency.clients import run_together
from tests.live import LiveHub
from tests.providers.record_desk import ALICE, RecordDesk
from tests.providers.test_records_rest import SCOPE
from tests.world import Tenant

ROUNDS = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "0")) or 3


@pytest.fixture
def desk(live_tenant: Tenant) -> RecordDesk:
    return RecordDesk(live_tenant)


def save(call: Call, key: str, text: str, **body: Any) -> Answer:
    headers = {"Idempotency-Key": key}
    return call("POST", "/v1/records/save", {"scope": SCOPE, "text": text} | body, headers=headers)


def together(live: LiveHub, desk: RecordDesk, acts: list[Callable[[Call], Answer]]) -> list[Answer]:
    """Each by a client of its own."""
    answers: list[Answer] = []
    keys = [live.caller(desk.tenant.key) for _ in acts]
    run_together(
        [lambda act=act, call=call: answers.append(act(call)) for act, call in zip(acts, keys, strict=True)]
    )  # type: ignore[misc]
    return answers


def test_twenty_saves_of_one_key_are_one_record(live: LiveHub, desk: RecordDesk) -> None:
    for number in range(ROUNDS):
        answers = together(live, desk, [lambda call: save(call, f"k{number}", "Tea.")] * 20)  # noqa: B023
        assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
        assert len({answer.body["id"] for answer in answers}) == 1
    held = desk.row(ALICE)
    assert MemoryRecord.objects.filter(scope=held).count() == ROUNDS
    assert MemoryEffect.objects.filter(scope=held).count() == ROUNDS
    assert RecordIndex.objects.filter(scope=held).count() == ROUNDS


def test_thirty_saves_of_thirty_keys_are_thirty_records(live: LiveHub, desk: RecordDesk) -> None:
    acts = [lambda call, n=n: save(call, f"k{n}", f"Fact {n}.", thread="chat") for n in range(30)]
    answers = together(live, desk, acts)  # type: ignore[arg-type]
    assert [answer.status for answer in answers] == [201] * 30
    places = RecordIndex.objects.filter(scope=desk.row(ALICE)).values_list("position", flat=True)
    assert sorted(places) == list(range(30))


def test_of_twenty_records_under_one_key_one_is_kept(live: LiveHub, desk: RecordDesk) -> None:
    answers = together(live, desk, [lambda call, n=n: save(call, "k", f"Fact {n}.") for n in range(20)])  # type: ignore[misc]
    assert sorted(answer.status for answer in answers) == [201] + [422] * 19
    assert MemoryRecord.objects.filter(scope=desk.row(ALICE)).count() == 1


def test_nothing_that_was_forgotten_is_recalled_after_the_answer(live: LiveHub, desk: RecordDesk) -> None:
    """Recalls that began later than the answer to the forget, while others save and recall."""
    search = {"scope": SCOPE, "query": "marmalade"}
    for number in range(ROUNDS):
        record_id = desk.save(f"Marmalade {number}.", key=f"m{number}")
        after: list[Answer] = []

        def forget(call: Call, record_id: str = record_id, after: list[Answer] = after) -> Answer:
            body = {"scope": SCOPE, "id": record_id}
            told = call("POST", "/v1/records/forget", body, headers={"Idempotency-Key": record_id})
            after.append(call("POST", "/v1/records/search", search))
            return told

        acts: list[Callable[[Call], Answer]] = [forget]
        acts += [lambda call: call("POST", "/v1/records/search", search)] * 4
        acts += [lambda call, n=n, m=number: save(call, f"s{m}-{n}", f"Jam {n}.") for n in range(4)]  # type: ignore[misc]
        answers = together(live, desk, acts)
        assert {answer.status for answer in answers} <= {200, 201, 204}
        assert [hit["text"] for hit in after[0].body["hits"]] == []


def test_of_those_who_correct_one_record_at_once_one_does(committed: Tenant) -> None:
    desk = RecordDesk(committed)
    desk.save("Another.", key="other")
    for number in range(ROUNDS):
        record_id = desk.save("Tea.", key=f"c{number}")
        scope_id, refused = desk.row().wire_id, []

        def correct(person: int, n: int = number, of: str = record_id, in_: str = scope_id) -> None:
            try:
                fields = {"text": f"Tea {n} of {person}."}
                correct_record(in_, of, fields=fields, key=f"{n}-{person}", actor=committed.actor)
            except Conflict as error:
                refused.append(error)  # noqa: B023 - each round ends before the next

        run_together([lambda p=p: correct(p) for p in range(6)])  # type: ignore[misc]
        assert len(refused) == 5
    held = MemoryRecord.objects.filter(scope=desk.row(), forgotten_at=None)
    assert held.count() == 1 + ROUNDS
    assert RecordIndex.objects.filter(scope=desk.row()).count() == 1 + ROUNDS

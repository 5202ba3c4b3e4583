"""Host calls on PostgreSQL: in order, one at a time, published together with their receipts or not at all."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import connection
from django.db.transaction import atomic

from authority import agent, host_calls, host_runs, spaces, tasks, turns
from authority.failures import ValidationTypeError
from authority.graph import EMPTY_HEAD, Head
from authority.models import Authority, HostCall, Nomination, Operation, Receipt, Turn
from authority.nominations import Nomination as Nominated
from memoryhub import keys
from memoryhub.embedded.processes import wait_until
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import AuditEvent
from tests.authority.desk import ROUNDS_OF_SOAK, Reviewed, ended, make_reviewed, write
from tests.authority.doubles import entity
from tests.live import url_of
from tests.world import Tenant, make_tenant

SENDERS, CALLS_EACH = 8, 3 * ROUNDS_OF_SOAK or 5
RUN_SECONDS_MAX = 60 + 0.6 * SENDERS * CALLS_EACH
WORK = (entity("note:a", "A"), entity("note:b", "B", "note:a"))


@pytest.fixture
def reviewed(committed: Tenant) -> Reviewed:
    return make_reviewed(committed, work=WORK)


def test_an_adoption_moves_the_pin_and_leaves_a_receipt(reviewed: Reviewed) -> None:
    nomination, prior = reviewed.nominate("note:b"), reviewed.pin
    call = reviewed.submit_adoption(nomination)
    assert (call.state, call.ordinal, reviewed.pin) == ("queued", 1, prior)
    assert reviewed.drain() == 1
    call = ended(call)
    assert (call.state, call.error) == ("succeeded", None)
    assert reviewed.pin == reviewed.head != prior
    receipt = Receipt.objects.get(authority=reviewed.authority)
    body = json.loads(receipt.body)
    assert (body["status"], body["head"], body["priorHead"]) == (
        "adopted",
        reviewed.pin.as_wire(),
        prior.as_wire(),
    )
    assert call.receipt_sha256 == receipt.receipt_sha256 == body["receiptSha256"]
    events = AuditEvent.objects.filter(subject_id=call.wire_id).order_by("number")
    assert [event.action for event in events] == ["host_call.submitted", "host_call.finished"]
    again = reviewed.submit_adoption(nomination, expected=prior)
    reviewed.drain()
    assert status_of(again) == "already-present"
    assert Operation.objects.filter(space=reviewed.canonical).count() == 2


def test_an_advance_follows_what_others_wrote(reviewed: Reviewed) -> None:
    prior = reviewed.pin
    for n in range(3):
        write(reviewed.tenant, reviewed.canonical, entity("other", n))
    assert reviewed.pin == prior
    call = reviewed.submit_advance(reviewed.head)
    reviewed.drain()
    assert ended(call).state == "succeeded"
    assert reviewed.pin == reviewed.head
    same = [reviewed.submit_advance(reviewed.head) for _ in range(2)]
    reviewed.drain()
    assert len({ended(call).receipt_sha256 for call in same}) == 1


def test_a_failing_call_says_why_and_the_next_one_runs(reviewed: Reviewed) -> None:
    nomination = reviewed.nominate("note:b")
    stale = reviewed.submit_advance(reviewed.head, expected=EMPTY_HEAD)
    write(reviewed.tenant, reviewed.canonical, entity("note:a", "Other"))
    conflicting = reviewed.submit_adoption(nomination)
    good = reviewed.submit_advance(reviewed.head)
    assert reviewed.drain() == 3
    error = ended(stale).error
    assert (error["name"], error["status"]) == ("ConflictError", 409)
    assert error["message"] == "The expected canonical memory head does not match the current pin."
    conflict = ended(conflicting).error
    assert (conflict["code"], conflict["conflict"]["totalConflicts"]) == ("adoption_conflict", 2)
    assert ended(good).state == "succeeded"


def test_a_bug_gives_the_turn_up_too(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Exception):
        pass

    calls = [reviewed.submit_advance(reviewed.head) for _ in range(2)]
    perform = host_runs._perform

    def fail_first(call: HostCall, pin: Any) -> Any:
        if call.ordinal == 1:
            raise Odd("something else")
        return perform(call, pin)

    monkeypatch.setattr(host_runs, "_perform", fail_first)
    reviewed.drain()
    assert ended(calls[0]).error == {
        "name": "Odd",
        "code": "bug",
        "message": "something else",
        "status": 500,
        "type": "api_error",
    }
    assert ended(calls[1]).state == "succeeded"


def test_a_malformed_call_is_refused_before_it_has_a_place(reviewed: Reviewed) -> None:
    with pytest.raises(ValidationTypeError, match="Invalid canonical memory advance request"):
        host_calls.submit_advance(reviewed.authority.wire_id, {}, actor=reviewed.actor)
    with pytest.raises(ValidationTypeError, match="Invalid memory adoption request"):
        host_calls.submit_adoption(reviewed.authority.wire_id, {}, actor=reviewed.actor)
    assert not HostCall.objects.filter(authority=reviewed.authority).exists()
    with pytest.raises(NotFound):
        host_calls.submit_advance(reviewed.authority.wire_id, {}, actor=make_tenant().actor)


def test_a_waiting_call_can_be_withdrawn(reviewed: Reviewed) -> None:
    call = reviewed.submit_advance(reviewed.head)
    with pytest.raises(NotFound):
        host_calls.withdraw_call(reviewed.authority.wire_id, call.wire_id, actor=make_tenant().actor)
    host_calls.withdraw_call(reviewed.authority.wire_id, call.wire_id, actor=reviewed.actor)
    assert reviewed.drain() == 0
    assert ended(call).state == "withdrawn"
    with pytest.raises(Conflict):
        host_calls.withdraw_call(reviewed.authority.wire_id, call.wire_id, actor=reviewed.actor)


def test_what_a_revoked_key_asked_is_not_done(reviewed: Reviewed) -> None:
    made = keys.create_key(
        environment=reviewed.tenant.development.wire_id, name="host", scopes=["host"], actor=reviewed.actor
    )
    actor = keys.authenticate_key(made.secret)
    write(reviewed.tenant, reviewed.canonical, entity("other"))
    prior = reviewed.pin
    value = {"expectedHead": prior.as_wire(), "nextHead": reviewed.head.as_wire(), "v": 1}
    call = host_calls.submit_advance(reviewed.authority.wire_id, value, actor=actor)
    keys.revoke_key(made.key.wire_id, actor=reviewed.actor)
    reviewed.drain()
    assert ended(call).error["name"] == "AuthenticationFailed"
    assert reviewed.pin == prior


def in_threads(count: int, act: Any) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            act(number)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(RUN_SECONDS_MAX + 60)
    assert failures == []


def test_calls_run_in_their_order_and_never_two_at_once(reviewed: Reviewed) -> None:
    """Eight senders and three workers: the times of the rows show no swap and no overlap."""
    for n in range(10):
        write(reviewed.tenant, reviewed.canonical, entity("other", n))
    calls = HostCall.objects.filter(authority=reviewed.authority)
    count, until = SENDERS * CALLS_EACH, time.monotonic() + RUN_SECONDS_MAX

    def submit_when_there_is_room() -> None:
        while True:
            try:
                reviewed.submit_advance(reviewed.head)
                return
            except Conflict as full:
                assert "host calls wait already" in full.message
                assert time.monotonic() < until
                time.sleep(0.2)

    def act(number: int) -> None:
        if number < SENDERS:
            for _ in range(CALLS_EACH):
                submit_when_there_is_room()
            return
        while calls.filter(finished_at__isnull=False).count() < count and time.monotonic() < until:
            reviewed.drain()
            time.sleep(0.01)

    in_threads(SENDERS + 3, act)
    rows = list(calls.order_by("ordinal"))
    assert [row.ordinal for row in rows] == list(range(1, count + 1))
    assert {row.state for row in rows} <= {"succeeded", "failed"}
    for first, second in zip(rows, rows[1:], strict=False):
        assert first.finished_at <= second.started_at


def test_a_blocked_authority_keeps_no_other_waiting(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_reviewed(reviewed.tenant, work=WORK)
    held, go = threading.Event(), threading.Event()
    perform = host_runs._perform

    def hold(call: HostCall, pin: Any) -> Any:
        if call.authority_id == reviewed.authority.id:
            held.set()
            assert go.wait(60)
        return perform(call, pin)

    monkeypatch.setattr(host_runs, "_perform", hold)
    first = reviewed.submit_advance(reviewed.head)
    worker = threading.Thread(target=lambda: (reviewed.drain(), connection.close()))
    worker.start()
    assert held.wait(60)
    call = other.submit_adoption(other.nominate("note:b"))
    assert other.drain() == 1
    assert ended(call).state == "succeeded"
    assert reviewed.drain() == 0
    assert ended(first).state == "running"
    go.set()
    worker.join(60)
    assert ended(first).state == "succeeded"


def test_twenty_equal_adoptions_at_once_make_one_operation(reviewed: Reviewed) -> None:
    for number in range(ROUNDS_OF_SOAK or 1):
        write(reviewed.tenant, reviewed.working, entity(f"note:t{number}"))
        nomination, prior = reviewed.nominate(f"note:t{number}"), reviewed.pin
        calls: list[HostCall] = []

        def act(
            _: int, nomination: Nominated = nomination, prior: Head = prior, calls: list[HostCall] = calls
        ) -> None:
            calls.append(reviewed.submit_adoption(nomination, expected=prior))
            reviewed.drain()

        in_threads(20, act)
        reviewed.drain()
        kept = Receipt.objects.filter(authority=reviewed.authority)
        bodies = [json.loads(kept.get(receipt_sha256=ended(call).receipt_sha256).body) for call in calls]
        assert sorted(body["status"] for body in bodies) == ["adopted"] + ["already-present"] * 19
        assert Operation.objects.filter(space=reviewed.canonical).count() == number + 2


def test_of_two_adoptions_of_one_key_one_is_a_conflict(reviewed: Reviewed) -> None:
    """Both from the same pin, sent and run at once; in every round of another key."""
    for number in range(ROUNDS_OF_SOAK or 3):
        key, prior = f"note:r{number}", reviewed.pin
        nominations = []
        for name in ("One", "Another"):
            write(reviewed.tenant, reviewed.working, entity(key, name))
            nominations.append(reviewed.nominate(key))
        calls: list[HostCall] = []

        def act(
            one: int,
            prior: Head = prior,
            nominations: list[Nominated] = nominations,
            calls: list[HostCall] = calls,
        ) -> None:
            calls.append(reviewed.submit_adoption(nominations[one], expected=prior))
            reviewed.drain()

        in_threads(2, act)
        reviewed.drain()
        won, lost = sorted((ended(call) for call in calls), key=lambda call: call.state, reverse=True)
        assert (won.state, lost.state) == ("succeeded", "failed")
        assert lost.error["conflict"]["actualHead"] == reviewed.head.as_wire() == reviewed.pin.as_wire()
        assert reviewed.pin.sequence == prior.sequence + 1


class Workers:
    """Worker processes on this test's database."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[str]] = []

    def start(self, reviewed: Reviewed, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "DATABASE_URL": url_of(connection.settings_dict)}
        environment["DJANGO_SETTINGS_MODULE"] = "memoryhub.settings"
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.authority.worker", str(reviewed.authority.id), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.running.append(worker)
        return worker

    def stop(self) -> None:
        for worker in self.running:
            if worker.poll() is None:
                worker.kill()
            worker.communicate(timeout=30)


@pytest.fixture
def workers() -> Iterator[Workers]:
    started = Workers()
    yield started
    started.stop()


def status_of(call: HostCall) -> str:
    receipt = Receipt.objects.get(receipt_sha256=ended(call).receipt_sha256, authority=call.authority_id)
    return str(json.loads(receipt.body)["status"])


POINTS = {
    "before_commit": ("adopted", False),
    "after_commit": ("already-present", True),
    "before_publish": ("already-present", True),
}


@pytest.mark.parametrize("round", range(ROUNDS_OF_SOAK or 1))
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_worker_leaves_an_unknown_outcome_and_sending_again_is_safe(
    reviewed: Reviewed, workers: Workers, point: str, round: int
) -> None:
    status, landed = POINTS[point]
    nomination, prior = reviewed.nominate("note:b"), reviewed.pin
    call, following = reviewed.submit_adoption(nomination), reviewed.submit_advance(prior)
    assert workers.start(reviewed, point, "kill").wait(60) == -signal.SIGKILL
    assert (ended(call).state, reviewed.pin) == ("running", prior)
    assert (reviewed.head != prior) is landed
    reviewed.drain()
    assert (ended(call).state, ended(call).error["name"]) == ("failed", "OutcomeUnknown")
    assert (ended(following).state, reviewed.pin) == ("succeeded", prior)
    again = reviewed.submit_adoption(nomination, expected=prior)
    reviewed.drain()
    assert status_of(again) == status
    assert reviewed.pin == reviewed.head
    assert Operation.objects.filter(space=reviewed.canonical).count() == 2
    assert spaces.verify_space(reviewed.canonical.wire_id, actor=reviewed.actor)[1] == []


@pytest.mark.parametrize("round", range(ROUNDS_OF_SOAK or 1))
def test_a_worker_killed_before_it_could_say_so_has_adopted(
    reviewed: Reviewed, workers: Workers, round: int
) -> None:
    nomination, prior = reviewed.nominate("note:b"), reviewed.pin
    call, following = reviewed.submit_adoption(nomination), reviewed.submit_advance(prior)
    assert workers.start(reviewed, "after_publish", "kill").wait(60) == -signal.SIGKILL
    assert (ended(call).state, reviewed.pin == reviewed.head) == ("succeeded", True)
    reviewed.drain()
    assert ended(following).error["name"] == "ConflictError", "it runs, and its prior pin is gone"
    again = reviewed.submit_adoption(nomination, expected=prior)
    reviewed.drain()
    assert status_of(again) == "already-present"
    assert Operation.objects.filter(space=reviewed.canonical).count() == 2


@pytest.mark.parametrize("round", range(ROUNDS_OF_SOAK or 1))
@pytest.mark.parametrize(
    ("point", "state", "status"),
    [("before_publish", "running", "advanced"), ("after_publish", "succeeded", "unchanged")],
)
def test_an_advance_whose_worker_was_killed_may_be_sent_again(
    reviewed: Reviewed, workers: Workers, point: str, state: str, status: str, round: int
) -> None:
    prior = reviewed.pin
    write(reviewed.tenant, reviewed.canonical, entity("other"))
    call = reviewed.submit_advance(reviewed.head)
    assert workers.start(reviewed, point, "kill").wait(60) == -signal.SIGKILL
    assert (ended(call).state, reviewed.pin == prior) == (state, state == "running")
    reviewed.drain()
    again = reviewed.submit_advance(reviewed.head, expected=reviewed.pin)
    reviewed.drain()
    assert status_of(again) == status
    assert reviewed.pin == reviewed.head


@pytest.mark.parametrize("round", range(ROUNDS_OF_SOAK or 1))
@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
def test_a_worker_that_was_stopped_and_goes_on_publishes_nothing(
    reviewed: Reviewed, workers: Workers, point: str, round: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nomination, prior = reviewed.nominate("note:b"), reviewed.pin
    call = reviewed.submit_adoption(nomination)
    worker = workers.start(reviewed, point, "stop")
    assert worker.stdout is not None
    assert worker.stdout.readline() == f"reached {point}\n"
    assert reviewed.drain() == 0
    monkeypatch.setattr(turns, "STALE_SECONDS", 0)
    assert reviewed.authority.id in turns.take_stale_turns()
    monkeypatch.undo()
    deadline = time.monotonic() + 30
    while ended(call).state == "running" and time.monotonic() < deadline:
        reviewed.drain()
    assert ended(call).error["name"] == "OutcomeUnknown"
    commits = Operation.objects.filter(space=reviewed.canonical).count()
    worker.send_signal(signal.SIGCONT)
    worker.wait(60)
    assert reviewed.pin == prior
    assert (
        Operation.objects.filter(space=reviewed.canonical).count()
        == commits
        == (2 if point == "after_commit" else 1)
    )
    assert ended(call).error["name"] == "OutcomeUnknown"
    assert not Receipt.objects.filter(authority=reviewed.authority).exists()
    again = reviewed.submit_adoption(nomination, expected=prior)
    reviewed.drain()
    assert ended(again).state == "succeeded"


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_wrong_and_steps_takes_no_turn_away(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, ids_come_back: None, hours: int
) -> None:
    """The worker's clock is an hour off and steps at every point of the call, and so does that of the sweeper beside it."""
    nomination = reviewed.nominate("note:b")
    looked: list[bool] = []
    now = datetime.now(UTC) + timedelta(hours=hours)
    with time_machine.travel(now, tick=True) as clock:

        def look(_: int) -> None:
            looked.append(reviewed.authority.id in turns.take_stale_turns())

        def step(point: str) -> None:
            clock.shift(timedelta(hours=-2 * hours if len(looked) % 2 == 0 else 2 * hours))
            in_threads(1, look)

        monkeypatch.setattr(host_runs, "reach", step)
        call = reviewed.submit_adoption(nomination)
        reviewed.drain()
    done = ended(call)
    assert looked == [False] * 4
    assert (done.state, reviewed.pin) == ("succeeded", reviewed.head)
    assert done.submitted_at <= done.started_at <= done.finished_at
    assert done.finished_at - done.submitted_at < timedelta(minutes=1)


def test_a_silent_turn_is_taken_away_when_it_is_old_and_not_before(
    reviewed: Reviewed, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process keeps its connection, and the lock on it, for ever. The long run waits for the real half minute."""
    if not ROUNDS_OF_SOAK:
        monkeypatch.setattr(turns, "STALE_SECONDS", 6)
    call = reviewed.submit_adoption(reviewed.nominate("note:b"))
    worker = workers.start(reviewed, "before_commit", "stop")
    assert worker.stdout is not None
    assert worker.stdout.readline() == "reached before_commit\n"
    stopped = time.monotonic()
    while ended(call).state == "running":
        host_runs.sweep_turns()
        reviewed.drain()
        assert time.monotonic() - stopped < 2 * turns.STALE_SECONDS
        time.sleep(0.2)
    silent = time.monotonic() - stopped
    assert ended(call).error["name"] == "OutcomeUnknown"
    assert silent >= turns.STALE_SECONDS - turns.HEARTBEAT_SECONDS - 1, (
        "a heartbeat may be as old when it stops"
    )
    print(f"a silent turn was taken after {silent:.1f} s")


def test_a_lost_turn_stops_a_commit_even_on_a_session_that_lives(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = reviewed.submit_adoption(reviewed.nominate("note:b"))
    prior = reviewed.pin

    def take_away(point: str) -> None:
        if point == "before_commit":
            HostCall.objects.filter(id=call.id).update(
                state="failed", finished_at=ended(call).submitted_at, error=host_runs.UNKNOWN
            )

    monkeypatch.setattr(host_runs, "reach", take_away)
    reviewed.drain()
    assert (reviewed.pin, reviewed.head) == (prior, prior)
    assert ended(call).error == host_runs.UNKNOWN


def test_an_ended_turn_leaves_nothing_behind(reviewed: Reviewed) -> None:
    reviewed.submit_advance(reviewed.head)
    reviewed.drain()
    turn = Turn.objects.get(authority=reviewed.authority)
    assert (turn.attempt, turn.application, turn.heartbeat_at) == (None, None, None)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
            "((classid::bigint << 32) | objid::bigint) = %s",
            [turns.lock_number(reviewed.authority.id)],
        )
        assert cursor.fetchone()[0] == 0
    assert wait_until(lambda: count_turn_sessions() == 0, 10), "a session ends a moment after it was told to"


def count_turn_sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'memoryhub turn%%'"
        )
        return int(cursor.fetchone()[0])


def test_the_next_turn_is_free_when_the_one_before_is_over(reviewed: Reviewed) -> None:
    """Before its session has ended: somebody else asks while the hub has not yet closed it."""
    close, asked = psycopg.Connection.close, []

    def close_late(session: Any) -> None:
        if "memoryhub turn" in session.info.get_parameters().get("application_name", ""):
            with psycopg.connect(url_of(connection.settings_dict)) as other:
                number = turns.lock_number(reviewed.authority.id)
                asked.append(other.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchone())
        close(session)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Connection, "close", close_late)
        reviewed.submit_advance(reviewed.head)
        assert reviewed.drain() == 1
    assert asked == [(True,)]


def test_a_nomination_that_is_adopted_says_so(reviewed: Reviewed) -> None:
    nomination = reviewed.nominate("note:b")
    with atomic():
        agent.keep_nomination(reviewed.authority, nomination, actor=reviewed.actor)
    row = Nomination.objects.get(authority=reviewed.authority)
    value = {
        "expectedCanonicalHead": reviewed.pin.as_wire(),
        "nominationSha256": nomination.sha256,
        "v": 1,
    }
    call = host_calls.submit_adoption(reviewed.authority.wire_id, value, actor=reviewed.actor)
    row.refresh_from_db()
    assert row.state == "adopting"
    host_calls.withdraw_call(reviewed.authority.wire_id, call.wire_id, actor=reviewed.actor)
    row.refresh_from_db()
    assert row.state == "pending"
    call = host_calls.submit_adoption(reviewed.authority.wire_id, value, actor=reviewed.actor)
    reviewed.drain()
    row.refresh_from_db()
    assert (ended(call).state, row.state) == ("succeeded", "adopted")


def test_the_database_lets_no_pin_go_back(reviewed: Reviewed) -> None:
    from django.db import IntegrityError
    from django.db.transaction import atomic

    for change in ({"pin_sequence": 0}, {"pin_records_sha256": "f" * 64}, {"adoption_actor_id": "other"}):
        with pytest.raises(IntegrityError), atomic():
            Authority.objects.filter(id=reviewed.authority.id).update(**change)


def test_the_sweep_rings_for_what_nobody_runs(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[tuple[str, str]] = []
    monkeypatch.setattr(host_runs.jobs, "enqueue", lambda name, key: rung.append((name, key)))
    call = reviewed.submit_advance(reviewed.head)
    rung.clear()
    tasks.sweep_turns()
    assert ("authority.drain", reviewed.authority.wire_id) in rung
    tasks.drain(reviewed.authority.wire_id)
    assert ended(call).state == "succeeded"
    rung.clear()
    tasks.sweep_turns()
    assert ("authority.drain", reviewed.authority.wire_id) not in rung
    tasks.drain("authority_unknown")

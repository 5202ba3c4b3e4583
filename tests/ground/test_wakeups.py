"""Waiting for a row: few requests of a process do, whatever for, and the others are answered at once."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoryhub import wakeups
from tests.noise import NOISE_SECONDS


def test_sixteen_wait_and_the_seventeenth_is_answered_at_once() -> None:
    done, all_wait = threading.Event(), threading.Event()
    threads: set[int] = set()

    def look() -> bool:
        threads.add(threading.get_ident())
        if len(threads) == wakeups.WAITS_MAX:
            all_wait.set()
        return done.is_set()

    def wait(_: int) -> bool:
        return wakeups.wait_for(f"test_{uuid.uuid4().hex}", look, bool, seconds=20)

    with ThreadPoolExecutor(wakeups.WAITS_MAX) as pool:
        waiting = [pool.submit(wait, number) for number in range(16)]
        assert all_wait.wait(10)
        started = time.monotonic()
        assert wait(17) is False
        assert time.monotonic() - started < 0.5 + NOISE_SECONDS
        assert not any(one.done() for one in waiting)
        done.set()
        assert [one.result(timeout=10) for one in waiting] == [True] * 16
    assert wait(18) is True, "a place that was left is free again"


def test_no_time_to_wait_is_one_look() -> None:
    looks: list[int] = []
    assert wakeups.wait_for("test_none", lambda: looks.append(1), lambda _: False, seconds=0) is None
    assert looks == [1]


def test_what_tells_of_itself_soon_is_looked_at_once() -> None:
    name, done, looks = f"test_{uuid.uuid4().hex}", threading.Event(), []

    def look() -> bool:
        looks.append(1)
        return done.is_set()

    def tell() -> None:
        done.set()
        while not looks:  # until somebody has heard it
            wakeups.wake(name)
            time.sleep(0.001)

    with ThreadPoolExecutor(1) as pool:
        telling = pool.submit(tell)
        assert wakeups.wait_for(name, look, bool, seconds=20) is True
        telling.result(timeout=10)
    assert looks == [1]


def test_what_told_of_itself_before_anybody_listened_is_soon_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "_LOOK_SECONDS", 15.0)
    looks: list[int] = []
    started = time.monotonic()
    assert wakeups.wait_for("test_before", lambda: looks.append(1) is None, bool, seconds=20) is True
    assert looks == [1]
    assert time.monotonic() - started < 1 + NOISE_SECONDS

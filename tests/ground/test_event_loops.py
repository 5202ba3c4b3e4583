"""A thread runs its coroutines in one loop, and what one of them leaves behind does not go on in the next."""

import asyncio
import threading

import pytest

from memoryhub import event_loops


async def current_loop() -> asyncio.AbstractEventLoop:
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


def test_the_loop_of_a_thread_is_kept() -> None:
    assert event_loops.run(current_loop()) is event_loops.run(current_loop())


def test_each_thread_has_its_own_and_ends_it() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    def work() -> None:
        loops.extend(event_loops.run(current_loop()) for _ in range(2))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    first, second = loops
    assert first is second is not event_loops.run(current_loop())
    assert first.is_closed()


def test_errors_and_cancellation_come_out_and_the_next_runs() -> None:
    async def fail() -> None:
        raise ValueError("as it was")

    async def cancelled() -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        await asyncio.sleep(30)

    with pytest.raises(ValueError, match="as it was"):
        event_loops.run(fail())
    with pytest.raises(asyncio.CancelledError):
        event_loops.run(cancelled())
    assert event_loops.run(asyncio.sleep(0, "well")) == "well"


def test_what_was_left_running_does_not_go_on() -> None:
    went_on: list[int] = []

    async def late() -> None:
        await asyncio.sleep(0.01)
        went_on.append(1)

    async def leave() -> "asyncio.Task[None]":
        return asyncio.ensure_future(late())

    left = event_loops.run(leave())
    event_loops.run(asyncio.sleep(0.05))
    assert went_on == []
    assert not left.done()
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # nothing waits for it any more

"""A worker that dies at a named point of one operation: `python -m tests.providers.dying_worker`, told by lines of its input.

Each line is `POINT OPERATION`, `OPERATION` in hex. The operation is run by a fork, which kills itself at the point; the answer is a line with how it ended.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()
    from providers import http_operations  # before the forks, which then need no time for it

    print("ready", flush=True)
    for line in sys.stdin:
        point, operation_id = line.split()
        child = os.fork()
        if child == 0:
            POINTS[point]()
            http_operations.run_handed_over(UUID(operation_id))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "lived", flush=True)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before_intent() -> None:
    """Within the claim, before it commits, or within the taking of what was handed over."""
    from django.db.transaction import atomic

    from providers import handovers, http_operations

    start, take = http_operations._start_attempt, handovers.take

    def start_and_die(*arguments: Any) -> Any:
        start(*arguments)
        die()

    def take_and_die(*arguments: Any) -> Any:
        with atomic():
            if take(*arguments) is not None:
                die()
        return None

    http_operations._start_attempt = start_and_die
    handovers.take = take_and_die


def before_send() -> None:
    from providers import http_operations

    http_operations._send = lambda *_: die()  # type: ignore[assignment, func-returns-value, return-value]


def before_answer() -> None:
    """The whole request is on the wire, nothing of the answer is read."""
    from memoryhub import egress

    async def read(*_: Any, **__: Any) -> bytes:
        die()
        return b""

    egress._BoundedStream.read = read  # type: ignore[method-assign]


def before_row() -> None:
    from providers import http_operations

    http_operations._conclude = lambda *_: die()  # type: ignore[assignment, func-returns-value, return-value]


POINTS: dict[str, Callable[[], None]] = {
    "before_intent": before_intent,
    "before_send": before_send,
    "before_answer": before_answer,
    "before_row": before_row,
}

if __name__ == "__main__":
    main()

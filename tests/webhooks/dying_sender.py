"""A worker that dies at a named point of sending: `python -m tests.webhooks.dying_sender POINT WEBHOOK`, the id in hex."""

import os
import signal
import sys
from typing import Any
from uuid import UUID

POINTS = ("before_claim", "before_send", "before_answer", "before_row")


def main(point: str, webhook_id: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()
    from memoryhub import egress, webhook_sending

    def die(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def die_reading(*_: Any, **__: Any) -> bytes:
        die()
        return b""

    if point == "before_claim":  # the row is written, and nothing of it has committed
        webhook_sending._make = die  # type: ignore[assignment]
    if point == "before_send":
        webhook_sending._send = die  # type: ignore[assignment]
    if point == "before_answer":  # the whole request is on the wire
        egress._BoundedStream.read = die_reading  # type: ignore[method-assign]
    if point == "before_row":
        webhook_sending._conclude = die
    webhook_sending.send_next(UUID(webhook_id))


if __name__ == "__main__":
    main(*sys.argv[1:])

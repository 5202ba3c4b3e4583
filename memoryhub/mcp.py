"""The MCP server as a process: `python -m memoryhub.mcp`. Wiring only.

A process of its own, since the protocol's packages take a second to load and the web server needs none of them.
`./hub up` starts it, hands it the port and starts it again should it die; SIGTERM ends it once its calls are answered.
"""

import os
import signal
import sys
from asyncio import TimerHandle
from pathlib import Path
from typing import Any

from memoryhub.environ import read_text
from memoryhub.exits import FORESEEN, explain_exit
from memoryhub.listening import take_port
from memoryhub.parts import READY_FILE

CONNECTIONS_MAX = 1_000
HEAD_SECONDS_MAX = 30  # what a new connection has to send a request's head
HEAD_BYTES_MAX = 32_768
KEEP_ALIVE_SECONDS = 30
STOP_SECONDS = 10  # calls may finish in it when the hub ends


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)  # its metrics are its own, see /metrics of its port
    try:
        import django

        django.setup()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _ended)  # uvicorn raises it once more after its end
        serve()
    except FORESEEN as error:
        code, sentence = explain_exit(error)
        sys.stderr.write(f"memoryhub: {sentence}\n")
        return code
    return 0


def _ended(number: int, frame: Any) -> None: ...


def serve() -> None:
    """Until a signal ends it. Raises: UpError, SettingError."""
    import uvicorn
    from django.conf import settings

    from memoryhub.mcp_door import BODY_BYTES_MAX, Door, read_names
    from memoryhub.mcp_server import make_manager
    from memoryhub.mcp_threads import Threads

    threads = Threads(settings.MCP_THREADS)
    manager = make_manager(threads, body_bytes_max=BODY_BYTES_MAX)
    listener = take_port(read_text("MEMORYHUB_MCP_LISTEN_FD"), settings.MCP_PORT)
    config = uvicorn.Config(
        Application(Door(manager.handle_request, threads, read_names()), manager),
        http=_protocol(),
        ws="none",
        lifespan="on",
        log_config=None,  # the hub logs each request itself, with its id and without content
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        reset_contextvars=True,
    )
    uvicorn.Server(config).run(sockets=[listener])


class Application:
    """The door, and what surrounds its life: the protocol's own tasks, and the pool of connections."""

    def __init__(self, door: Any, manager: Any) -> None:
        self.door = door
        self.manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self.door(scope, receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        async with self.manager.run():
            await send({"type": "lifespan.startup.complete"})
            if ready_file := read_text(READY_FILE):
                Path(ready_file).touch()
            await receive()
        _close_pool()
        await send({"type": "lifespan.shutdown.complete"})


def _close_pool() -> None:
    from django.db import connection

    connection.close_pool()  # type: ignore[attr-defined]


def _protocol() -> type[Any]:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """uvicorn gives up a silent connection only after its first answer; this one before it too."""

        head_timer: TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.head_timer = self.loop.call_later(HEAD_SECONDS_MAX, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
            super().connection_lost(exc)

        def _give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Protocol


if __name__ == "__main__":
    sys.exit(main())

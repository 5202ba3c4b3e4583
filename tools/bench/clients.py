"""The client processes: each holds one connection to the hub and one to the database, and uses them in turn.

The hub and the floor are called by the same processes in the same way, so what the client side costs them is alike.
"""

import json
import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Literal

import psycopg

from tools.bench.floor import Statement, replay
from tools.bench.plans import Plan, Step

type Side = Literal["hub", "floor"]
type MakePlans = Callable[[int], Mapping[str, Plan]]

ANSWER_SECONDS_MAX = 30
_HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Order:
    """Do the steps of a plan for so long, at most so many."""

    side: Side
    plan: str
    operation: str
    starts_at: float  # time.monotonic, the same clock in every process
    seconds: float
    steps_max: int


@dataclass(frozen=True, slots=True)
class Work:
    """What one client did: seconds of each step, when it was done, and the CPU seconds of the client itself."""

    step_seconds: list[float]
    ended_at: float
    cpu_seconds: float


class HttpCaller:
    """HTTP/1.1 with keep-alive over a bare socket, as cheap as can be: the server is what is measured."""

    def __init__(self, port: int, key: str) -> None:
        self.address = ("127.0.0.1", port)
        self.head = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        )

    def open(self) -> None:
        self.socket = socket.create_connection(self.address, timeout=ANSWER_SECONDS_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def call(self, step: Step) -> Any:
        body = step.body_bytes
        head = f"{step.method} {step.url} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        return self._answer(step)

    def _answer(self, step: Step) -> Any:
        received = self.socket.recv(65_536)
        while _HEAD_END not in received:
            received += self._more()
        head, _, body = received.partition(_HEAD_END)
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self._more()
        if not head.startswith(b"HTTP/1.1 20"):
            raise AssertionError(f"{step.method} {step.url}: {head[:12]!r} {body[:300]!r}")
        return json.loads(body) if step.method == "POST" else None

    def _more(self) -> bytes:
        more = self.socket.recv(65_536)
        assert more, "the hub closed the connection in the middle of an answer"
        return more


class FloorCaller:
    def __init__(self, dsn: str, statements: Mapping[str, Sequence[Statement]]) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.statements = statements

    def call(self, operation: str, step: Step) -> None:
        replay(self.connection, self.statements[operation], dict(step.values))


def serve(
    pipe: Connection, client: int, port: int, key: str, dsn: str, statements: Any, make_plans: MakePlans
) -> None:
    """A client process: obey orders until there are no more."""
    plans = make_plans(client)
    http, floor = HttpCaller(port, key), FloorCaller(dsn, statements)
    while (order := pipe.recv()) is not None:
        http.open()
        plan = plans[order.plan]
        call = http.call if order.side == "hub" else partial(floor.call, order.operation)
        pipe.send(_work(plan, call, order))
        http.close()


def _work(plan: Plan, call: Callable[[Step], Any], order: Order) -> Work:
    spent: list[float] = []
    time.sleep(max(0.0, order.starts_at - time.monotonic()))
    cpu_before, now = time.process_time(), time.monotonic()
    end = order.starts_at + order.seconds
    while now < end and len(spent) < order.steps_max and (step := plan.next_step()) is not None:
        started = time.monotonic()
        answer = call(step)
        now = time.monotonic()
        spent.append(now - started)
        plan.note(step, answer)
    return Work(spent, now, time.process_time() - cpu_before)


class Fleet:
    """The client processes, and the pipes to them."""

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self.pipes = pipes

    def work(self, order: Order, clients: int) -> list[Work]:
        pipes = self.pipes[:clients]
        for pipe in pipes:
            pipe.send(order)
        return [pipe.recv() for pipe in pipes]


@contextmanager
def started_fleet(clients: int, **facts: Any) -> Iterator[Fleet]:
    """`facts`: what `serve` takes besides its pipe and its number."""
    spawn = multiprocessing.get_context("spawn")
    pairs = [spawn.Pipe() for _ in range(clients)]
    started = [
        spawn.Process(target=serve, args=(theirs, client), kwargs=facts, daemon=True)
        for client, (_, theirs) in enumerate(pairs)
    ]
    for process in started:
        process.start()
    for _, theirs in pairs:
        theirs.close()  # so that a client that fails is an end of file here, and no wait without end
    try:
        yield Fleet([ours for ours, _ in pairs])
        for ours, _ in pairs:
            ours.send(None)
    finally:
        for process in started:
            process.join(5)
            process.terminate()

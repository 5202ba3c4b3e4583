"""Measures every cell, the hub and the floor right after each other, so that both meet the same noise."""

import itertools
import sys
import time
from collections.abc import Sequence

from tools.bench.cells import CLIENTS, Cell
from tools.bench.clients import Fleet, Order, Side
from tools.bench.figures import Figure, Figures
from tools.bench.hub import Hub

SIDES: tuple[Side, ...] = ("floor", "hub")
WARM_UP_SECONDS = 0.5
START_SECONDS = 0.05  # for an order to reach every client


def measure_all(hub: Hub, fleet: Fleet, cells: Sequence[Cell], *, rounds: int, seconds: float) -> Figures:
    for cell in cells:  # so that nothing is done for the first time in the first round
        _measure(hub, fleet, cell, max(CLIENTS), "hub", number=-1, seconds=WARM_UP_SECONDS)
    figures = Figures()
    for number in range(rounds):
        sides = SIDES if number % 2 else SIDES[::-1]
        for cell, clients, side in itertools.product(cells, CLIENTS, sides):
            if side == "floor" and not cell.has_floor:
                continue
            figures.taken += _measure(hub, fleet, cell, clients, side, number, seconds)
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return figures


def _measure(
    hub: Hub, fleet: Fleet, cell: Cell, clients: int, side: Side, number: int, seconds: float
) -> list[Figure]:
    figures = [Figure(operation, cell.size, clients, side, number) for operation in cell.operations]
    for _, figure in itertools.product(range(cell.cycles), figures):
        order = Order(
            side=side,
            plan=cell.plan_name(figure.operation),
            operation=figure.operation,
            starts_at=time.monotonic() + START_SECONDS,
            seconds=seconds,
            steps_max=cell.steps_max // clients,
        )
        _add_slice(figure, hub, fleet, order)
    return figures


def _add_slice(figure: Figure, hub: Hub, fleet: Fleet, order: Order) -> None:
    web, postgres = hub.web_cpu_seconds(), hub.postgres_cpu_seconds()
    works = fleet.work(order, figure.clients)
    web, postgres = hub.web_cpu_seconds() - web, hub.postgres_cpu_seconds() - postgres
    figure.seconds += max(work.ended_at for work in works) - order.starts_at
    figure.driver_cpu_seconds += web if order.side == "hub" else sum(work.cpu_seconds for work in works)
    figure.postgres_cpu_seconds += postgres
    for work in works:
        figure.step_seconds += work.step_seconds

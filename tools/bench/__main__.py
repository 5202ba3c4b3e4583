"""`./hub bench [--rounds N] [--seconds S] [--json FILE]`: prints one table and the goals."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.bench.cells import CLIENTS, CONVERSATIONS, LARGE, ROOM, SMALL, Targets, all_cells
from tools.bench.clients import started_fleet
from tools.bench.figures import goals, table
from tools.bench.floor import Statement
from tools.bench.hub import started_hub, started_postgres
from tools.bench.measure import measure_all


def main() -> int:
    options = _parse()
    with started_postgres() as postgres:
        key, targets, statements = _arrange()
        facts = {"key": key, "dsn": postgres.dsn(), "statements": statements}
        with (
            started_hub(postgres) as hub,
            started_fleet(max(CLIENTS), port=hub.web.port, make_plans=targets.make_plans, **facts) as fleet,
        ):
            figures = measure_all(hub, fleet, all_cells(), rounds=options.rounds, seconds=options.seconds)
            memory = [f"{size >> 20} MB" for size in hub.web_memory_bytes()]
    print(table(figures))
    print("\nResident memory of the web processes at the end:", ", ".join(memory), "\n")
    print(*goals(figures), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([figure.as_record() for figure in figures.taken], indent=1))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./hub bench", description="Measure the hub beside bare SQL.")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one measurement (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file")
    return parser.parse_args()


def _arrange() -> tuple[str, Targets, Mapping[str, Sequence[Statement]]]:
    """The key of a filled hub, what the clients aim at, and the statements of each operation."""
    import django

    django.setup()
    from django.core.management import call_command

    from tools.bench.arrange import make_conversations, make_target, make_world
    from tools.bench.record import record_operations

    call_command("migrate", verbosity=0)
    world = make_world()
    targets = Targets(
        stores={size: make_target(size, actor=world.actor) for size in (SMALL, LARGE)},
        roomy={size: make_target(max(size - ROOM, SMALL), actor=world.actor) for size in (SMALL, LARGE)},
        own=tuple(make_target(SMALL, actor=world.actor) for _ in range(max(CLIENTS))),
        conversations=tuple(
            make_conversations(CONVERSATIONS, client, actor=world.actor) for client in range(max(CLIENTS))
        ),
    )
    recorded = make_conversations(1, max(CLIENTS), actor=world.actor)
    return world.key, targets, record_operations(world, make_target(SMALL, actor=world.actor), recorded)


if __name__ == "__main__":
    sys.exit(main())

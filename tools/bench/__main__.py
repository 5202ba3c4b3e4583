"""`./hub bench [--rounds N] [--seconds S] [--json FILE]`: prints one table and the goals."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.cells import CLIENTS, CONVERSATIONS, LARGE, ROOM, SMALL, Targets, all_cells
from tools.bench.clients import started_fleet
from tools.bench.figures import goals, table
from tools.bench.floor import Statement
from tools.bench.hub import started_hub, started_postgres
from tools.bench.measure import measure_all
from tools.bench.services import measure_recalls, started_endpoint, started_worker


def main() -> int:
    options = _parse()
    with started_postgres() as postgres, started_endpoint(postgres) as endpoint:
        arranged = _arrange(endpoint.origin)
        facts = {"key": arranged.key, "dsn": postgres.dsn(), "statements": arranged.statements}
        plans = arranged.targets.make_plans
        with started_hub(postgres) as hub:
            with started_fleet(max(CLIENTS), port=hub.web.port, make_plans=plans, **facts) as fleet:
                figures = measure_all(hub, fleet, all_cells(), rounds=options.rounds, seconds=options.seconds)
                memory = [f"{size >> 20} MB" for size in hub.web_memory_bytes()]
            with started_worker(postgres):
                recalls = measure_recalls(hub.web.port, arranged.key, arranged.asking, endpoint)
    print(table(figures), recalls.table(), sep="\n\n")
    print("\nResident memory of the web processes at the end:", ", ".join(memory), "\n")
    print(*goals(figures), *recalls.goals(), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([figure.as_record() for figure in figures.taken], indent=1))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./hub bench", description="Measure the hub beside bare SQL.")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one measurement (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to this file")
    return parser.parse_args()


@dataclass(frozen=True, slots=True)
class _Arranged:
    """The key of a filled hub, what the clients aim at, the statements of each operation, and a session whose memory is a service."""

    key: str
    targets: Targets
    statements: Mapping[str, Sequence[Statement]]
    asking: str


def _arrange(origin: str) -> _Arranged:
    import django

    django.setup()
    from django.core.management import call_command

    from tools.bench.arrange import make_asking_session, make_conversations, make_target, make_world
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
    return _Arranged(
        key=world.key,
        targets=targets,
        statements=record_operations(world, make_target(SMALL, actor=world.actor), recorded),
        asking=make_asking_session(origin, actor=world.actor),
    )


if __name__ == "__main__":
    sys.exit(main())

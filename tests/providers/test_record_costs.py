"""What a save costs beside the same rows inserted bare, in the same run; and that nothing costs more queries in a full scope."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import keys
from tests.authorization.snapshots import undone
from tests.providers.record_desk import RecordDesk
from tests.world import Tenant

ROUNDS, SAVES = 4, 40
DATABASE_RATIO_MAX, WHOLE_RATIO_MAX = 1.5, 4.0
STATEMENTS_MAX = 10  # of a save
TEXT = "Alice prefers tea in the morning, and coffee after lunch when it rains outside."

type Statement = tuple[str, Any]


@dataclass
class Work:
    """Processor seconds of the database's process and of both together: what others on the machine do is not in them."""

    database: float
    both: float


@contextmanager
def worked(measured: list[Work]) -> Iterator[None]:
    """Source: proc(5), schedstat."""
    backend, own = _backend_seconds(), time.process_time()
    yield
    database = _backend_seconds() - backend
    measured.append(Work(database, database + time.process_time() - own))


def _backend_seconds() -> float:
    assert connection.connection is not None
    pid = connection.connection.info.backend_pid
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def recorded() -> Iterator[list[Statement]]:
    statements: list[Statement] = []

    def record(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        yield statements


def insert_bare(statements: list[Statement]) -> None:
    """These statements in one transaction on the same connection, without Django."""
    raw = connection.connection
    assert raw is not None
    with raw.cursor() as cursor:
        cursor.execute("BEGIN")
        for sql, params in statements:
            cursor.execute(sql, params)
        cursor.execute("COMMIT")


def test_a_save_costs_little_beside_its_rows_alone(committed: Tenant) -> None:
    desk = RecordDesk(committed, keys.authenticate_key(committed.new_key("host")))
    desk.save(TEXT, thread="warm", author="Alice")
    rounds = [_measure_round(desk, number) for number in range(ROUNDS)]
    database, whole = min(one for one, _ in rounds), min(one for _, one in rounds)
    assert database <= DATABASE_RATIO_MAX and whole <= WHOLE_RATIO_MAX, rounds


def _measure_round(desk: RecordDesk, number: int) -> tuple[float, float]:
    """(database, whole): medians of saves, of those of the bare inserts beside them."""
    bare: list[Work] = []
    saves: list[Work] = []
    for save in range(SAVES):
        _measure(desk, number * SAVES + save, bare, saves)
    database = median(one.database for one in saves) / median(one.database for one in bare)
    return database, median(one.both for one in saves) / median(one.both for one in bare)


def _measure(desk: RecordDesk, number: int, bare: list[Work], saves: list[Work]) -> None:
    """A save's own rows inserted bare, and a save, in turn."""
    with undone(), recorded() as statements:
        desk.save(TEXT, key=f"bare-{number}", thread="bare", author="Alice")
    inserts = [one for one in statements if one[0].lstrip().startswith("INSERT")]
    assert len(inserts) == 7, [sql for sql, _ in inserts]
    asked = [sql for sql, _ in statements if "SAVEPOINT" not in sql]
    assert len(asked) <= STATEMENTS_MAX, asked
    with worked(bare):
        insert_bare(inserts)
    with worked(saves):
        desk.save(TEXT, key=f"save-{number}", thread="save", author="Alice")


def statements_of(act: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def test_a_full_scope_costs_no_more_statements_than_a_small_one(tenant: Tenant) -> None:
    desk = RecordDesk(tenant)
    desk.save("Tea number 0.", key="first")
    small = (
        statements_of(lambda: desk.find("tea", k=5)),
        statements_of(lambda: desk.save("Tea number 1.", key="second")),
    )
    for number in range(200):
        desk.save(f"Tea number {number + 2}.", key=f"k{number}")
    full = (
        statements_of(lambda: desk.find("tea", k=5)),
        statements_of(lambda: desk.save("Tea at last.", key="last")),
    )
    assert full == small and max(full) <= 20

"""The hub that is measured: PostgreSQL and the web server as in production, in a folder that goes away."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memoryhub.embedded import EmbeddedPostgres, ensure_secrets
from tests.live import LiveHub

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Hub:
    web: LiveHub
    web_pid: int
    postgres_pid: int

    def web_cpu_seconds(self) -> float:
        return cpu_seconds(self.web_pid)

    def postgres_cpu_seconds(self) -> float:
        return cpu_seconds(self.postgres_pid)

    def web_memory_bytes(self) -> list[int]:
        """The resident memory of each web process that serves."""
        return [resident_bytes(pid) for pid in self.web.worker_pids()]


@contextmanager
def started_postgres() -> Iterator[EmbeddedPostgres]:
    """A database of our own, which this process's Django settings name from now on."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-bench-"))
    folder.chmod(0o711)  # PostgreSQL's user may enter, when we are root
    postgres = EmbeddedPostgres(folder)
    try:
        ensure_secrets(folder)
        (folder / "static").mkdir()
        postgres.start()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "DATABASE_URL": postgres.url(),
            "MEMORYHUB_DATA_DIR": str(folder),
            "MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": "0",
            "MEMORYHUB_LOG_LEVEL": "ERROR",
        }
        yield postgres
    finally:
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def started_hub(postgres: EmbeddedPostgres) -> Iterator[Hub]:
    """The web server as `./hub up` starts it, on a free port, when all its processes serve."""
    metrics = postgres.data_dir / "run" / "metrics"
    metrics.mkdir(parents=True, exist_ok=True)
    settings = {
        "MALLOC_ARENA_MAX": "2",
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        "MEMORYHUB_LOG_LEVEL": "INFO",  # the line of each request is part of its cost
    }
    web = LiveHub(postgres.data_dir / "logs", database_url=postgres.url(), settings=settings)
    try:
        web.start()
        web_pid, postgres_pid = web.program.pid(), postgres.pid()
        assert web_pid and postgres_pid, "both were just started"
        yield Hub(web, web_pid, postgres_pid)
    finally:
        web.stop()


def cpu_seconds(pid: int) -> float:
    """What a process, its children and those it has collected used so far. Source: proc(5), stat 14 to 17."""
    own, collected = _ticks(pid)
    return (own + collected + sum(sum(_ticks(child)) for child in children_of(pid))) / _TICKS_PER_SECOND


def _ticks(pid: int) -> tuple[int, int]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES

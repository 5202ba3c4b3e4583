"""A whole hub of its own whose parts may be killed: PostgreSQL with production's settings, a queue, two web processes.

Imports nothing of Django. Parts are started in the thread that made the hub: they end with it.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from memoryhub.embedded import EmbeddedPostgres, EmbeddedQueue, ensure_secrets, processes
from memoryhub.parts import Program
from memoryhub.supervisor import WORKER_OPTIONS
from tests.live import LiveCaller, LiveHub, NoAnswerError

PROJECT_FOLDER = Path(__file__).resolve().parent.parent.parent
PREPARE_SECONDS_MAX = 180.0
ANSWER_AGAIN_SECONDS_MAX = 30.0


class CrashHub:
    def __init__(self, folder: Path | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        """`folder`: one that PostgreSQL's user may enter; without it one is made and removed again."""
        self.own_folder = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="memoryhub-crash-"))
        self.folder.chmod(0o711)
        self.postgres = EmbeddedPostgres(self.folder, settings=settings)
        self.queue = EmbeddedQueue(self.folder)
        self.web: LiveHub | None = None
        self.key = ""

    def start(self) -> None:
        ensure_secrets(self.folder)
        self.postgres.start()
        self.queue.start()
        self.key = str(self.run_inside("prepare")["key"])
        self.web = self.start_web(self.postgres.url())

    def start_web(self, database_url: str, *, web_processes: int = 2) -> LiveHub:
        web = LiveHub(
            self.folder,
            database_url=database_url,
            redis_url=self.queue.url(),
            web_processes=web_processes,
            settings={
                "MEMORYHUB_DATA_DIR": str(self.folder),
                "MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": "10000000",
            },
        )
        web.start()
        return web

    def stop(self) -> None:
        if self.web is not None:
            self.web.stop()
        self.queue.stop()
        self.postgres.stop()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def caller(self) -> LiveCaller:
        assert self.web is not None, "started"
        return self.web.caller(self.key)

    def web_log(self) -> str:
        """The end of what the web server said."""
        return (self.folder / "web.log").read_text()[-2_000:]

    def execute(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """As PostgreSQL's superuser."""
        with psycopg.connect(self.postgres.dsn(user="postgres"), autocommit=True) as connection:
            cursor = connection.execute(query, values)
            return list(cursor.fetchall()) if cursor.description else []

    def find_faults(self) -> list[str]:
        """What the database holds that no sequence of whole changes can leave behind."""
        return [str(fault) for fault in self.run_inside("verify")["faults"]]

    # The hub's own code, in a process of its own.

    def environment(self) -> dict[str, str]:
        return os.environ | {
            "MEMORYHUB_DATA_DIR": str(self.folder),
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.queue.url(),
            "MEMORYHUB_DATABASE_POOL_SIZE": "0",
            "MEMORYHUB_LOG_LEVEL": "WARNING",
        }

    def worker(self) -> Program:
        """The worker of `./hub up`, with its clock; not started."""
        command = ["celery", "--quiet", "-A", "memoryhub.worker", "worker", *WORKER_OPTIONS]
        (self.folder / "run").mkdir(exist_ok=True)
        return Program(
            [sys.executable, "-m", *command, "--loglevel", "WARNING"],
            environment=self.environment() | {"DJANGO_SETTINGS_MODULE": "memoryhub.settings"},
            log=self.folder / "worker.log",
            stop_seconds=15,
        )

    def inside(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.crash.inside", command, *arguments],
            env=self.environment(),
            cwd=PROJECT_FOLDER,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=processes.die_with_parent(signal.SIGKILL),
        )

    def run_inside(self, command: str, *arguments: str) -> dict[str, Any]:
        program = self.inside(command, *arguments)
        output, _ = program.communicate(timeout=PREPARE_SECONDS_MAX)
        assert program.returncode == 0, f"{command} failed"
        facts: dict[str, Any] = json.loads(output)
        return facts

    # Harm.

    def backends(self) -> list[int]:
        """The processes of PostgreSQL that serve the hub."""
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'memoryhub'"
        return [int(row[0]) for row in self.execute(query)]

    def kill_web_process(self, rng: random.Random) -> None:
        assert self.web is not None, "started"
        if workers := self.web.worker_pids():
            _kill(rng.choice(workers))

    def pause_web_process(self, rng: random.Random) -> None:
        assert self.web is not None, "started"
        if workers := self.web.worker_pids():
            pid = rng.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                processes.wait_until(lambda: False, rng.random() * 0.5)
                os.kill(pid, signal.SIGCONT)

    def end_backends(self, rng: random.Random) -> None:
        """End up to three of the hub's connections."""
        backends = self.backends()
        for pid in rng.sample(backends, min(3, len(backends))):
            self.execute("SELECT pg_terminate_backend(%s)", pid)

    def kill_backend(self, rng: random.Random) -> None:
        """PostgreSQL then ends all its connections and recovers."""
        if backends := self.backends():
            _kill(rng.choice(backends))
            processes.wait_until(lambda: not self._takes_queries(), 2)  # it may answer until it has noticed
            self.await_postgres()

    def kill_postgres(self, rng: random.Random) -> None:
        self._end_postgres(signal.SIGKILL)

    def restart_postgres_at_once(self, rng: random.Random) -> None:
        """As `pg_ctl restart -m immediate` does."""
        self._end_postgres(signal.SIGQUIT)

    def _end_postgres(self, number: signal.Signals) -> None:
        self.end_postgres(number)
        self.postgres.start()

    def end_postgres(self, number: signal.Signals) -> None:
        pid = self.postgres.pid()
        assert pid is not None, "PostgreSQL runs"
        os.kill(pid, number)
        assert processes.wait_until(lambda: self.postgres.pid() is None, 20), "PostgreSQL does not end"

    def await_postgres(self) -> None:
        assert processes.wait_until(self._takes_queries, 30), "PostgreSQL does not recover"

    def _takes_queries(self) -> bool:
        try:
            return bool(self.execute("SELECT 1"))
        except psycopg.OperationalError:
            return False

    def kill_queue(self, rng: random.Random) -> None:
        if pid := self.queue.pid():
            _kill(pid)
            processes.wait_until(lambda: self.queue.pid() is None, 5)
        self.queue.start()

    def await_answers(self, seconds: float = ANSWER_AGAIN_SECONDS_MAX) -> bool:
        """Whether every web process answers again."""
        call = self.caller()

        def answers() -> bool:
            try:
                return call("GET", "/v1/memory_stores", query={"limit": 1}).status == 200
            except NoAnswerError:
                return False

        return processes.wait_until(lambda: answers() and answers(), seconds)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)

"""`./hub up` at the log level DEBUG, and all that it leaves behind where others may look."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis

from memoryhub.embedded import EmbeddedPostgres, EmbeddedQueue
from memoryhub.embedded.binaries import find_postgres_folder
from tests.browsers import Browser
from tests.live import LiveCaller
from tests.providers.misbehaving import Endpoint
from tests.up.hubs import ROOT, RunningHub, clean_environment


class TalkativeHub(RunningHub):
    def __init__(self, folder: Path) -> None:
        data_dir = folder / "data"
        self.service = Endpoint()
        listed = f"{self.service.origin}=127.0.0.0/8"
        super().__init__(
            data_dir,
            log=folder / "up.log",
            MEMORYHUB_LOG_LEVEL="DEBUG",
            MEMORYHUB_EGRESS_PRIVATE_ORIGINS=listed,
        )
        self.port = int(urlsplit(self.facts["url"]).port or 0)
        self.queue = redis.Redis.from_url(EmbeddedQueue(data_dir).url())
        self.callers: list[LiveCaller] = []

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)
        self.queue.close()
        self.service.close()
        for caller in self.callers:
            caller.close()

    def browser(self) -> Browser:
        return Browser(self.port)

    def caller(self, key: str | None = None) -> LiveCaller:
        self.callers.append(LiveCaller(self.port, key or self.facts["api_key"]))
        return self.callers[-1]

    def execute(self, statement: str) -> None:
        """As PostgreSQL's superuser."""
        with psycopg.connect(EmbeddedPostgres(self.data_dir).dsn(user="postgres")) as connection:
            connection.execute(statement)

    @contextmanager
    def without_table(self, table: str) -> Iterator[None]:
        """What needs it meanwhile fails as only a bug does."""
        self.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
        try:
            yield
        finally:
            self.execute(f"ALTER TABLE {table}_away RENAME TO {table}")

    def log(self) -> bytes:
        """What the web server, the worker and the supervisor said, and PostgreSQL and the queue."""
        files = [self.log_file, *sorted((self.data_dir / "logs").iterdir())]
        return b"".join(file.read_bytes() for file in files)

    def queue_content(self) -> bytes:
        """Every key of the queue, and its value as the queue would write it to a file."""
        names: list[bytes] = self.queue.keys("*")
        return b"\n".join(name + b" " + (self.queue.dump(name) or b"") for name in names)

    @contextmanager
    def watched_queue(self) -> Iterator[list[bytes]]:
        """Fills the list with every command that the queue gets: also of messages that are taken at once."""
        sent: list[bytes] = []
        with self.queue.monitor() as monitor:
            yield sent
            self.queue.echo("the end of the watch")
            while not sent or b"the end of the watch" not in sent[-1]:
                sent.append(str(monitor.next_command()["command"]).encode())

    def dump(self) -> bytes:
        """What `./hub backup` writes, as SQL."""
        file = self.data_dir / "copy.dump"
        file.unlink(missing_ok=True)
        self._run(sys.executable, "manage.py", "backup", str(file))
        sql = self._run(str(find_postgres_folder() / "pg_restore"), "--file=-", str(file))
        assert b"COPY public.memoryhub_browsersession" in sql and b"COPY public.stores_memoryversion" in sql
        return sql

    def _run(self, *command: str) -> bytes:
        done = subprocess.run(
            command,
            env=clean_environment(self.data_dir),
            cwd=ROOT,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode()[-2_000:]
        return done.stdout

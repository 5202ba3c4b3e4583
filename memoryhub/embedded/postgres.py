"""A private PostgreSQL in the data folder: no TCP, a password, everything on the disk before it is answered.

The server is known by its own pid file, which is not simply believed: one that a crash left behind, or whose
number now belongs to a stranger, is no running server. It ends, orderly, with the process that started it.
"""

import fcntl
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memoryhub.embedded import processes
from memoryhub.embedded.binaries import find_postgres_folder, reachable_folder
from memoryhub.embedded.connections import (
    DATABASE_NAME,
    POSTGRES_PORT,
    USER_NAME,
    postgres_socket_folder,
    read_database_password,
)
from memoryhub.embedded.errors import DiskFullError, EmbeddedError, FolderError
from memoryhub.embedded.folder import can_reach, explain, make_folder, run_as_user, write_private
from memoryhub.embedded.sockets import make_socket_folder

SUPERUSER_NAME = "postgres"
START_SECONDS_MAX = 120  # crash recovery reads all the log since the last checkpoint
STOP_SECONDS_MAX = 20
LOG_BYTES_MAX = 10_000_000
SETTINGS = {
    "listen_addresses": "",
    "port": str(POSTGRES_PORT),
    "max_connections": "100",
    "shared_buffers": "128MB",
    "wal_recycle": "off",  # a recycled segment keeps what was erased; a new one is zeros
    "jit": "off",
    "max_logical_replication_workers": "0",  # a process fewer
    # Statements and details would carry content into the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
SETTINGS_SINCE = {18: {"io_method": "sync"}}  # without it three idle processes wait for reads
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


class EmbeddedPostgres:
    """One cluster: `pgdata` in the data folder, reached by a socket.

    `settings` are PostgreSQL's own, for this start, as name and value; tests turn fsync off with them.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.cluster = data_dir / "pgdata"
        self.log = data_dir / "logs" / "postgres.log"
        self.sockets = postgres_socket_folder(data_dir)
        self._settings = dict(settings or {})
        self._user = run_as_user()
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when the server takes connections: made, found running, or recovered from a crash.

        Raises: EmbeddedError.
        """
        self._make_folders()
        with self._lock():
            if not (self.cluster / "PG_VERSION").exists():
                self._create_cluster()
            if not self._settles():
                self._clear_leftovers()
                self._launch()

    def stop(self) -> None:
        """End the server, letting no one finish; its connections are closed and its data is safe."""
        with self._lock():
            if pid := self.pid():
                steps = ((signal.SIGINT, STOP_SECONDS_MAX), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
                self._end([pid], *steps)

    def ready(self) -> bool:
        return self.pid() is not None and self._status() == "ready" and self._answers()

    def pid(self) -> int | None:
        """The running postmaster's process id, or None."""
        if self._child is not None:
            self._child.poll()  # collects it if it ended
        lines = self._pid_file()
        pid = int(lines[0]) if lines and lines[0].isdigit() else 0
        return pid if pid and processes.is_running(pid) and self._is_ours(pid) else None

    def dsn(self, *, user: str = USER_NAME, database: str = DATABASE_NAME) -> str:
        """A connection string of libpq, with the password."""
        password = read_database_password(self.data_dir)
        return f"host={self.sockets} port={POSTGRES_PORT} user={user} password={password} dbname={database}"

    def url(self) -> str:
        """The same in the form of DATABASE_URL."""
        password = read_database_password(self.data_dir)
        return f"postgresql://{USER_NAME}:{password}@/{DATABASE_NAME}?host={quote(str(self.sockets))}"

    def program(self, name: str) -> Path:
        """One of PostgreSQL's programs, such as pg_dump."""
        folder = find_postgres_folder()
        return (reachable_folder(folder, self._user, self.data_dir) if self._user else folder) / name

    # The folders and the lock.

    def _make_folders(self) -> None:
        make_folder(self.data_dir)
        if self._user and not can_reach(self.data_dir, self._user):
            raise FolderError(
                f"{self.data_dir} cannot be reached by {self._user.pw_name}, as whom PostgreSQL runs:"
                " set MEMORYHUB_DATA_DIR to a folder like /var/lib/memoryhub."
            )
        make_folder(self.data_dir / "logs", mode=0o700)
        make_socket_folder(self.data_dir)
        make_folder(self.sockets, owner=self._user, mode=0o700)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One start or stop at a time: two that meet would each launch a server."""
        with open(self.data_dir / "pg.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    # The cluster, made once.

    def _create_cluster(self) -> None:
        """Make the cluster aside and move it into place whole, with its roles and database."""
        password = self._ensure_password()
        partial = self.data_dir / "pgdata.new"
        shutil.rmtree(partial, ignore_errors=True)
        make_folder(partial, owner=self._user, mode=0o700)
        self._initialize(partial, password)
        said = self._run(
            "postgres", "--single", "-D", partial, "template1", stdin=_first_statements(password)
        )
        if "ERROR:" in said:  # it exits with 0 all the same
            raise _failure("PostgreSQL's first statements failed", said, self.data_dir)
        os.rename(partial, self.cluster)

    def _ensure_password(self) -> str:
        path = self.data_dir / "pg.password"
        if not path.exists():
            try:
                os.replace(write_private(self.data_dir, secrets.token_urlsafe(32)), path)
            except OSError as error:
                raise explain(error, path) from error
        return read_database_password(self.data_dir)

    def _initialize(self, folder: Path, password: str) -> None:
        with tempfile.NamedTemporaryFile("w", delete_on_close=False) as file:
            file.write(password)
            file.close()
            if self._user:
                os.chown(file.name, self._user.pw_uid, self._user.pw_gid)
            entrance = ("-U", SUPERUSER_NAME, "--pwfile", file.name, "--auth", "scram-sha-256")
            self._run("initdb", "-D", folder, *entrance, "--data-checksums", *self._locale())

    def _locale(self) -> tuple[str, ...]:
        """UTF-8 sorted by code point, the same on every machine; built into PostgreSQL since 17."""
        if self._major() >= 17:
            return ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
        return ("--encoding=UTF8", "--locale=C.UTF-8")

    def _major(self) -> int:
        found = re.search(r"\) (\d+)", self._run("postgres", "--version"))
        assert found, "postgres --version names its version"
        return int(found[1])

    # The server.

    def _launch(self) -> None:
        if self._child is not None:
            self._child.wait(5)  # the one before, which has ended: collected before it is forgotten
        offset = self._open_log()
        settings = self._server_settings()
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [self.program("postgres"), "-D", self.cluster, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=processes.die_with_parent(signal.SIGINT),
                **self._identity(),
            )
        if not processes.wait_until(self._has_started, START_SECONDS_MAX):
            raise EmbeddedError(f"PostgreSQL is not ready in {START_SECONDS_MAX} seconds: read {self.log}.")
        if self._child.poll() is not None:
            raise self._start_error(offset)

    def _server_settings(self) -> dict[str, str]:
        major = int((self.cluster / "PG_VERSION").read_text())
        settings = SETTINGS | {"unix_socket_directories": str(self.sockets)}
        for first, added in SETTINGS_SINCE.items():
            settings |= added if major >= first else {}
        return settings | self._settings

    def _has_started(self) -> bool:
        assert self._child is not None, "launched before it is waited for"
        return self._child.poll() is not None or self.ready()

    def _open_log(self) -> int:
        """The size of the log before this start; a log that has grown long is put aside first."""
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES_MAX:
            os.replace(self.log, self.log.with_suffix(".log.1"))
        return self.log.stat().st_size if self.log.exists() else 0

    def _start_error(self, offset: int) -> EmbeddedError:
        with self.log.open("rb") as log:
            log.seek(offset)
            text = log.read().decode(errors="replace")
        made, programs = (self.cluster / "PG_VERSION").read_text().strip(), self._major()
        if made != str(programs):
            return EmbeddedError(
                f"{self.data_dir} was made by PostgreSQL {made} and the programs here are {programs}:"
                " set MEMORYHUB_PG_BIN to programs of that version, or move the data with a dump."
            )
        return _failure("PostgreSQL did not start", text, self.data_dir)

    # What is there already.

    def _pid_file(self) -> list[str]:
        """postmaster.pid by line: pid, folder, start time, port, sockets, address, shared memory, status."""
        try:
            return (self.cluster / "postmaster.pid").read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _settles(self) -> bool:
        """True when a server runs, False when none does; waits for one that is starting or ending."""
        processes.wait_until(lambda: self.ready() or self.pid() is None, START_SECONDS_MAX)
        return self.ready()

    def _status(self) -> str:
        lines = self._pid_file()
        return lines[7].strip() if len(lines) > 7 else ""

    def _is_ours(self, pid: int) -> bool:
        """Whether it is a server of this cluster; where the system does not tell, the file is believed."""
        name, folder = processes.name_of(pid), processes.folder_of(pid)
        return (name is None or name == "postgres") and (folder is None or folder == self.cluster)

    def _answers(self) -> bool:
        """Whether the server greets us: an SSLRequest, refused with one byte, needs no password."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.sockets / f".s.PGSQL.{POSTGRES_PORT}"))
                connection.sendall(struct.pack("!ii", 8, 80_877_103))  # PostgreSQL's protocol: SSLRequest
                return connection.recv(1) in (b"N", b"S")
            except OSError:
                return False

    def _clear_leftovers(self) -> None:
        """End what a killed postmaster left behind, and the files PostgreSQL would take for a running server.

        No process of this cluster lives when they are removed, so no two servers can meet on it.
        """
        pids = [pid for pid in processes.list_processes() if self._is_leftover(pid)]
        if not self._end(pids, (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
            raise EmbeddedError(f"An old PostgreSQL of {self.data_dir} does not end: end it and start again.")
        if processes.PROC.is_dir():
            (self.cluster / "postmaster.pid").unlink(missing_ok=True)
            (self.sockets / f".s.PGSQL.{POSTGRES_PORT}.lock").unlink(missing_ok=True)

    def _is_leftover(self, pid: int) -> bool:
        return processes.folder_of(pid) == self.cluster and processes.name_of(pid) == "postgres"

    def _end(self, pids: list[int], *signals: tuple[signal.Signals, float]) -> bool:
        child = self._child
        ended = processes.end_processes(pids, *signals)
        if child is not None and child.pid in pids:
            child.wait(5)
        return ended

    # Running programs.

    def _identity(self) -> dict[str, Any]:
        identity: dict[str, Any] = {"cwd": "/", "env": _ENVIRONMENT}
        if self._user:
            identity |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return identity

    def _run(self, name: str, *arguments: str | Path, stdin: str = "") -> str:
        """What the program printed. Raises: EmbeddedError when it fails."""
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            [self.program(name), *arguments],
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=START_SECONDS_MAX,
            check=False,
            **self._identity(),
        )
        output = done.stdout.decode(errors="replace")
        if done.returncode:
            raise _failure(f"PostgreSQL's {name} failed", output, self.data_dir)
        return output


def _first_statements(password: str) -> str:
    """The application's own role, which is no superuser, and its database: one statement a line.

    In template1, so that the databases made from it carry the right to turn the write-ahead log over.
    """
    return (
        f"CREATE ROLE {USER_NAME} LOGIN CREATEDB PASSWORD '{password}'\n"
        f"GRANT pg_checkpoint TO {USER_NAME}\n"
        f"GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {USER_NAME}\n"
        f"CREATE DATABASE {DATABASE_NAME} OWNER {USER_NAME}\n"
    )


def _failure(what: str, output: str, data_dir: Path) -> EmbeddedError:
    if "No space left on device" in output:
        return DiskFullError(f"{what}: the disk of {data_dir} is full; free some space and start again.")
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it said nothing"]
    causes = [line for line in lines if re.search(r"FATAL|PANIC|ERROR|error:", line)] or lines[-1:]
    return EmbeddedError(f"{what}: {causes[0].rstrip('.')}.")

"""`./hub up`: start every part of a hub on this machine, keep them alive, and end them in order.

PostgreSQL, the queue, the preparation (migrations, static files, the first project), the web server, the MCP
server, the workers. DATABASE_URL and REDIS_URL replace the first two. Nothing of Django is imported here: the
preparation is a process of its own, so that it runs while the others start and its memory is given back.

Exit codes, each with one sentence on standard error that says what to do:

  0   ended by Ctrl-C or SIGTERM; a command has done what it was asked
  1   a command refused, or found a fault
  64  a wrong argument, or no such command
  65  the data folder holds files that are not a hub's, or is damaged
  68  the database or the queue that a setting names cannot be reached
  69  a program is missing on this machine: PostgreSQL, Valkey, Python
  70  the hub did not become ready
  71  PostgreSQL or the queue did not start
  72  the port is taken, or may not be opened
  73  the data folder cannot be made, written or reached
  74  the disk is full
  75  another hub runs on the data folder
  76  the data was written by a newer version
  78  a setting is missing or wrong
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from memoryhub import __version__, data_version
from memoryhub.announcing import announce, say, tell
from memoryhub.embedded import (
    EmbeddedPostgres,
    EmbeddedQueue,
    data_folder,
    ensure_secrets,
    host_of,
    hub_url_file,
    processes,
)
from memoryhub.embedded.folder import make_folder, write_private
from memoryhub.environ import read_text
from memoryhub.exits import FORESEEN, ArgumentParser, Exit, UpError, explain_exit
from memoryhub.listening import LISTEN_BACKLOG, ask_ready, open_mcp_port, open_port
from memoryhub.parts import READY_FILE, Part, Program, Watch, rotate_log

MARK = "MEMORYHUB_UP"  # in the environment of every part: whose it is
READY_SECONDS_MAX = 120.0
WORKERS_SECONDS_MAX = 60.0
PREPARE_SECONDS_MAX = 3_600.0
LOOK_SECONDS = 0.2
STOP_SECONDS = 15.0  # requests have ten of them, see gunicorn_config.py
# One thread runs long work, two are left for what must not wait; see JOBS_RUNNING_MAX.
WORKER_OPTIONS = ["--pool", "threads", "--concurrency", "3", "--without-gossip", "--without-mingle"]
# Threads that wait for other services: they hold no connection to the database meanwhile.
PROVIDER_OPTIONS = [
    "--queues",
    "providers",
    "--hostname",
    "providers@%h",
    *WORKER_OPTIONS,
    "--concurrency",
    "48",
]
CELERY_ROOT_WARNING = (
    "You're running the worker with superuser"  # the whole hub runs as its user, root or not
)


class Stopped(BaseException):
    """Ctrl-C or SIGTERM: not an error, so nothing that answers errors may catch it."""


def main(arguments: list[str]) -> int:
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _raise_stopped)
        run_hub(_parse(arguments))
    except Stopped:
        return Exit.STOPPED
    except SaidError as error:
        return error.code
    except FORESEEN as error:
        code, sentence = explain_exit(error)
        tell(sentence)
        return code


def _raise_stopped(number: int, frame: FrameType | None) -> NoReturn:
    for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)  # the end is under way, and bounded
    raise Stopped


def _parse(arguments: list[str]) -> Namespace:
    parser = ArgumentParser(prog="./hub up", description="Start a hub and keep it running until Ctrl-C.")
    parser.add_argument(
        "--json", action="store_true", help="print one line of JSON when ready, and nothing else"
    )
    parser.add_argument("--port", type=int, help="serve on this port instead of PORT; 0 takes a free one")
    return parser.parse_args(arguments)


def run_hub(options: Namespace) -> NoReturn:
    """Start, say so, and watch until a signal ends it."""
    data_dir = data_folder()
    with data_version.claim_folder(data_dir):
        _end_leftovers(data_dir)
        ensure_secrets(data_dir)
        with open_port(options.port) as listener, open_mcp_port(beside=listener) as mcp_listener:
            hub = Hub(data_dir, _read_settings(data_dir, listener, mcp_listener), listener, mcp_listener)
            try:
                facts = hub.start(with_access=options.json)
                announce(facts, as_json=options.json)
                if "api_key" in facts:
                    data_version.write_state(data_dir, first_start="done")
                hub.watch()
            finally:
                hub.stop()


def _end_leftovers(data_dir: Path) -> None:
    """Parts of a hub that was killed on this folder, which we hold alone now."""
    pids = [pid for pid in processes.list_processes() if processes.started_with(pid, MARK, str(data_dir))]
    processes.end_processes(pids, (signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))


def _read_settings(data_dir: Path, listener: socket.socket, mcp_listener: socket.socket) -> ModuleType:
    """The settings module, which imports nothing of Django; our answers go before it through the environment.

    Raises: SettingError.
    """
    os.environ["MEMORYHUB_DATA_DIR"] = str(data_dir)
    os.environ["PORT"] = str(listener.getsockname()[1])
    os.environ["MEMORYHUB_MCP_PORT"] = str(mcp_listener.getsockname()[1])
    from memoryhub import gunicorn_config, settings

    assert gunicorn_config.workers  # read as well: what is wrong in either is said before anything starts
    return settings


class Hub:
    """The parts of one hub. `start` may be left by an error at any step: `stop` ends whatever was started."""

    def __init__(
        self, data_dir: Path, settings: ModuleType, listener: socket.socket, mcp_listener: socket.socket
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.listener = listener
        self.mcp_listener = mcp_listener
        self.watches: list[Watch] = []
        self.ready_files: list[Path] = []
        self.logs_to_files = sys.stderr.isatty()
        self.environment = os.environ | {
            MARK: str(data_dir),
            "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
            "MALLOC_ARENA_MAX": "2",  # glibc gives each thread an arena of its own, which is never given back
        }

    def start(self, *, with_access: bool) -> dict[str, Any]:
        """Return when it is ready: {"url", "mcp_url", "data_dir"}, and the facts of the preparation (see prepare.py)."""
        self._make_folders()
        self._write_url()
        digest = data_version.code_digest()
        known = data_version.read_state(self.data_dir).get("prepared") == digest
        preparation = self._begin_preparation(with_access=with_access)
        try:
            if known:  # nothing is likely to change below the servers: they start at the same time
                self._start_servers()
            self._start_stores()
            facts = self._finish_preparation(preparation)
        finally:
            _abandon(preparation)
        if not known:
            self._start_servers()
        self._start_workers()
        self._await_ready()
        self._await_others()
        data_version.write_state(self.data_dir, prepared=digest, version=__version__)
        ours = {"url": self.settings.BASE_URL, "mcp_url": self.settings.MCP_URL}
        return {**ours, "data_dir": str(self.data_dir), **facts}

    def watch(self) -> NoReturn:
        while True:
            for watch in self.watches:
                if said := watch.mend():
                    tell(said)
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        """In reverse order of the start. The ports are given up first, so nobody waits for an answer."""
        say("stopping ...")
        self.listener.close()
        self.mcp_listener.close()
        for watch in reversed(self.watches):
            watch.stop()
        hub_url_file(self.data_dir).unlink(missing_ok=True)

    def _make_folders(self) -> None:
        for name in ("logs", "run"):
            make_folder(self.data_dir / name)

    def _write_url(self) -> None:
        file = hub_url_file(self.data_dir)
        os.replace(write_private(file.parent, self.settings.BASE_URL), file)

    def _start_part(self, name: str, part: Part) -> None:
        say(f"starting {name} ...")
        watch = Watch(name, part)
        self.watches.append(watch)
        watch.start()

    def _start_stores(self) -> None:
        if not self.settings.DATABASE_URL:
            self._start_part("PostgreSQL", EmbeddedPostgres(self.data_dir))
        if not read_text("REDIS_URL"):
            self._start_part("the queue", EmbeddedQueue(self.data_dir))

    def _start_servers(self) -> None:
        self._start_web()
        self.mcp_listener.listen(LISTEN_BACKLOG)
        descriptor = self.mcp_listener.fileno()
        program = self._awaited(
            "mcp", ["memoryhub.mcp"], {"MEMORYHUB_MCP_LISTEN_FD": str(descriptor)}, [descriptor]
        )
        self._start_part("the MCP server", program)

    def _start_web(self) -> None:
        self.listener.listen(LISTEN_BACKLOG)
        command = ["gunicorn", "-c", "python:memoryhub.gunicorn_config", "memoryhub.wsgi"]
        added = {
            "MEMORYHUB_LISTEN_FD": str(self.listener.fileno()),
            "PROMETHEUS_MULTIPROC_DIR": str(self.data_dir / "run" / "metrics"),
        }
        web = self._program("web", command, environment=added, descriptors=[self.listener.fileno()])
        self._start_part("the web server", web)

    def _start_workers(self) -> None:
        """Threads, since the database does the work: a pool of processes would load everything once more."""
        options = [*WORKER_OPTIONS, "--loglevel", "WARNING"]
        command = ["celery", "--quiet", "-A", "memoryhub.worker", "worker", *options]
        self._start_part("the worker", self._awaited("worker", command))
        calling = ["celery", "--quiet", "-A", "memoryhub.celery", "worker", *PROVIDER_OPTIONS]
        program = self._awaited("provider-worker", [*calling, "--loglevel", "WARNING"])
        self._start_part("the provider worker", program)

    def _awaited(
        self,
        name: str,
        module: list[str],
        environment: dict[str, str] | None = None,
        descriptors: list[int] | None = None,
    ) -> Program:
        """One that touches a file when it works."""
        file = self.data_dir / "run" / f"{name}.ready"
        file.unlink(missing_ok=True)
        self.ready_files.append(file)
        added = {READY_FILE: str(file), **(environment or {})}
        return self._program(name, module, environment=added, descriptors=descriptors)

    def _program(
        self,
        name: str,
        module: list[str],
        *,
        environment: dict[str, str] | None = None,
        descriptors: list[int] | None = None,
    ) -> Program:
        log = rotate_log(self.data_dir / "logs" / f"{name}.log") if self.logs_to_files else None
        return Program(
            [sys.executable, "-W", f"ignore:{CELERY_ROOT_WARNING}", "-m", *module],
            environment=self.environment | (environment or {}),
            log=log,
            stop_seconds=STOP_SECONDS,
            descriptors=descriptors or [],
        )

    # The preparation is told by the end of its input that the database runs.

    def _begin_preparation(self, *, with_access: bool) -> subprocess.Popen[str]:
        say("preparing ...")
        access = "always" if with_access else "first"
        command = [sys.executable, "-m", "memoryhub.prepare", "--access", access]
        bounds = {"MEMORYHUB_DATABASE_POOL_SIZE": "0", "PGCONNECT_TIMEOUT": "5"}
        return subprocess.Popen(
            command,
            env=self.environment | bounds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=processes.die_with_parent(signal.SIGTERM),
        )

    def _finish_preparation(self, preparation: subprocess.Popen[str]) -> dict[str, Any]:
        """Raises: UpError with its exit code; its sentence it has said itself."""
        output, _ = preparation.communicate(timeout=PREPARE_SECONDS_MAX)
        if preparation.returncode in set(Exit) - {Exit.REFUSED}:  # 1 is how Python ends with a traceback
            if preparation.returncode != Exit.STOPPED:
                raise SaidError(Exit(preparation.returncode))
            facts: dict[str, Any] = json.loads(output)
            return facts
        raise UpError(Exit.NOT_READY, "The preparation failed; its cause stands above.")

    def _await_ready(self) -> None:
        """Raises: UpError when the web server ends or does not become ready in time."""
        answer = ""

        def is_settled() -> bool:
            nonlocal answer
            answer = ask_ready(self.listener, host=host_of(self.settings.BASE_URL))
            return answer == "ready" or self._web_ended()

        processes.wait_until(is_settled, READY_SECONDS_MAX, step_seconds=0.02)
        if answer == "ready":
            return
        where = (
            f"read {self.data_dir / 'logs' / 'web.log'}" if self.logs_to_files else "its cause stands above"
        )
        what = "the web server ended" if self._web_ended() else answer
        raise UpError(Exit.NOT_READY, f"The hub did not become ready, {what}: {where}.")

    def _await_others(self) -> None:
        """So that the first call of a service finds who makes it. Without them all else works, so they may come later."""

        def are_there() -> bool:
            return all(file.exists() for file in self.ready_files)

        if not processes.wait_until(are_there, WORKERS_SECONDS_MAX, step_seconds=0.02):
            tell("the workers or the MCP server are still starting")

    def _web_ended(self) -> bool:
        return any(watch.name == "the web server" and watch.part.pid() is None for watch in self.watches)


class SaidError(UpError):
    """The preparation ended with this code and has said why."""

    def __init__(self, code: Exit) -> None:
        super().__init__(code, "")


def _abandon(preparation: subprocess.Popen[str]) -> None:
    if preparation.poll() is None:
        processes.end_processes([preparation.pid], (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
    preparation.wait(5)
    for pipe in (preparation.stdin, preparation.stdout):
        if pipe:
            pipe.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

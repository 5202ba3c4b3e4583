"""Whole hubs for tests: `./hub up` as a process, in a folder of its own, asked over loopback."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memoryhub.embedded import EmbeddedPostgres, processes
from memoryhub.supervisor import MARK
from tests.embedded import make_data_dir

ROOT = Path(__file__).resolve().parent.parent.parent
UP = (sys.executable, "-m", "memoryhub.supervisor")
START_SECONDS_MAX = 150
RECOVER_SECONDS_MAX = 60


def clean_environment(data_dir: Path, **more: str) -> dict[str, str]:
    """Ours without what a hub reads: the test run's own database must not be meant."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"(MEMORYHUB_|PYTEST_|(DATABASE|REDIS)_URL|PORT$|DJANGO_)", name)
    }
    return kept | {"MEMORYHUB_DATA_DIR": str(data_dir), "MEMORYHUB_LOG_LEVEL": "ERROR"} | more


def run_up(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A start that is expected to end by itself."""
    return subprocess.run(
        [*UP, "--port", "0", *arguments],
        env=clean_environment(data_dir, **environment),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
        check=False,
    )


def run_command(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of manage.py, beside a running hub or without one."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env=clean_environment(data_dir, **environment),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
        check=False,
    )


@contextmanager
def new_data_dir() -> Iterator[Path]:
    """An empty folder, and nothing of a hub left on it afterwards."""
    data_dir = make_data_dir()
    try:
        yield data_dir
    finally:
        end_everything(data_dir)
        shutil.rmtree(data_dir, ignore_errors=True)


def end_everything(data_dir: Path) -> None:
    pids = list_parts(data_dir)
    processes.end_processes(pids, (signal.SIGKILL, 5.0))
    if (data_dir / "pg.lock").exists():
        EmbeddedPostgres(data_dir).stop()


def list_parts(data_dir: Path, word: str = "") -> list[int]:
    """The processes of a hub on this folder, less PostgreSQL and the queue, whose command line has the word."""
    marked = (pid for pid in processes.list_processes() if processes.started_with(pid, MARK, str(data_dir)))
    return [pid for pid in marked if word in command_line(pid)]


def command_line(pid: int) -> str:
    try:
        return (processes.PROC / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


class RunningHub:
    """A hub that has said it is ready."""

    def __init__(self, data_dir: Path, *, log: Path | None = None, **environment: str) -> None:
        """`log`: where its parts' lines go; in the data folder when left out, if that exists."""
        self.data_dir = data_dir
        self.log_file = log or data_dir / "up.stderr"
        with self.log_file.open("a") if self.log_file.parent.exists() else open(os.devnull, "a") as lines:
            self.process = subprocess.Popen(
                [*UP, "--json", "--port", "0"],
                env=clean_environment(data_dir, **environment),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=lines,
                text=True,
                start_new_session=True,
            )
        self.facts: dict[str, str] = json.loads(self._read_line())

    def _read_line(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS_MAX)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            self.process.wait(5)
            raise AssertionError(f"the hub did not start: {self.log_file.read_text()[-3000:]}")
        return line

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Its exit code, and what it printed after the first line."""
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=60)
        return self.process.returncode, output

    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> tuple[int, Any]:
        """Status and parsed body; (0, None) when nobody answers."""
        address = urlsplit(self.facts["url"])
        connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
        headers = {
            "Authorization": f"Bearer {key or self.facts['api_key']}",
            "Content-Type": "application/json",
        }
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, ValueError):
            return 0, None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        return self.call("GET", "/readyz") == (200, {"status": "ready", "causes": []})

    def queue_pids(self) -> list[int]:
        return [pid for pid in processes.list_processes() if self._is_queue(pid)]

    def _is_queue(self, pid: int) -> bool:
        return f"{self.data_dir}/run/valkey.sock" in command_line(pid) and processes.is_running(pid)

"""A part that dies is started again; the order of the end."""

import errno
import socket
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memoryhub import parts
from memoryhub.announcing import greeting
from memoryhub.embedded import DiskFullError, EmbeddedError, FolderError
from memoryhub.environ import SettingError
from memoryhub.exits import Exit, UpError, explain_exit
from memoryhub.parts import Watch, rotate_log
from memoryhub.supervisor import Hub, _parse


class Recorded:
    """A part that writes down what happens to it."""

    def __init__(self, name: str = "it", history: list[str] | None = None) -> None:
        self.name = name
        self.history = [] if history is None else history
        self.log: Path | None = None
        self.alive = False
        self.error: Exception | None = None

    def start(self) -> None:
        self.history.append(f"start {self.name}")
        if self.error:
            raise self.error
        self.alive = True

    def stop(self) -> None:
        self.history.append(f"stop {self.name}")
        self.alive = False

    def pid(self) -> int | None:
        return 1 if self.alive else None


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(parts, "time", clock)
    return clock


def test_each_death_in_a_row_doubles_the_pause(clock: Clock) -> None:
    part = Recorded()
    watch = Watch("it", part)
    watch.start()
    pauses = []
    for _ in range(12):
        part.alive = False
        assert (watch.mend() or "").startswith("it ended unexpectedly and is started again")
        died_at = clock.now
        while not part.alive:
            clock.now += 0.05
            watch.mend()
        pauses.append(round(clock.now - died_at, 1))
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8] and pauses[-1] == parts.RESTART_SECONDS_MAX


@pytest.mark.parametrize(
    ("log", "cause"), [(Path("/data/logs/web.log"), "/data/logs/web.log"), (None, "what stands above")]
)
def test_from_the_second_death_in_a_row_it_is_said_where_the_cause_stands(
    clock: Clock, log: Path | None, cause: str
) -> None:
    part = Recorded()
    part.log = log
    watch = Watch("it", part)
    said = []
    for _ in range(3):
        said.append(watch.mend())
        clock.now += 1
        watch.mend()
        part.alive = False
    once = "it ended unexpectedly and is started again"
    assert said == [f"{once}.", f"{once}: {cause} says why.", f"{once}: {cause} says why."]


def test_a_part_that_lived_long_starts_again_at_once(clock: Clock) -> None:
    part = Recorded()
    watch = Watch("it", part)
    watch.start()
    watch.deaths_in_a_row = 8
    clock.now += parts.STEADY_SECONDS + 1
    part.alive = False
    watch.mend()
    clock.now += parts.RESTART_SECONDS_MIN
    assert watch.mend() is None and part.alive


def test_a_part_that_does_not_start_says_so_and_is_tried_again(clock: Clock) -> None:
    part = Recorded()
    watch = Watch("the queue", part)
    part.error = EmbeddedError("no room.")
    watch.mend()
    clock.now += 1
    assert watch.mend() == "the queue does not start: no room."
    part.error = None
    watch.mend()
    clock.now += 1
    watch.mend()
    assert part.alive


def test_the_end_comes_in_reverse_order(tmp_path: Path) -> None:
    log: list[str] = []
    listener, mcp_listener = socket.socket(), socket.socket()
    hub = Hub(tmp_path, SimpleNamespace(), listener, mcp_listener)  # type: ignore[arg-type]
    for name in ("PostgreSQL", "the queue", "the web server", "the worker"):
        hub._start_part(name, Recorded(name, log))
    hub.stop()
    names = [line.removeprefix("stop ") for line in log if line.startswith("stop")]
    assert names == ["the worker", "the web server", "the queue", "PostgreSQL"]
    assert listener.fileno() == mcp_listener.fileno() == -1


def test_a_log_that_grew_long_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "web.log"
    assert rotate_log(log) == log
    monkeypatch.setattr(parts, "LOG_BYTES_MAX", 3)
    log.write_text("long")
    rotate_log(log)
    assert not log.exists() and (tmp_path / "web.log.1").read_text() == "long"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingError("s"), Exit.SETTING),
        (DiskFullError("s"), Exit.DISK_FULL),
        (FolderError("s"), Exit.FOLDER),
        (EmbeddedError("s"), Exit.PART_FAILED),
        (UpError(Exit.NEWER, "s"), Exit.NEWER),
        (OSError(errno.ENOSPC, "No space left on device"), Exit.DISK_FULL),
    ],
)
def test_every_foreseen_error_has_its_code(error: Exception, code: Exit) -> None:
    assert explain_exit(error)[0] == code


def test_an_error_nobody_foresaw_is_not_hidden() -> None:
    with pytest.raises(ConnectionResetError):
        explain_exit(ConnectionResetError(errno.ECONNRESET, "reset"))


def test_every_code_stands_in_the_operations_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert all(f"| {code.value} |" in page for code in Exit)


def test_arguments() -> None:
    assert _parse([]) == Namespace(json=False, port=None)
    assert _parse(["--json", "--port", "0"]) == Namespace(json=True, port=0)
    with pytest.raises(UpError) as caught:
        _parse(["--jsno"])
    assert caught.value.code == Exit.USAGE


def test_a_first_start_shows_the_way_in_and_a_later_one_how_to_get_it() -> None:
    facts: dict[str, Any] = {"url": "http://h", "mcp_url": "http://h:1/mcp", "project": "default"}
    facts["environment"] = "development"
    first = greeting(facts | {"api_key": "mh_k", "sign_in_url": "http://h/sign-in/t"})
    assert all(word in first for word in ("http://h", "mh_k", "http://h/sign-in/t", "development"))
    later = greeting(facts)
    assert "http://h:1/mcp" in first and "http://h:1/mcp" in later
    assert "http://h" in later and "./hub sign_in_link" in later and "mh_" not in later


def test_the_pause_is_short_against_a_human(clock: Clock) -> None:
    assert parts.RESTART_SECONDS_MIN < 0.5 and time.monotonic() != clock.monotonic()

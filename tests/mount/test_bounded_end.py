"""A mount that is told to end while it holds much that is not saved, against a server that takes its time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.limits import MEMORY_CONTENT_BYTES_MAX
from tests.source import ROOT

FILES = int(os.environ.get("MEMORYHUB_TEST_FLUSH_FILES", "60"))  # the whole number is 2,000
SECONDS_EACH = 0.3
FILL = """
import pathlib, sys, time
root, count, size = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    (root / f"{number:04}").write_text(f"{number:08}" + "x" * (size - 8))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-m", "tests.mount.slow_server", str(request.param)]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def start(server: "subprocess.Popen[str]", folder: Path, count: int) -> "subprocess.Popen[str]":
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    environment = {
        **os.environ,
        "MEMORYHUB_URL": f"http://127.0.0.1:{port}",
        "MEMORYHUB_KEY": "mh_1",
        "PYTHONPATH": str(ROOT),
    }
    fill = [sys.executable, "-c", FILL, str(folder / "notes"), str(count), str(MEMORY_CONTENT_BYTES_MAX)]
    words = [
        "-m",
        "stores.mount.command",
        "--store",
        "memstore_1",
        "--interval",
        "off",
        "--root",
        str(folder),
    ]
    process = subprocess.Popen(
        [sys.executable, *words, "--json", "--", *fill],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def end(process: "subprocess.Popen[str]") -> tuple[float, str]:
    """(seconds, what it said)"""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    return time.monotonic() - began, said


def count_saved(server: "subprocess.Popen[str]") -> int:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return int(server.stdout.readline())


@pytest.mark.parametrize("server", [SECONDS_EACH], indirect=True)
def test_everything_is_flushed_inside_the_bound(server: "subprocess.Popen[str]", tmp_path: Path) -> None:
    seconds, said = end(start(server, tmp_path, FILES))
    print(f"{FILES} files of {MEMORY_CONTENT_BYTES_MAX} bytes: ended in {seconds:.1f} s")
    assert count_saved(server) == FILES, said[-2_000:]
    assert seconds < 35
    assert not (tmp_path / "notes").exists()


@pytest.mark.skipif(FILES < 2_000, reason="takes a request's whole time: runs with the whole number")
@pytest.mark.parametrize("server", [600], indirect=True)
def test_a_server_that_does_not_answer_holds_the_end_no_longer_than_the_bound(
    server: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    """Nothing is saved, and everything lies aside."""
    process = start(server, tmp_path, 3)
    seconds, said = end(process)
    assert seconds < 45, said[-2_000:]
    assert process.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "notes").exists()
    assert len([file for file in (tmp_path / ".memoryhub-kept").rglob("*") if file.is_file()]) == 3

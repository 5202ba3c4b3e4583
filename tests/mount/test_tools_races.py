"""Somebody swaps a directory, and a file, for links to the outside as fast as a process can: no tool ever gets there."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from stores.mount.roots import Mount
from stores.mount.tools import Toolset
from stores.mount.tools_paths import ToolError

ROUNDS = int(os.environ.get("MEMORYHUB_TOOL_SWAPS", "120"))  # of each tool
SECRET = "the text of somebody else"
# The directory and the link change places at once; the file is replaced by a link, and the link by a file.
SWAPPER = """
import ctypes, os, signal, sys
os.chdir(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
swaps = 0
def end(*_):
    print(swaps, flush=True)
    os._exit(0)
def exchange(one, other):
    if libc.renameat2(-100, one, -100, other, 2):
        raise OSError(ctypes.get_errno(), "renameat2")
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    exchange(b"sub", b"sub-link")
    os.symlink(sys.argv[2], "inner/next")
    os.rename("inner/next", "inner/file")
    exchange(b"sub", b"sub-link")
    with open("inner/next", "w") as file:
        file.write("mine")
    os.rename("inner/next", "inner/file")
    swaps += 4
"""


@pytest.mark.parametrize("read_only", [False, True], ids=["outside", "read-only"])
def test_no_swap_of_directories_and_links_leads_out(tmp_path: Path, read_only: bool) -> None:
    """`read-only`: out is a read-only store, which may be read and not be written."""
    base = tmp_path.resolve()
    work, outside = base / "work", base / "outside"
    for folder in (work / "sub", work / "inner", outside):
        folder.mkdir(parents=True)
    (outside / "file").write_text(SECRET)
    (work / "sub" / "file").write_text("mine")
    (work / "inner" / "file").write_text("mine")
    (work / "sub-link").symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}
    swapper = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(work), str(outside / "file")], stdout=subprocess.PIPE
    )
    assert swapper.stdout is not None
    swapper.stdout.readline()
    came: Counter[str] = Counter()
    mounts = [Mount(outside, True, "Rules")] if read_only else []
    try:
        with Toolset(work, mounts) as tools:
            for number in range(ROUNDS):
                for path in ("sub/file", "inner/file"):
                    for name, more in (
                        ("read", {}),
                        ("write", {"content": f"mine {number}"}),
                        ("edit", {"old_string": "mine", "new_string": "mine"}),
                    ):
                        came[_try(tools, name, {"file_path": path, **more}, read_only)] += 1
                came[
                    _try(tools, "write", {"file_path": f"sub/new-{number % 5}", "content": "mine"}, read_only)
                ] += 1
                came[_try(tools, "glob", {"pattern": "**/*", "path": "sub"}, read_only)] += 1
                if number % 10 == 0:
                    came[_try(tools, "grep", {"pattern": "text", "path": "sub"}, read_only)] += 1
    finally:
        swapper.terminate()
        swaps = int(swapper.stdout.readline())
        swapper.wait()
        swapper.stdout.close()
    assert {path: path.read_bytes() for path in outside.iterdir()} == before, "something was written outside"
    assert came["done"] and came["refused"] and swaps > ROUNDS, f"nothing raced: {came}, {swaps} swaps"
    if "MEMORYHUB_TOOL_SWAPS" in os.environ:
        print(f"{swaps} swaps, {came.total()} calls, {came['refused']} refused, none got out")


def _try(tools: Toolset, name: str, arguments: dict[str, str], read_only: bool) -> str:
    try:
        text = tools.call(name, arguments)
    except ToolError:
        return "refused"
    assert read_only or SECRET not in text, f"{name} read what lies outside"
    return "done"

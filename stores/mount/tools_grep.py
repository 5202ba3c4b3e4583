"""The process that looks for lines: given an open directory by its number, and what to look for on standard input.

Run by its path: it imports nothing of the project. Exit code 2: what it will not do stands on standard error.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

SNIFFED_BYTES = 512
LINE_BYTES_MAX = 1_048_576  # a longer line is looked through in pieces
NOT_ENTERED = {".git", "node_modules"}
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def main(folder: int, asked: dict[str, Any]) -> int:
    try:
        expression = re.compile(asked["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"pattern: {error}.")
        return 2
    left = asked["output_bytes_max"]
    for shown, number, line in _lines(folder, asked, expression):
        cut = line if len(line) <= asked["line_length_max"] else line[: asked["line_length_max"]] + "…"
        row = f"{shown}:{number}:{cut}\n".encode("utf-8", "replace")
        left -= len(row)
        if left < 0:
            sys.stdout.buffer.write(
                f"[more than {asked['output_bytes_max']} bytes; the rest is left out]\n".encode()
            )
            break
        sys.stdout.buffer.write(row)
    return 0


def _lines(
    folder: int, asked: dict[str, Any], expression: "re.Pattern[str]"
) -> Iterator[tuple[str, int, str]]:
    """(path as text, number, line) of each line that fits."""
    for path, descriptor in _files(folder, asked):
        shown = os.path.join(asked["tree"], os.fsencode(path).decode("utf-8", "replace"))
        with os.fdopen(descriptor, "rb") as file:
            if b"\0" in file.read(SNIFFED_BYTES):
                continue
            file.seek(0)
            for number, line in _read(file):
                if expression.search(line):
                    yield shown, number, line


def _read(file: Any) -> Iterator[tuple[int, str]]:
    number = 1
    while raw := file.readline(LINE_BYTES_MAX):
        yield number, raw.decode("utf-8", "replace").rstrip("\r\n")
        number += raw.endswith(b"\n")


def _files(folder: int, asked: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """(path below the directory, descriptor) of each regular file; the caller closes it."""
    if asked["name"] is not None:
        name = os.fsdecode(bytes.fromhex(asked["name"]))
        if (descriptor := _open_regular(folder, name)) is not None:
            yield name, descriptor
        return
    walked = 0
    for below, folders, files, parent in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
        folders[:] = sorted(name for name in folders if name not in NOT_ENTERED)
        walked += len(folders) + len(files)
        if walked > asked["walked_max"]:
            sys.stderr.write(f"More than {asked['walked_max']} names lie below it; give a path further down.")
            sys.stdout.flush()
            os._exit(2)
        for name in sorted(files):
            if (descriptor := _open_regular(parent, name)) is not None:
                yield os.path.normpath(os.path.join(below, name)), descriptor


def _open_regular(folder: int, name: str) -> int | None:
    try:
        descriptor = os.open(name, _OPEN, dir_fd=folder)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), json.load(sys.stdin)))

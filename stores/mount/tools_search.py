"""What the tools look for: files by a pattern of their paths, and lines by a regular expression.

Both walk by descriptors and follow no link. An expression of a model may take for ever, so a process of its own looks,
which is ended when its time is up.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from stores.mount.tools_paths import Roots, ToolError, shown

GLOB_RESULTS_MAX = 200  # source: stores contract, section 7
GREP_OUTPUT_BYTES_MAX = 102_400  # source: stores contract, section 7
GREP_LINE_LENGTH_MAX = 2_000  # source: stores contract, section 7
GREP_SECONDS_MAX = 30.0
PATTERN_LENGTH_MAX = 1_024
WALKED_MAX = 50_000  # names in one tree

_SEARCHER = Path(__file__).with_name("tools_grep.py")


def find_files(roots: Roots, pattern: str, path: str | None) -> tuple[list[str], bool]:
    """(paths, newest first and at most GLOB_RESULTS_MAX; whether there are more). Raises: ToolError, OSError."""
    segments = _segments(pattern)
    found: list[tuple[int, str]] = []
    with roots.open_tree(path) as (tree, folder):
        for names, modified in _walk(roots, tree, folder):
            if _fits(segments, names):
                found.append((modified, os.path.join(tree, *names)))
    found.sort(key=lambda one: (-one[0], one[1]))
    return [shown(name) for _, name in found[:GLOB_RESULTS_MAX]], len(found) > GLOB_RESULTS_MAX


def _segments(pattern: str) -> tuple[str, ...]:
    """Raises: ToolError."""
    if not pattern or len(pattern) > PATTERN_LENGTH_MAX or "\0" in pattern:
        raise ToolError(f"pattern: Give 1 to {PATTERN_LENGTH_MAX} characters, and no NUL.")
    segments = tuple(segment for segment in pattern.split("/") if segment not in ("", "."))
    if pattern.startswith("/") or ".." in segments or not segments:
        raise ToolError("pattern: It is relative to path, and has no `..`.")
    return segments


def _walk(roots: Roots, tree: str, top: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """(names below the top, time of the last change) of each file; a link counts when it leads to a file inside a root."""
    walked = 0
    for below, folders, files, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        walked += len(folders) + len(files)
        if walked > WALKED_MAX:
            raise ToolError(
                f"{shown(tree)}: More than {WALKED_MAX} names lie below it; give a path further down."
            )
        above = tuple(name for name in below.split("/") if name != ".")
        for name in files:
            modified = _modified(roots, os.path.join(tree, *above, name), folder, name)
            if modified is not None:
                yield (*above, name), modified


def _modified(roots: Roots, path: str, folder: int, name: str) -> int | None:
    try:
        facts = os.lstat(name, dir_fd=folder)
        if S_ISLNK(facts.st_mode):
            facts = os.lstat(roots.resolve(path))
    except (OSError, ToolError):
        return None
    return facts.st_mtime_ns if S_ISREG(facts.st_mode) else None


def _fits(segments: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """`*`, `?` and `[…]` stay within a name, `**` is any number of names."""

    @cache
    def fits(segment: int, name: int) -> bool:
        if segment == len(segments):
            return name == len(names)
        if segments[segment] == "**":
            return fits(segment + 1, name) or (name < len(names) and fits(segment, name + 1))
        return (
            name < len(names) and fnmatchcase(names[name], segments[segment]) and fits(segment + 1, name + 1)
        )

    return fits(0, 0)


def find_lines(roots: Roots, pattern: str, path: str | None) -> str:
    """`path:number:line` of each line that the expression of Python's `re` is found in. Raises: ToolError, OSError."""
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise ToolError(f"pattern: Give at most {PATTERN_LENGTH_MAX} characters.")
    resolved = roots.workdir if path is None else roots.resolve(path)
    if os.path.isdir(resolved):
        with roots.open_tree(path) as (tree, folder):
            return _search(pattern, tree, folder, None)
    assert path is not None, "the working directory is a directory"
    with roots.open_place(path) as place:
        readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
        try:
            return _search(pattern, os.path.dirname(place.path), readable, place.name)
        finally:
            os.close(readable)


def _search(pattern: str, tree: str, folder: int, name: str | None) -> str:
    """In a process of its own, which is given the open directory. Raises: ToolError."""
    asked = {
        "pattern": pattern,
        "tree": shown(tree),
        "name": None if name is None else os.fsencode(name).hex(),
        "output_bytes_max": GREP_OUTPUT_BYTES_MAX,
        "line_length_max": GREP_LINE_LENGTH_MAX,
        "walked_max": WALKED_MAX,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_SEARCHER), str(folder)],
            input=json.dumps(asked).encode(),
            pass_fds=[folder],
            env={},
            capture_output=True,
            timeout=GREP_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"The search took longer than {GREP_SECONDS_MAX:g} seconds: give a simpler pattern, or a path further down."
        ) from error
    if done.returncode:
        raise ToolError(done.stderr.decode("utf-8", "replace").strip() or "The search failed.")
    return done.stdout.decode("utf-8", "replace").removesuffix("\n")

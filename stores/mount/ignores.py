"""Names that a mount leaves alone, by glob. Pure.

A glob without a slash is for a name at any depth, of a file or of a folder; one with a slash for a whole path from the root.
`*` stays inside a name, `**` does not.
"""

import re
from collections.abc import Iterable

GLOBS_MAX = 100
GLOB_LENGTH_MAX = 200


class GlobError(ValueError):
    """A glob that cannot be used. The message is one sentence."""


class Ignores:
    """Raises: GlobError."""

    def __init__(self, globs: Iterable[str] = ()) -> None:
        self.globs = tuple(globs)
        if len(self.globs) > GLOBS_MAX:
            raise GlobError(f"{len(self.globs)} globs are given; at most {GLOBS_MAX} are allowed.")
        patterns = [_pattern(glob) for glob in self.globs]
        self._pattern = re.compile("|".join(patterns), re.DOTALL) if patterns else None

    def covers(self, path: str) -> bool:
        """Of a path as memories have it, `/a/b`: it, or a folder above it."""
        return self._pattern is not None and self._pattern.match(path) is not None


def _pattern(glob: str) -> str:
    plain = glob.strip().rstrip("/")
    if not plain or len(plain) > GLOB_LENGTH_MAX:
        raise GlobError(f"A glob has 1 to {GLOB_LENGTH_MAX} characters: {glob[:50]!r} does not.")
    start = "/" if "/" in plain else "(?:/.*)?/"
    return f"{start}{_body(plain.removeprefix('/'))}(?:/|$)"


def _body(glob: str) -> str:
    parts = re.split(r"(\*+|\?)", glob)
    meant = {"*": "[^/]*", "?": "[^/]"}
    return "".join(
        meant.get(part) or (".*" if part.startswith("**") else re.escape(part)) for part in parts if part
    )

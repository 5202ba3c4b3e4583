"""The file tools of an agent: read, write, edit, glob, grep and bash over a working directory and mounted stores.

Made when the stores are downloaded and not before: it is given the folders that were mounted.

    tools = Toolset(Path.cwd(), stores.mounts)
    tools.call("read", {"file_path": "/mnt/memory/notes/a.md"})   # text, or ToolError for the model

The file tools go nowhere else, whatever links say; read-only stores refuse write and edit. `bash` is not confined.
Source: stores contract, section 7; the names of arguments are those of Anthropic's agent toolset.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from stores.mount.roots import Mount
from stores.mount.tools_bash import SECONDS_DEFAULT, SECONDS_MAX, Shells, plain_environment
from stores.mount.tools_files import as_text, read_lines, read_whole, replace_file
from stores.mount.tools_paths import Roots, ToolError, reason_of, shown
from stores.mount.tools_search import GLOB_RESULTS_MAX, find_files, find_lines
from stores.mount.tools_specs import SPECS, check_arguments

NOTHING = "Nothing found."


class Toolset:
    """`environment`: of the commands of bash, as it is; None: that of this process without what may be a credential."""

    def __init__(
        self, workdir: Path, mounts: Iterable[Mount], *, environment: Mapping[str, str] | None = None
    ) -> None:
        """Raises: ValueError for a folder that is not there."""
        self.roots = Roots(workdir, mounts)
        given = plain_environment(os.environ) if environment is None else environment
        self._shells = Shells(self.roots.workdir, given)
        self._tools: dict[str, Callable[..., str]] = {
            "read": self.read,
            "write": self.write,
            "edit": self.edit,
            "glob": self.glob,
            "grep": self.grep,
            "bash": self.bash,
        }
        assert self._tools.keys() == SPECS.keys()

    def __enter__(self) -> "Toolset":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the commands that run."""
        self._shells.close()

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool as a model does: what it is given is checked. Raises: ToolError."""
        if name not in SPECS:
            raise ToolError(f"There is no tool {name[:64]!r}.")
        given = check_arguments(SPECS[name], arguments)
        try:
            return self._tools[name](**given)
        except ToolError as error:
            raise ToolError(f"{name}: {error}") from error
        except OSError as error:
            where = given.get("file_path") or given.get("path") or shown(self.roots.workdir)
            raise ToolError(f"{name}: {where}: {reason_of(error)}.") from error

    def read(self, file_path: str, view_range: list[int] | None = None) -> str:
        """A whole file, or its lines from the first number to the second. Raises: ToolError, OSError."""
        with self.roots.open_place(file_path) as place:
            if view_range is None:
                return as_text(place, read_whole(place)[0])
            first, last = view_range
            if first < 1 or (last != -1 and last < first):
                raise ToolError("view_range: Give [first, last] line from 1 on, or -1 for the last.")
            return as_text(place, read_lines(place, first, last))

    def write(self, file_path: str, content: str) -> str:
        """Raises: ToolError, OSError."""
        raw = _encoded(content)
        with self.roots.open_place(file_path, writes=True) as place:
            replace_file(place, raw)
        return f"Wrote {len(raw)} bytes to {file_path}."

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        """Raises: ToolError, OSError."""
        if not old_string:
            raise ToolError("old_string: It is empty; use write for a new file.")
        self.roots.require_writable(file_path, self.roots.resolve(file_path))
        with self.roots.open_place(file_path) as place:
            self.roots.require_writable(file_path, place.path)
            content, facts = read_whole(place)
            text = as_text(place, content)
            count = text.count(old_string)
            if count == 0:
                raise ToolError(f"{file_path}: old_string is not in it.")
            if count > 1 and not replace_all:
                raise ToolError(
                    f"{file_path}: old_string stands there {count} times; give more of the text around it, or replace_all."
                )
            changed = _encoded(text.replace(old_string, new_string))
            replace_file(place, changed, unless_changed=facts)
        return f"Replaced {count} passage{'' if count == 1 else 's'} of {file_path}."

    def glob(self, pattern: str, path: str | None = None) -> str:
        """Raises: ToolError, OSError."""
        found, has_more = find_files(self.roots, pattern, path)
        more = [f"[more than {GLOB_RESULTS_MAX} files; the older ones are left out]"] if has_more else []
        return "\n".join([*found, *more]) or NOTHING

    def grep(self, pattern: str, path: str | None = None) -> str:
        """Raises: ToolError, OSError."""
        return find_lines(self.roots, pattern, path) or NOTHING

    def bash(self, command: str, timeout_ms: int | None = None) -> str:
        """Raises: ToolError, also for a command that fails or takes too long, with what it printed."""
        seconds = SECONDS_DEFAULT if timeout_ms is None else min(timeout_ms / 1_000, SECONDS_MAX)
        ended = self._shells.run(command, seconds)
        output = ("[the beginning is left out]\n" if ended.is_cut else "") + ended.output
        if ended.code is None:
            raise ToolError(f"The command took longer than {seconds:g} seconds and was ended.\n{output}")
        if ended.code:
            raise ToolError(f"Exit code {ended.code}.\n{output}")
        return output


def _encoded(text: str) -> bytes:
    """Raises: ToolError."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The text holds half a character.") from error

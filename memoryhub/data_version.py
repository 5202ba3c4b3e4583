"""Whose data folder it is, who uses it now, and which version used it last. Imports nothing of Django.

`hub.json` in the folder: {"data_format": number, "version": the hub's, "prepared": digest, "static": digest}.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryhub import __version__
from memoryhub.embedded.folder import make_folder, project_folder, write_private
from memoryhub.exits import Exit, UpError

DATA_FORMAT = 1  # raised when files of the folder move; tables have their migrations
IGNORED_NAMES = frozenset({"lost+found", ".gitkeep", "up.lock", "secrets.json"})  # the last for a restore


@contextmanager
def claim_folder(data_dir: Path) -> Iterator[None]:
    """Hold the folder alone: made if it is not there, refused if it is another's, in use or newer.

    The lock ends with this process, however it ends.
    Raises: UpError, FolderError, DiskFullError.
    """
    _refuse_foreign(data_dir)
    make_folder(data_dir)
    with open(data_dir / "up.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UpError(
                Exit.BUSY,
                f"A hub is running on {data_dir}: stop it, or set MEMORYHUB_DATA_DIR to another folder.",
            ) from error
        _check_format(data_dir)
        yield


def _refuse_foreign(data_dir: Path) -> None:
    if not data_dir.exists() or (data_dir / "hub.json").exists():
        return
    if not data_dir.is_dir():
        raise UpError(
            Exit.FOREIGN_FOLDER, f"{data_dir} is not a folder: set MEMORYHUB_DATA_DIR to an empty one."
        )
    if any(entry.name not in IGNORED_NAMES for entry in data_dir.iterdir()):
        raise UpError(
            Exit.FOREIGN_FOLDER,
            f"{data_dir} holds files that are not a hub's: set MEMORYHUB_DATA_DIR to an empty folder.",
        )


def _check_format(data_dir: Path) -> None:
    state = read_state(data_dir)
    if not state:
        write_state(data_dir, data_format=DATA_FORMAT)
    elif not isinstance(state.get("data_format"), int) or state["data_format"] > DATA_FORMAT:
        raise UpError(Exit.NEWER, newer_sentence(str(data_dir), state))


def newer_sentence(what: str, state: dict[str, Any]) -> str:
    version = state.get("version")
    by = f" {version}" if version and version != __version__ else ""
    return f"{what} was written by a newer MemoryHub{by}: start that version, or restore an older backup."


def read_state(data_dir: Path) -> dict[str, Any]:
    """The content of hub.json, or {} before the first start."""
    path = data_dir / "hub.json"
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UpError(Exit.FOREIGN_FOLDER, f"{path} is damaged: put it back from your backup.") from error
    return state if isinstance(state, dict) else {}


def write_state(data_dir: Path, **values: Any) -> None:
    """Replace these values of hub.json, keep the others."""
    state = read_state(data_dir) | values
    os.replace(write_private(data_dir, json.dumps(state, indent=2) + "\n"), data_dir / "hub.json")


def code_digest() -> str:
    """Changes when this version brings other migrations or static files than the one that prepared the folder.

    Only a hint that the start may overlap its steps: what is pending is read from the database itself.
    """
    project = project_folder()
    files = (*project.glob("*/migrations/[0-9]*.py"), *(project / "static").rglob("*"))
    return digest_files(files, also=__version__)


def digest_files(files: Iterable[Path], *, also: str = "") -> str:
    """Of their paths, sizes and times, not of what they hold."""
    digest = hashlib.sha256(also.encode())
    for path in sorted(files):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()

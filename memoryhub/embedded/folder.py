"""Where a hub keeps its data, as whom its PostgreSQL runs, and the secrets made once on first start."""

import errno
import json
import os
import pwd
import secrets
import stat
import tempfile
from pathlib import Path

from memoryhub.embedded.errors import DiskFullError, EmbeddedError, FolderError
from memoryhub.environ import SettingError, read_text

SYSTEM_FOLDER = Path("/var/lib/memoryhub")
SECRET_NAMES = ("secret_key", "partition_key", "encryption_key", "continuation_key")
RUN_AS_NAMES = ("postgres", "memoryhub", "nobody")


def data_folder() -> Path:
    """The absolute path of the data folder; it need not exist.

    MEMORYHUB_DATA_DIR when set. Otherwise `data` in the project folder. Only root, whose PostgreSQL must run
    as another user, takes /var/lib/memoryhub when that user cannot reach the project folder.
    """
    named = read_text("MEMORYHUB_DATA_DIR")
    if named:
        return Path(named).expanduser().resolve()
    project = project_folder()
    user = run_as_user()
    if user is not None and not can_reach(project, user):
        return SYSTEM_FOLDER
    return project / "data"


def project_folder() -> Path:
    """The checkout this code lies in; for an installed package the current folder."""
    checkout = Path(__file__).resolve().parent.parent.parent
    return checkout if (checkout / "manage.py").exists() else Path.cwd()


def run_as_user() -> pwd.struct_passwd | None:
    """The user PostgreSQL runs as when we are root, which it refuses; None when it may run as ourselves.

    Raises: EmbeddedError when the machine has none of RUN_AS_NAMES.
    """
    if os.geteuid() != 0:
        return None
    for name in RUN_AS_NAMES:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise EmbeddedError("PostgreSQL does not run as root: make a user named memoryhub, or set DATABASE_URL.")


def can_reach(path: Path, user: pwd.struct_passwd) -> bool:
    """Whether the user may enter every existing folder down to path, by owner, group and mode."""
    return all(_may_enter(folder, user) for folder in (path, *path.parents) if folder.is_dir())


def _may_enter(folder: Path, user: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.pw_gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def make_folder(path: Path, *, owner: pwd.struct_passwd | None = None, mode: int | None = None) -> None:
    """Make a folder only its owner can read. Through root's own others may pass: PostgreSQL's user must.

    Raises: FolderError, DiskFullError.
    """
    if mode is None:
        mode = 0o711 if os.geteuid() == 0 and owner is None else 0o700
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        if owner is not None:
            os.chown(path, owner.pw_uid, owner.pw_gid)
    except OSError as error:
        raise explain(error, path) from error


def explain(error: OSError, path: Path) -> EmbeddedError:
    """The one sentence for a file or folder that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"There is no room left on the disk of {path}: free some space and start again.")
    return FolderError(f"{path} cannot be used ({error.strerror}): set MEMORYHUB_DATA_DIR to another.")


def read_secrets(data_dir: Path) -> dict[str, str]:
    """The secrets of a data folder by name (SECRET_NAMES), or {} before the first start.

    Raises: SettingError when they are there but cannot be read.
    """
    path = data_dir / "secrets.json"
    try:
        content = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingError(f"{path} cannot be read: run as the user who started the hub.") from error
    try:
        return {name: str(value) for name, value in json.loads(content).items()}
    except (ValueError, AttributeError) as error:
        raise SettingError(f"{path} is damaged: put it back from your backup.") from error


def ensure_secrets(data_dir: Path) -> dict[str, str]:
    """Make the secrets that are missing, once, in a file only its owner can read; gives all of them."""
    have = read_secrets(data_dir)
    if all(have.get(name) for name in SECRET_NAMES):
        return have
    make_folder(data_dir)
    values = {name: secrets.token_urlsafe(32) for name in SECRET_NAMES} | have
    _write_once(data_dir / "secrets.json", values, replaces=bool(have))
    return read_secrets(data_dir)


def _write_once(path: Path, values: dict[str, str], *, replaces: bool) -> None:
    """Write whole or not at all; of two starts at the same instant the first one's secrets stay."""
    try:
        temporary = write_private(path.parent, json.dumps(values, indent=2) + "\n")
        if replaces:
            os.replace(temporary, path)
            return
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    except OSError as error:
        raise explain(error, path) from error


def write_private(folder: Path, content: str) -> Path:
    """A new file with mode 0600, its content on the disk."""
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".new-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)

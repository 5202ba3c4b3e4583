"""What `./hub mount` takes."""

import argparse
from pathlib import Path

from memoryhub.client.transport import Transport
from memoryhub.environ import read_text
from memoryhub.exits import ArgumentParser, Exit, UpError
from stores.mount.constants import SYNC_SECONDS_DEFAULT, SYNC_SECONDS_MIN
from stores.mount.ignores import GlobError, Ignores
from stores.mount.mounted_stores import check_sync_seconds
from stores.mount.stores_on_disk import Deletions, MountOptions

URL_DEFAULT = "http://127.0.0.1:8000"
ROOT_DEFAULT = "/mnt/memory"


def parse(arguments: list[str]) -> argparse.Namespace:
    """Raises: UpError."""
    parser = ArgumentParser(
        prog="./hub mount",
        description="Run a command with memory stores as folders, and keep both in step. The key is read from MEMORYHUB_KEY or "
        "MEMORYHUB_KEY_FILE, the hub's address from MEMORYHUB_URL.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--store", action="append", metavar="ID[:ro]", help="a store; again for another one")
    which.add_argument("--session", metavar="ID", help="the stores that a session attaches")
    which.add_argument(
        "--work", metavar="ENVIRONMENT", help="take work items of an environment, one at a time"
    )
    parser.add_argument("--once", action="store_true", help="with --work: end after one item")
    parser.add_argument(
        "--root", type=Path, help=f"where the folders go; {ROOT_DEFAULT}, or as a session says"
    )
    parser.add_argument(
        "--interval",
        default=f"{SYNC_SECONDS_DEFAULT:g}",
        help=f"seconds between passes, at least {SYNC_SECONDS_MIN:g}, or off",
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="GLOB", help="names to leave alone")
    parser.add_argument("--deletions", choices=list(Deletions), default=Deletions.ENABLED, type=Deletions)
    parser.add_argument("--kept", type=Path, help="where losing edits go; beside the folders when left out")
    parser.add_argument("--json", action="store_true", help="say what happens as lines of JSON")
    parser.add_argument(
        "--render",
        choices=["docker", "compose", "systemd"],
        help="print how to start this elsewhere, and run nothing",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    options = parser.parse_args(arguments)
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not options.command:
        raise UpError(Exit.USAGE, "Say which command to run, after --.")
    return options


def read_url() -> str:
    return read_text("MEMORYHUB_URL", URL_DEFAULT) or URL_DEFAULT


def read_key() -> str:
    """Raises: UpError, SettingError."""
    key = read_text("MEMORYHUB_KEY")
    if key is None:
        raise UpError(
            Exit.SETTING, "MEMORYHUB_KEY is missing: set it, or MEMORYHUB_KEY_FILE, to a key of the hub."
        )
    return key


def mount_options(options: argparse.Namespace) -> MountOptions:
    """Raises: UpError."""
    try:
        return MountOptions(deletions=options.deletions, ignores=Ignores(options.ignore), kept=options.kept)
    except GlobError as error:
        raise UpError(Exit.USAGE, str(error)) from error


def sync_seconds(options: argparse.Namespace) -> float | None:
    """None: no passes while the command runs. Raises: UpError."""
    if options.interval == "off":
        return None
    try:
        return check_sync_seconds(float(options.interval))
    except ValueError as error:
        raise UpError(Exit.USAGE, f"--interval: {error}") from error


def open_transport(key: str, seconds: float) -> Transport:
    return Transport(read_url(), key, timeout_seconds=seconds)

"""A hub on a disk of its own that is filled to the last byte and freed again. Linux, as root."""

import errno
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryhub.embedded.processes import wait_until
from tests.crash.crashes import Harms
from tests.crash.hub import CrashHub

DISK_MEGABYTES = 256
FULL_SECONDS_MAX = 4.0
# Little write-ahead log is kept aside, so that the filled disk is soon felt.
SETTINGS = {"min_wal_size": "32MB", "max_wal_size": "32MB", "shared_buffers": "16MB"}


@contextmanager
def small_disk() -> Iterator[Path]:
    """A tmpfs that PostgreSQL's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-disk-"))
    options = f"size={DISK_MEGABYTES}m,mode=0711"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def fill_disk(hub: CrashHub, rng: random.Random) -> None:
    """Leave no byte for a while, then free it; a PostgreSQL that ended over it is started again."""
    filler = hub.folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            _fill(file.fileno())
            wait_until(lambda: False, 1 + rng.random() * FULL_SECONDS_MAX)
    finally:
        filler.unlink()
    wait_until(lambda: hub.postgres.pid() is None or hub.postgres.ready(), 20)
    hub.postgres.start()


def _fill(descriptor: int) -> None:
    for size in (1_048_576, 4_096, 1):
        try:
            while os.write(descriptor, b"\0" * size):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


FULL_DISK: Harms = {"fill the disk": (fill_disk, 1)}

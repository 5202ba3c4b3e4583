"""A pytest plugin: a PostgreSQL and a queue for this run alone, in a folder that goes away with it.

It acts when it is imported, before Django reads its settings. The workers of pytest-xdist inherit the
environment and start nothing. DATABASE_URL and REDIS_URL, when set, are used instead.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from memoryhub.embedded import EmbeddedPostgres, EmbeddedQueue, ensure_secrets

OWN_POSTGRES = "MEMORYHUB_TEST_OWN_POSTGRES"  # its databases go away with it
# The data of a test run need not survive a power cut.
FAST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
    "deadlock_timeout": "100ms",  # a deadlock, which answers 503, shows soon
}


def make_data_dir() -> Path:
    """A new data folder, which PostgreSQL's user may enter; pytest's tmp_path it may not when we are root."""
    folder = Path(tempfile.mkdtemp(prefix="memoryhub-tests-"))
    folder.chmod(0o711)
    return folder


def start() -> None:
    data_dir = make_data_dir()
    atexit.register(shutil.rmtree, data_dir, ignore_errors=True)
    ensure_secrets(data_dir)
    os.environ["MEMORYHUB_DATA_DIR"] = str(data_dir)
    # Here, since Django reads its settings before conftest.py does anything.
    os.environ.setdefault("MEMORYHUB_LOG_LEVEL", "ERROR")
    if not os.environ.get("DATABASE_URL"):
        _start_postgres(data_dir)
        os.environ[OWN_POSTGRES] = "1"
    if not os.environ.get("REDIS_URL"):
        _start_queue(data_dir)


def _start_postgres(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir, settings=FAST_SETTINGS)
    atexit.register(postgres.stop)
    postgres.start()
    os.environ["DATABASE_URL"] = postgres.url()


def _start_queue(data_dir: Path) -> None:
    queue = EmbeddedQueue(data_dir)
    atexit.register(queue.stop)
    queue.start()
    os.environ["REDIS_URL"] = queue.url()


if "PYTEST_XDIST_WORKER" not in os.environ:
    start()

"""gunicorn's settings. `gunicorn -c python:memoryhub.gunicorn_config memoryhub.wsgi` serves the hub."""

import os
import shutil
from pathlib import Path
from typing import Any

from memoryhub.environ import read_integer, read_text

# `./hub up` opens the port itself and hands it over, so requests wait while gunicorn starts again.
_descriptor = os.environ.get("MEMORYHUB_LISTEN_FD")
_host = read_text("MEMORYHUB_BIND_HOST") or "127.0.0.1"
bind = (
    f"fd://{_descriptor}"
    if _descriptor
    else f"{_host}:{read_integer('PORT', 8000, minimum=1, maximum=65_535)}"
)

# Counters that the web processes share; those of the last run are gone with it.
if _metrics_folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    shutil.rmtree(_metrics_folder, ignore_errors=True)
    os.makedirs(_metrics_folder, mode=0o700)

worker_class = "memoryhub.web_worker.WebWorker"
workers = read_integer("MEMORYHUB_WEB_PROCESSES", 2, minimum=1, maximum=64)
# Sixteen may wait for other services, see providers/waiting.py; the others are for everything else.
threads = read_integer("MEMORYHUB_WEB_THREADS", 24, minimum=1, maximum=64)
preload_app = True  # loaded once, then forked: half the work of a start, and a lost process is back at once
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # the heartbeat must not wait for a disk

timeout = 60  # seconds without a sign of life before a process is replaced
graceful_timeout = 10  # seconds a request may finish in when the hub ends
keepalive = 30
sendfile = False  # it waits for a reader past every timeout of the socket
limit_request_line = 8_190
limit_request_fields = 100
limit_request_field_size = 8_190
control_socket_disable = True
accesslog = None  # the hub logs each request itself, with its id and without content
loglevel = "warning"


def on_starting(server: Any) -> None:
    """gunicorn's hook, before the fork: what the first request would load. No connection is opened."""
    from django.urls import get_resolver

    import memoryhub.wsgi  # noqa: F401

    assert get_resolver().url_patterns


def child_exit(server: Any, worker: Any) -> None:
    """gunicorn's hook: the gauges of a process end with it."""
    from prometheus_client import multiprocess  # here: the parent needs nothing else of it

    if _metrics_folder:
        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]

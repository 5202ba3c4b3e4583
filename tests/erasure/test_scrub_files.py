"""Erased text leaves the files of the database: a server of its own, so that its whole folder can be searched."""

import subprocess
import sys
from pathlib import Path

import pytest

from memoryhub.embedded import EmbeddedPostgres
from tests.embedded import make_data_dir

CANARY = "canary-5b1f6c1e-of-a-leaked-secret"
ROOT = Path(__file__).resolve().parents[2]
# Short enough to stand in the files as it is: PostgreSQL compresses longer values.
SCENARIO = f"""
import django; django.setup()
from tests.world import make_tenant
tenant = make_tenant("scrubbed")
call = tenant.call()
store = call("POST", "/v1/memory_stores", {{"name": "s"}}).body["id"]
base = f"/v1/memory_stores/{{store}}"
memory = call("POST", f"{{base}}/memories", {{"path": "/a", "content": "{CANARY} " * 9}}).body
assert call("POST", f"{{base}}/memories/{{memory['id']}}", {{"content": "clean"}}).status == 200
redacted = call("POST", f"{{base}}/memory_versions/{{memory['memory_version_id']}}/redact")
assert redacted.status == 200 and redacted.body["content"] is None
"""


@pytest.fixture(scope="module")
def server() -> EmbeddedPostgres:
    folder = make_data_dir()
    postgres = EmbeddedPostgres(
        folder, settings={"wal_keep_size": "0", "max_wal_size": "64MB", "min_wal_size": "32MB"}
    )
    postgres.start()
    yield postgres
    postgres.stop()


def run(server: EmbeddedPostgres, *arguments: str) -> None:
    environment = {
        "DATABASE_URL": server.url(),
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "MEMORYHUB_BASE_URL": "http://testserver",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**_inherited(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def _inherited() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}


def files_with(folder: Path, text: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_redacted_text_leaves_the_files_by_the_documented_command(server: EmbeddedPostgres) -> None:
    run(server, "manage.py", "migrate", "-v0")
    run(server, "manage.py", "collectstatic", "-v0", "--noinput")
    run(server, "-c", SCENARIO)
    assert files_with(server.cluster, CANARY.encode()), "the search of the files finds nothing even before"
    run(server, "manage.py", "scrub_files")
    assert files_with(server.cluster, CANARY.encode()) == []

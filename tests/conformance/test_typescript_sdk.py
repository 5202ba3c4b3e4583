"""The official TypeScript SDK, unmodified, against a running hub."""

import json
import os
import subprocess
from typing import Any

import pytest

from memoryhub.digests import sha256_hex
from tests.conformance import packages
from tests.live import LiveHub
from tests.world import Tenant


@pytest.fixture
def seen(live: LiveHub, live_tenant: Tenant) -> Any:
    """What `walk.mjs` saw."""
    try:
        project = packages.typescript_project()
    except packages.FetchError as error:
        pytest.fail(str(error), pytrace=False)
    done = subprocess.run(
        [*packages.node(), "walk.mjs"],
        cwd=project,
        env={**os.environ, "MEMORYHUB_URL": live.url, "MEMORYHUB_KEY": live_tenant.key},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_creates_conflicts_lists_and_redacts(seen: Any) -> None:
    assert seen["made"] == {"path": "/a/ü.md", "content": "one\n", "sha256": sha256_hex("one\n")}
    assert seen["updated"] == {"path": "/a/ü.md", "content": None, "moved": True}
    assert seen["conflict"] == {
        "is_conflict_error": True,
        "status": 409,
        "type": "memory_precondition_failed_error",
        "requests": 1,
    }
    assert seen["taken"] == {"is_conflict_error": True, "path": "/a/ü.md"}
    assert seen["missing"] == {"is_not_found_error": True}
    assert seen["children"] == [["memory_prefix", "/a/"], ["memory", "/b.md"]]
    assert seen["versions"] == [["modified", "two\n"], ["created", "one\n"]]
    at = seen["redacted"].pop("at")
    assert at and seen["redacted"] == {"path": None, "content": None, "sha256": None}
    assert seen["deleted"]["type"] == "memory_deleted"
    assert seen["archived"] and seen["gone"] == "memory_store_deleted"


def test_the_lock_names_no_registry() -> None:
    lock = (packages.TYPESCRIPT / "package-lock.json").read_text()
    assert "resolved" not in lock and "://" not in lock
    locked = json.loads(lock)["packages"]
    assert all("integrity" in package for name, package in locked.items() if name)
    wanted = packages.typescript_dependencies()
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_a_machine_without_node_uses_the_one_from_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    command = packages.node()
    assert command == packages.wheel_node()
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=20)
    assert done.stdout.startswith("v")


def test_a_registry_that_does_not_answer_fails_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(packages, "CACHE", tmp_path)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:1/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    with pytest.raises(packages.FetchError, match="from the npm registry"):
        packages.typescript_project()
    assert not list(tmp_path.glob("typescript-*"))

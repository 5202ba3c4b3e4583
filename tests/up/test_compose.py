"""The container files name what is there."""

import importlib.util
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml

from stores.mount import command_options, launchers
from tests.up.hubs import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
HUB_SERVICES = ("prepare", "web", "mcp", "provider-worker", "worker", "beat")


def test_the_services_are_those_of_a_hub() -> None:
    assert set(COMPOSE["services"]) == {"postgres", "queue", *HUB_SERVICES, "mount"}
    for name in ("postgres", "queue"):
        assert COMPOSE["services"][name]["healthcheck"]["test"]


def test_every_command_names_a_module_that_exists() -> None:
    for name in HUB_SERVICES:
        words = [str(word) for word in COMPOSE["services"][name]["command"]]
        assert words[0] == "python" or shutil.which(words[0], path=str(ROOT / ".venv" / "bin")), words
        modules = [
            word.removeprefix("python:")
            for word in words[1:]
            if word.removeprefix("python:").startswith("memoryhub.")
        ]
        assert modules and all(importlib.util.find_spec(module) for module in modules), words


def test_the_mount_is_a_profile_and_is_told_what_the_launcher_tells() -> None:
    service = COMPOSE["services"]["mount"]
    launch = launchers.Launch("http://web:8000", "", ("--work", "env_1", "--", "sh", "-c", "agent"))
    rendered = yaml.safe_load(launchers.compose_text(launch))["services"]["mount"]
    for name in ("profiles", "init", "user", "cap_drop", "security_opt", "stop_grace_period", "restart"):
        assert service[name] == rendered[name], name
    assert service["command"][:4] == rendered["command"][:4]
    assert service["environment"]["MEMORYHUB_URL"] == rendered["environment"]["MEMORYHUB_URL"]
    options = command_options.parse([str(word) for word in service["command"][3:-1]] + ["agent"])
    assert (options.work, options.command) == ("${MOUNT_ENVIRONMENT:-}", ["sh", "-c", "agent"])
    assert "web" in COMPOSE["x-hub"]["environment"]["MEMORYHUB_ALLOWED_HOSTS"]


def test_every_secret_is_a_file_and_every_service_that_reads_one_has_it() -> None:
    for service in COMPOSE["services"].values():
        environment = service.get("environment", {})
        named = [value for key, value in environment.items() if key.endswith("_FILE")]
        assert all(Path(value).parent == Path("/run/secrets") for value in named)
        assert (
            {Path(value).name for value in named}
            <= set(service.get("secrets", []))
            <= set(COMPOSE["secrets"])
        )
        assert not any(
            word in key and not key.endswith("_FILE")
            for key in environment
            for word in ("PASSWORD", "SECRET")
        )


def secrets_read() -> set[str]:
    """The variables of the secrets that the settings read."""
    text = (ROOT / "memoryhub" / "settings.py").read_text()
    return {f"MEMORYHUB_{name.upper()}_FILE" for name in re.findall(r'= _secret\("(\w+)"\)', text)}


def test_the_secrets_passed_are_those_that_a_hub_reads() -> None:
    assert "MEMORYHUB_SECRET_KEY_FILE" in secrets_read()
    for name in HUB_SERVICES:
        environment = COMPOSE["services"][name]["environment"]
        assert {key for key in environment if key.endswith("_KEY_FILE")} == secrets_read()


def test_the_image_runs_as_a_user_and_copies_what_is_there() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "USER memoryhub" in lines
    allowed = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines()}
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            *sources, _ = shlex.split(line)[1:]
            assert all((ROOT / source).exists() and source in allowed for source in sources), line

"""`./hub mount` as a process: the command under the mounts, signals, exit codes, and what it says."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stores.mount import command_options, launchers
from stores.mount.command import main
from tests.live import LiveHub
from tests.mount.ground import Bench
from tests.mount.test_work_items import queue
from tests.source import ROOT
from tests.world import Tenant

__all__ = ["queue"]  # a fixture


@pytest.fixture
def hub_mount(bench: Bench, live: LiveHub, live_tenant: Tenant) -> "HubMount":
    return HubMount(bench, live.url, live_tenant.key)


class HubMount:
    def __init__(self, bench: Bench, url: str, key: str) -> None:
        self.bench = bench
        self.environment = {**os.environ, "MEMORYHUB_URL": url, "MEMORYHUB_KEY": key, "PYTHONPATH": str(ROOT)}

    def start(self, *command: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        which = options or ("--store", self.bench.shelf.store_id)
        words = ["-m", "stores.mount.command", *which, "--root", str(self.bench.folder), "--", *command]
        return subprocess.Popen(
            [sys.executable, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, options: tuple[str, ...] = ()) -> tuple[int, str, list[dict[str, Any]]]:
        """(exit code, standard output, events)"""
        process = self.start(*command, options=options)
        out, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors
        return process.returncode, out, [json.loads(line) for line in errors.splitlines() if line[0] == "{"]


def sh(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def test_a_command_works_in_the_folder_and_its_code_is_passed_on(hub_mount: HubMount, bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.shelf.put("/b", "b")
    script = (
        f'cd {bench.root}; cat a; echo x > new; rm b; echo "[$MEMORYHUB_KEY]"; echo $MEMORYHUB_MOUNTS; exit 7'
    )
    code, out, events = hub_mount.run(*sh(script))
    assert code == 7
    assert out.startswith("a[]\n")
    assert json.loads(out.splitlines()[1])[0]["mount_path"] == str(bench.root)
    assert bench.memories() == {"/a": "a", "/new": "x\n"}
    assert not bench.root.exists()
    assert [event["kind"] for event in events if "memory_store_id" in event] == [
        "downloaded",
        "deleted",
        "uploaded",
        "disposed",
    ]
    assert events[-1] == {"kind": "ended", "code": 7, "saved": True, "kept": 0}


def test_a_signal_is_passed_on_and_the_work_is_flushed(hub_mount: HubMount, bench: Bench) -> None:
    bench.shelf.put("/gone", "stays")
    script = f"cd {bench.root}; rm gone; echo x > new; trap 'echo y > last; exit 0' TERM; echo ready; sleep 60 & wait"
    process = hub_mount.start(*sh(script))
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert bench.memories() == {"/gone": "stays", "/new": "x\n", "/last": "y\n"}
    assert not bench.root.exists()


def test_what_the_command_leaves_running_is_ended_with_it(hub_mount: HubMount, bench: Bench) -> None:
    code, out, _ = hub_mount.run(*sh("sleep 300 & echo $!"))
    assert code == 0
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(out), 0)
            if _state_of(int(out)) == "Z":  # nobody waits for it in this container
                raise ProcessLookupError
            time.sleep(0.02)


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_command_ended_by_a_signal_has_its_number(hub_mount: HubMount) -> None:
    assert hub_mount.run(*sh("kill -KILL $$"))[0] == 128 + signal.SIGKILL


def test_what_cannot_be_saved_is_said_and_lies_aside(hub_mount: HubMount, bench: Bench) -> None:
    code, _, events = hub_mount.run(*sh(f"printf '\\377' > {bench.root}/binary"))
    assert code == 74
    kept = next(event for event in events if event["kind"] == "kept_aside")["kept"]
    assert Path(kept).read_bytes() == b"\xff"
    assert bench.memories() == {}


def test_a_read_only_store_takes_nothing(hub_mount: HubMount, bench: Bench) -> None:
    options = ("--store", f"{bench.shelf.store_id}:ro")
    code, _, _ = hub_mount.run(*sh(f"echo x > {bench.root}/new"), options=options)
    assert code == 0 and bench.memories() == {}


@pytest.mark.parametrize(
    "words",
    [
        ["--store", "memstore_1"],
        ["--", "true"],
        ["--store", "a", "--session", "b", "--", "true"],
        ["--nonsense"],
    ],
)
def test_arguments_that_cannot_be_read_are_refused(words: list[str]) -> None:
    assert main(words) == 64


@pytest.mark.parametrize("options", [["--interval", "4"], ["--interval", "nan"], ["--ignore", "/"]])
def test_values_that_cannot_be_used_are_refused(
    hub_mount: HubMount, bench: Bench, options: list[str]
) -> None:
    assert hub_mount.run("true", options=("--store", bench.shelf.store_id, *options))[0] == 64
    assert not bench.root.exists()


def test_a_missing_or_wrong_key_has_its_code(
    monkeypatch: pytest.MonkeyPatch, live: LiveHub, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEMORYHUB_KEY", raising=False)
    monkeypatch.setenv("MEMORYHUB_URL", live.url)
    words = ["--store", "memstore_1", "--", "true"]
    assert main(words) == 78
    monkeypatch.setenv("MEMORYHUB_KEY", "mh_wrong")
    assert main(words) == 77
    monkeypatch.setenv("MEMORYHUB_URL", "http://127.0.0.1:1")
    assert main(words) == 68
    assert "Traceback" not in capsys.readouterr().err


def test_a_command_that_is_not_there_ends_with_127(hub_mount: HubMount, bench: Bench) -> None:
    assert hub_mount.run("/no/such/command")[0] == 127
    assert not bench.root.exists()


def test_a_taken_place_ends_with_65_and_runs_nothing(hub_mount: HubMount, bench: Bench) -> None:
    bench.write("mine", "x")
    code, out, _ = hub_mount.run("echo", "ran")
    assert (code, out) == (65, "")
    assert bench.files() == {"/mine": "x"}


def test_a_session_is_mounted_by_its_token(
    hub_mount: HubMount, bench: Bench, live: LiveHub, live_tenant: Tenant
) -> None:
    call = live.caller(live_tenant.key)
    resource = {"type": "memory_store", "memory_store_id": bench.shelf.store_id, "access": "read_write"}
    session = call(
        "POST",
        "/v1/sessions",
        {"environment": "development", "resources": [resource]},
        headers={"Idempotency-Key": "one"},
    ).body
    token = call("POST", f"/v1/sessions/{session['id']}/tokens", {}).body["token"]
    hub_mount.environment["MEMORYHUB_KEY"] = token
    assert hub_mount.run(*sh(f"echo x > {bench.root}/new"))[0] == 0
    assert bench.shelf.versions()[0].created_by_type == "session_actor"
    hub_mount.environment["MEMORYHUB_KEY"] = live_tenant.key
    assert hub_mount.run("true", options=("--session", session["id"]))[0] == 0


def test_a_worker_takes_one_item(hub_mount: HubMount, bench: Bench, queue: Any) -> None:
    hub_mount.environment |= {"MEMORYHUB_URL": queue.url, "MEMORYHUB_KEY": "worker"}
    code, _, events = hub_mount.run(*sh(f"echo x > {bench.root}/new"), options=("--work", "env_1", "--once"))
    assert code == 0, events
    assert bench.memories() == {"/new": "x\n"}
    assert queue.calls[-1] == "stop"


LAUNCH = launchers.Launch(
    "http://hub:8000",
    "/etc/key file",
    ("--store", "memstore_1", "--json", "--", "sh", "-c", 'echo "$HOME" 100%'),
)


def test_docker_is_told_the_command_the_key_file_and_the_grace() -> None:
    words = shlex.split(launchers.docker_text(LAUNCH))
    assert words == launchers.docker_command(LAUNCH)
    assert "--stop-timeout=120" in words and words[-len(LAUNCH.arguments) :] == list(LAUNCH.arguments)
    assert "--mount=type=bind,src=/etc/key file,dst=/run/secrets/memoryhub_key,readonly" in words


def test_compose_is_told_the_same() -> None:
    import yaml

    service = yaml.safe_load(launchers.compose_text(LAUNCH))["services"]["mount"]
    assert (service["profiles"], service["stop_grace_period"]) == (["mount"], "120s")
    assert service["command"][-1] == 'echo "$$HOME" 100%'


def test_systemd_is_told_the_same() -> None:
    text = launchers.systemd_text(LAUNCH, ["/opt/memory hub/python"])
    assert 'ExecStart="/opt/memory hub/python" --store memstore_1' in text
    assert 'LoadCredential="memoryhub_key:/etc/key file"' in text or "LoadCredential=memoryhub_key:" in text
    assert '\\"$$HOME\\" 100%%"' in text
    assert "TimeoutStopSec=150" in text


def test_rendering_runs_nothing_and_needs_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEMORYHUB_KEY", raising=False)
    words = ["--store", "memstore_1", "--ignore", "*.swp", "--render", "docker", "--", "agent"]
    assert main(words) == 0
    shown = shlex.split(capsys.readouterr().out)
    again = command_options.parse(shown[shown.index("stores.mount.command") + 1 :])
    assert (again.store, again.ignore, again.command) == (["memstore_1"], ["*.swp"], ["agent"])


def test_the_hubs_own_program_knows_it_and_loads_nothing_of_django() -> None:
    program = "import sys; sys.argv = ['manage.py', 'mount', '--store', 'memstore_1']; exec(open('manage.py').read())"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 64
    assert "Say which command to run" in done.stderr
    assert "django" not in done.stderr

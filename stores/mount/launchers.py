"""How else a mount can be started: a container, a compose service, a systemd unit, as text to look at and keep.

Nothing is run here. The end of a mount takes up to 30 seconds twice, so whoever stops one gives it 120.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

IMAGE = "memoryhub:0.1.0"
STOP_SECONDS = 120  # contract: container stop grace
OUTER_STOP_SECONDS = 150
KEY_FILE = "/run/secrets/memoryhub_key"
PROGRAM = ("python", "-m", "stores.mount.command")


@dataclass(frozen=True, slots=True)
class Launch:
    """`arguments`: of the mount, with the command after `--`. `key_file`: on the machine that starts it."""

    url: str
    key_file: str
    arguments: tuple[str, ...]
    image: str = IMAGE


def docker_command(launch: Launch) -> list[str]:
    """The key is a file that only the mount reads: it is in no environment and no list of processes."""
    return [
        *("docker", "run", "--rm", "--init", "--user", "0:0", f"--stop-timeout={STOP_SECONDS}"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges"),
        f"--mount=type=bind,src={launch.key_file},dst={KEY_FILE},readonly",
        f"--env=MEMORYHUB_URL={launch.url}",
        f"--env=MEMORYHUB_KEY_FILE={KEY_FILE}",
        launch.image,
        *PROGRAM,
        *launch.arguments,
    ]


def docker_text(launch: Launch) -> str:
    return shlex.join(docker_command(launch)) + "\n"


def compose_text(launch: Launch) -> str:
    """A service of the profile `mount`, for a compose file of its own or beside the hub's."""
    service = {
        "image": launch.image,
        "profiles": ["mount"],
        "init": True,
        "user": "0:0",
        "command": [_escape(word) for word in (*PROGRAM, *launch.arguments)],
        "environment": {"MEMORYHUB_URL": _escape(launch.url), "MEMORYHUB_KEY_FILE": KEY_FILE},
        "secrets": ["memoryhub_key"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "stop_grace_period": f"{STOP_SECONDS}s",
        "restart": "no",
    }
    whole = {
        "services": {"mount": service},
        "secrets": {"memoryhub_key": {"file": _escape(launch.key_file)}},
    }
    return json.dumps(whole, indent=2) + "\n"  # JSON is YAML


def _escape(word: str) -> str:
    """Compose puts variables in place of a single dollar."""
    return word.replace("$", "$$")


def systemd_text(launch: Launch, program: Sequence[str]) -> str:
    """A unit for one worker. `program`: what starts a mount on that machine. The key is a credential of systemd."""
    words = " ".join(_unit_word(word) for word in (*program, *launch.arguments))
    return f"""[Unit]
Description=MemoryHub mount
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
DynamicUser=yes
RuntimeDirectory=memoryhub-mount
StateDirectory=memoryhub-mount
LoadCredential=memoryhub_key:{_unit_word(launch.key_file)}
Environment={_unit_word(f"MEMORYHUB_URL={launch.url}")}
Environment=MEMORYHUB_KEY_FILE=%d/memoryhub_key
ExecStart={words}
KillMode=mixed
TimeoutStopSec={OUTER_STOP_SECONDS}
Restart=on-failure
RestartSec=5
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
"""


def _unit_word(word: str) -> str:
    """Quoted as systemd reads it: no specifier and no variable is meant."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if not plain or any(char in " \t\"'\\;" for char in plain) else plain

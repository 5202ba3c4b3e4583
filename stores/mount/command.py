"""`./hub mount`, also installed as `memoryhub-mount`: a command with memory stores as folders.

Exit codes: the command's own, 128 and a signal's number when one ended it, and these of the mount:

  64   a wrong argument
  65   something stands already where a store would be mounted; nothing was run
  68   the hub could not be reached, or did not give what is needed; nothing was run
  73   a folder could not be made; nothing was run
  74   the command ended with 0, and not everything could be saved: what was not lies aside, as was said
  75   the lease was lost: the work is somebody else's now
  77   the hub refused the key
  78   a setting is missing or wrong
  126  the command may not be run
  127  there is no such command
"""

import argparse
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import uniform
from threading import Event
from typing import Any, NoReturn

from memoryhub.client.errors import ClientError, HubRefused
from memoryhub.client.transport import Transport
from memoryhub.environ import SettingError
from memoryhub.exits import Exit, UpError
from stores.mount import command_options, launchers
from stores.mount.constants import REQUEST_SECONDS, SYNC_SECONDS_DEFAULT
from stores.mount.downloads import MountError
from stores.mount.mounted_stores import Ending, MountedStores, Wanted, wanted_by_session
from stores.mount.outlets import choose_listener, say_line
from stores.mount.processes import CommandMissingError, Exited, Signals, run_command
from stores.mount.queues import WorkQueue
from stores.mount.remote import RemoteStore
from stores.mount.work_items import Task, WorkOptions, run_mounted, run_work_item

UNSAVED = 74
LEASE_LOST = 75
KEY_REFUSED = 77
MOUNT_EXITS = {
    "occupied": Exit.FOREIGN_FOLDER,
    "folder": Exit.FOLDER,
    "download": Exit.DATABASE,
    "token": Exit.DATABASE,
    "setting": Exit.USAGE,
}
IDLE_SECONDS = (1.0, 3.0)  # contract: idle poll sleep
BACKOFF_SECONDS_MAX = 60.0
_SECRETS = ("MEMORYHUB_KEY", "MEMORYHUB_KEY_FILE")
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def main(arguments: list[str] | None = None) -> int:
    try:
        return int(_main(command_options.parse(sys.argv[1:] if arguments is None else arguments)))
    except UpError as error:
        return _fail(error.code, str(error))
    except SettingError as error:
        return _fail(Exit.SETTING, str(error))
    except MountError as error:
        return _fail(MOUNT_EXITS[error.kind], str(error))
    except CommandMissingError as error:
        return _fail(error.code, str(error))
    except ClientError as error:
        refused = isinstance(error, HubRefused) and error.status in (401, 403)
        return _fail(KEY_REFUSED if refused else Exit.DATABASE, str(error))


def _fail(code: int, sentence: str) -> int:
    sys.stderr.write(f"memoryhub: {sentence}\n")
    return code


def _main(options: argparse.Namespace) -> int:
    if options.render:
        sys.stdout.write(_render(options))
        return 0
    key = command_options.read_key()
    with Signals().held() as signals, command_options.open_transport(key, REQUEST_SECONDS) as transport:
        if options.work:
            return _work(options, transport, signals)
        wanted = [_placed(options, one) for one in _find_wanted(options, transport)]
        stores = MountedStores(
            transport,
            wanted,
            options=command_options.mount_options(options),
            sync_seconds=command_options.sync_seconds(options) or SYNC_SECONDS_DEFAULT,
            listener=_listener(options, wanted),
        )
        stores.download()
        return _run_once(options, stores, wanted, signals)


def _run_once(
    options: argparse.Namespace, stores: MountedStores, wanted: list[Wanted], signals: Signals
) -> int:
    exits: list[Exited] = []
    run = partial(_run_command, options, wanted, signals, Event(), stores, exits)
    ending = run_mounted(stores, run)
    return _exit_code(options, exits[0], ending)


def _exit_code(options: argparse.Namespace, exited: Exited, ending: Ending) -> int:
    say_line("ended", as_json=options.json, code=exited.code, saved=ending.is_saved, kept=ending.kept)
    return UNSAVED if exited.code == 0 and not ending.is_saved else exited.code


def _run_command(
    options: argparse.Namespace,
    wanted: list[Wanted],
    signals: Signals,
    over: Event,
    stores: MountedStores,
    exits: list[Exited],
) -> bool:
    passes: Callable[[], object] = stores.sync_if_due
    if command_options.sync_seconds(options) is None:
        passes = bool
    exited = run_command(
        options.command,
        environment=_environment(wanted),
        signals=signals,
        over=over,
        meanwhile=passes,
    )
    exits.append(exited)
    return exited.is_clean


def _environment(wanted: list[Wanted]) -> dict[str, str]:
    """The command's: without the key, and with where the stores are."""
    shown = [
        {
            "mount_path": str(one.root),
            "access": "read_only" if one.read_only else "read_write",
            "name": one.name,
            "memory_store_id": one.store_id,
        }
        for one in wanted
    ]
    kept = {name: value for name, value in os.environ.items() if name not in _SECRETS}
    return {**kept, "MEMORYHUB_MOUNTS": json.dumps(shown)}


def _listener(options: argparse.Namespace, wanted: list[Wanted]) -> Any:
    return choose_listener({one.store_id: one.name for one in wanted}, as_json=options.json)


def _find_wanted(options: argparse.Namespace, transport: Transport) -> list[Wanted]:
    if options.session:
        return wanted_by_session(transport.call("GET", f"/v1/sessions/{options.session}"))
    return [_named(transport, text) for text in options.store]


def _named(transport: Transport, text: str) -> Wanted:
    store_id, _, access = text.partition(":")
    if access not in ("", "ro", "rw"):
        raise UpError(Exit.USAGE, f"--store {text}: say ID, ID:ro or ID:rw.")
    store = RemoteStore(transport, store_id).get_store()
    root = Path(command_options.ROOT_DEFAULT) / slug_of(store)
    return Wanted(store_id, root, access == "ro", store["name"])


def slug_of(store: dict[str, Any]) -> str:
    """Source: stores contract, section 3.5."""
    slug = _NOT_PLAIN.sub("-", store["name"].lower()).strip("-")
    return slug[:255].rstrip("-") or f"store-{store['id'][-8:].lower()}"


def _placed(options: argparse.Namespace, wanted: Wanted) -> Wanted:
    """Elsewhere only when the operator says so."""
    return (
        wanted if options.root is None else replace(wanted, root=options.root.absolute() / wanted.root.name)
    )


def _work(options: argparse.Namespace, transport: Transport, signals: Signals) -> int:
    """Items one after the other, until a signal."""
    queue = WorkQueue(transport, options.work, worker_id=f"{socket.gethostname()}-{os.getpid()}")
    failures = 0
    while signals.stop is None:
        try:
            item = queue.poll()
            if item is not None:
                queue.acknowledge(item.id)
        except ClientError as error:
            if isinstance(error, HubRefused) and error.status in (401, 403, 404):
                raise
            failures += 1
            say_line("poll_failed", as_json=options.json, error=str(error))
            _sleep(min(2.0**failures, BACKOFF_SECONDS_MAX) + uniform(0, 1), signals)
            continue
        failures = 0
        if item is None:
            _sleep(uniform(*IDLE_SECONDS), signals)
            continue
        code = _run_item(options, queue, item, signals)
        if options.once:
            return code
    return 0


def _run_item(options: argparse.Namespace, queue: WorkQueue, item: Any, signals: Signals) -> int:
    say_line("work", as_json=options.json, work=item.id, session=item.session_id)
    exits: list[Exited] = []

    def run(task: Task) -> bool:
        wanted = [_placed(options, one) for one in wanted_by_session(task.session)]
        return _run_command(options, wanted, signals, task.over, task.stores, exits)

    try:
        end = run_work_item(queue, item, run, _work_options(options))
    except (MountError, ClientError, CommandMissingError) as error:
        if options.once:
            raise
        say_line("work_failed", as_json=options.json, work=item.id, error=str(error))
        return Exit.REFUSED
    if end.lease_lost is not None:
        say_line("lease_lost", as_json=options.json, work=item.id, reason=end.lease_lost)
        return LEASE_LOST
    return 0 if end.ending is None else _exit_code(options, exits[0], end.ending)


def _work_options(options: argparse.Namespace) -> WorkOptions:
    return WorkOptions(
        command_options.read_url(),
        command_options.mount_options(options),
        command_options.sync_seconds(options) or SYNC_SECONDS_DEFAULT,
        choose_listener({}, as_json=options.json),
        partial(_placed, options),
    )


def _sleep(seconds: float, signals: Signals) -> None:
    end = time.monotonic() + seconds
    while signals.stop is None and time.monotonic() < end:
        time.sleep(min(0.2, seconds))


def _render(options: argparse.Namespace) -> str:
    rendered = options.render
    arguments = _arguments_again(options)
    key_file = os.environ.get(_SECRETS[1], "/etc/memoryhub/key")
    launch = launchers.Launch(command_options.read_url(), key_file, tuple(arguments))
    if rendered == "docker":
        return launchers.docker_text(launch)
    if rendered == "compose":
        return launchers.compose_text(launch)
    return launchers.systemd_text(launch, [sys.executable, "-m", "stores.mount.command"])


def _arguments_again(options: argparse.Namespace) -> list[str]:
    stores = [word for store in options.store or [] for word in ("--store", store)]
    values = {
        "--session": options.session,
        "--work": options.work,
        "--root": options.root,
        "--interval": options.interval,
        "--kept": options.kept,
        "--deletions": options.deletions,
    }
    given = [word for name, value in values.items() if value is not None for word in (name, str(value))]
    ignores = [word for glob in options.ignore for word in ("--ignore", glob)]
    once = ["--once"] if options.once else []
    return [*stores, *given, *ignores, *once, "--json", "--", *options.command]


def run(arguments: list[str] | None = None) -> NoReturn:
    """As a program. Requests that were given up when the time was over are not waited for."""
    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()

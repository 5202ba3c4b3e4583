#!/usr/bin/env python3
"""The hub's commands; `./hub` calls it with the project's own Python. A foreseen failure is one sentence."""

import os
import sys

from memoryhub.exits import FORESEEN, Exit, explain_exit


def main(arguments: list[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    name, *rest = arguments[1:] or ["help"]
    if name == "up":  # starts the database itself, so before anything of Django
        from memoryhub import supervisor

        return supervisor.main(rest)
    if name in ("backup", "restore"):  # likewise
        from memoryhub import backup_programs

        return backup_programs.backup(rest) if name == "backup" else backup_programs.restore(rest)
    if name == "mount":  # needs no hub on this machine, and nothing of Django
        from stores.mount import command

        command.run(rest)
    return run(name, rest)


def run(name: str, arguments: list[str]) -> int:
    import django
    from django.db import OperationalError

    from memoryhub.command_line import run_command

    try:
        django.setup()
        run_command(name, arguments)
    except FORESEEN as error:
        code, sentence = explain_exit(error)
        sys.stderr.write(f"memoryhub: {sentence}\n")
        return code
    except OperationalError:
        sys.stderr.write("memoryhub: The database cannot be reached: start the hub, or check DATABASE_URL.\n")
        return Exit.DATABASE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))

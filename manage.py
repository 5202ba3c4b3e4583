#!/usr/bin/env python3
"""Django's entry point; `./hub` calls it with the project's own Python. A foreseen failure is one sentence."""

import os
import sys

from memoryhub.exits import FORESEEN, Exit, explain_exit


def main(arguments: list[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    if arguments[1:2] == ["up"]:  # starts the database itself, so before anything of Django
        from memoryhub import supervisor

        return supervisor.main(arguments[2:])
    if arguments[1:2] in (["backup"], ["restore"]):  # likewise
        from memoryhub import backup_programs

        program = backup_programs.backup if arguments[1] == "backup" else backup_programs.restore
        return program(arguments[2:])
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(arguments)
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

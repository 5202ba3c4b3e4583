"""A management command run for a person: what it cannot read or will not do is one sentence, with its exit code."""

from argparse import Namespace

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import connections

from memoryhub.exits import Exit, UpError, usage_error

NOT_OURS = {"--version", "--settings", "--pythonpath"}  # Django's own for every command: the version is its


def run_command(name: str, arguments: list[str]) -> None:
    """Raises: UpError, and whatever else ends the command."""
    command = _find_command(name)
    options = vars(_parse(command, name, arguments))
    try:
        command.execute(*options.pop("args", ()), **options)
    except CommandError as error:
        if options["traceback"]:
            raise
        raise UpError(_code_of(error), str(error)) from error
    finally:
        connections.close_all()


def _find_command(name: str) -> BaseCommand:
    app = get_commands().get(name)
    if app is None:
        raise UpError(Exit.USAGE, f"There is no command {name}: ./hub help lists them.")
    return app if isinstance(app, BaseCommand) else load_command_class(app, name)


def _parse(command: BaseCommand, name: str, arguments: list[str]) -> Namespace:
    command.suppressed_base_arguments = NOT_OURS
    parser = command.create_parser("hub", name)
    parser.prog = f"./hub {name}"
    try:
        return parser.parse_args(arguments)
    except CommandError as error:
        raise usage_error(str(error).removeprefix("Error: "), parser.prog) from error


def _code_of(error: CommandError) -> Exit:
    return Exit.SETTING if isinstance(error, SystemCheckError) else Exit.REFUSED

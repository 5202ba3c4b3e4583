"""`./hub import_store FILE --project P --environment E`: makes a store of an archive and prints its id."""

from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.commands import get_project_named, one_sentence, operator_actor
from stores.imports import import_store


class Command(BaseCommand):
    help = "Make a memory store of a tar file that ./hub export_store or the API wrote."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--project", required=True, help="name or id")
        parser.add_argument("--environment", required=True, help="name or id")
        parser.add_argument("--name", help="instead of the store's name in the archive")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = operator_actor(get_project_named(options["project"]))
        with one_sentence(), open_archive(options["file"]) as tar:
            imported = import_store(
                tar, environment=options["environment"], name=options["name"], actor=actor
            )
        self.stdout.write(imported.store.wire_id)
        counts = ", ".join(f"{name} {count}" for name, count in imported.counts().items())
        self.stderr.write(f"{counts}, manifest {imported.manifest_sha256}")


def open_archive(name: str) -> IO[bytes]:
    """Raises: CommandError."""
    try:
        return open(name, "rb")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error

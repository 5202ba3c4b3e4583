"""`./hub create_key --project P --environment E --scope S`: prints a new API key and nothing else."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memoryhub import keys, store_access
from memoryhub.actors import RecordScope
from memoryhub.commands import get_project_named, one_sentence, operator_actor
from memoryhub.operations import SCOPES


class Command(BaseCommand):
    help = "Create an API key and print it, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, help="name or id")
        parser.add_argument("--environment", help="name or id; left out: every environment of the project")
        parser.add_argument(
            "--scope", required=True, action="append", choices=SCOPES, help="may be given several times"
        )
        parser.add_argument("--store", action="append", help="agent keys: memory store id, or id:read_only")
        parser.add_argument(
            "--records",
            nargs=3,
            metavar=("AGENT", "ISSUER", "SUBJECT"),
            help="agent keys: whose records it remembers and recalls",
        )
        parser.add_argument("--name", default="created on the command line")

    def handle(self, *args: Any, **options: Any) -> None:
        project = get_project_named(options["project"])
        with one_sentence():
            issued = keys.create_key(
                environment=options["environment"],
                name=options["name"],
                scopes=options["scope"],
                stores=store_access.read_grants(_grants(options["store"])),
                record_scope=RecordScope(*options["records"]) if options["records"] else None,
                actor=operator_actor(project),
            )
        self.stdout.write(issued.secret)


def _grants(stores: list[str] | None) -> list[dict[str, Any]] | None:
    if stores is None:
        return None
    pairs = [store.partition(":") for store in stores]
    return [{"memory_store_id": store_id, "access": access or "read_write"} for store_id, _, access in pairs]

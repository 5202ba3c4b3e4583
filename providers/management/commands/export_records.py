"""`./hub export_records FILE --project P --environment E --agent A --issuer I --subject S`: the records of a scope; `-` is standard output."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memoryhub.commands import get_project_named, one_sentence, open_new, operator_actor
from providers.management.commands.import_records import add_scope_arguments, wanted_scope
from providers.record_exports import export_records


class Command(BaseCommand):
    help = "Write the records of a scope into a file, a line for each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a new file; - is standard output")
        add_scope_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        actor = operator_actor(get_project_named(options["project"]))
        with one_sentence(), open_new(options["file"]) as out:
            done = export_records(wanted_scope(options), out, bytes_max=None, actor=actor)
        self.stderr.write(f"{done.records} records, {done.size_bytes} bytes, sha256 {done.sha256}")

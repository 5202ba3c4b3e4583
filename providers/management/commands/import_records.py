"""`./hub import_records FORMAT PATH --project P --environment E --agent A --issuer I --subject S`: records of another product, or a hub."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.actors import RecordScope
from memoryhub.commands import get_project_named, one_sentence, operator_actor
from memoryhub.source_files import Folder, OneFile, Source, ZipSource, is_zip
from providers.limits import IMPORT_RECORDS_MAX
from providers.record_access import WantedScope
from providers.record_imports import ImportOrder, RecordImport, import_records
from providers.record_sources import FORMATS
from providers.record_sources.items import Wishes
from providers.transfer_serializers import record_import_wire


class Command(BaseCommand):
    help = "Save what another product kept, or a hub exported, as the records of one scope."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=list(FORMATS))
        parser.add_argument("path", help="a file, a ZIP or a folder")
        add_scope_arguments(parser)
        parser.add_argument("--user", help="of mem0: whose memories are taken")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be saved, and save nothing"
        )
        parser.add_argument("--json", action="store_true", help="answer with JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = operator_actor(get_project_named(options["project"]))
        order = ImportOrder(
            options["format"],
            Wishes(options["user"]),
            dry_run=options["dry_run"],
            records_max=IMPORT_RECORDS_MAX,
        )
        with one_sentence(), open_source(Path(options["path"])) as source:
            done = import_records(wanted_scope(options), source, order, actor=actor)
        if options["json"]:
            self.stdout.write(json.dumps(record_import_wire(done), ensure_ascii=False))
        else:
            self._show(done)
        if done.stopped is not None:
            raise CommandError(f"{done.stopped} {done.left} records are left: repeat the command to go on.")

    def _show(self, done: RecordImport) -> None:
        for refusal in done.refusals:
            self.stderr.write(f"{refusal.where}: {refusal.reason}")
        verb = "would be added" if done.dry_run else "added"
        self.stdout.write(
            f"{done.added} {verb}, {done.present} there already, {done.forgotten} forgotten before, "
            f"{done.uncertain} uncertain, {done.left_out} of others, {done.refused} refused"
        )


def add_scope_arguments(parser: CommandParser) -> None:
    parser.add_argument("--project", required=True, help="name or id")
    parser.add_argument("--environment", required=True, help="name or id")
    parser.add_argument("--agent", required=True, help="whose memory")
    parser.add_argument("--issuer", required=True, help="who names the principal")
    parser.add_argument("--subject", required=True, help="the principal, of whom it is")


def wanted_scope(options: dict[str, Any]) -> WantedScope:
    of = RecordScope(options["agent"], options["issuer"], options["subject"])
    return WantedScope(options["environment"], of)


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """Raises: CommandError."""
    if path.is_dir():
        yield Folder(path)
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    with stream:
        yield ZipSource(stream) if is_zip(stream) else OneFile(path.name, stream)

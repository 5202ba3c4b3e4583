"""`./hub check_integrity`: what must hold of the rows, checked one by one. Prints ids, never content; exits 1 on a fault."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub import integrity
from memoryhub.integrity import Finding


class Command(BaseCommand):
    help = "Check what must hold of the database; print what does not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--expect-head",
            action="append",
            default=[],
            metavar="INDEX:SHA256",
            help="a head of an audit chain that was published earlier; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            heads = [integrity.expect_head(text) for text in options["expect_head"]]
        except ValueError as error:
            raise CommandError("--expect-head is written INDEX:SHA256, such as 42:9f86d0…") from error
        broken = 0
        for finding in integrity.check_all(also=heads):
            self.show(finding)
            broken += bool(finding.faults)
        if broken:
            raise CommandError(f"{broken} of what must hold does not.")

    def show(self, finding: Finding) -> None:
        word, invariant = "FAULT" if finding.faults else "ok", finding.invariant
        self.stdout.write(f"{word:5} {invariant.name:18} {finding.seconds:6.1f} s  {invariant.sentence}")
        for fault in finding.faults:
            self.stdout.write(f"      {fault}")
        if finding.has_more:
            self.stdout.write("      … and more")

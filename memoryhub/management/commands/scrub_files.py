"""`./hub scrub_files`: takes erased text out of PostgreSQL's files."""

from typing import Any

from django.core.management.base import BaseCommand

from memoryhub.commands import one_sentence
from memoryhub.scrubbing import SCRUBBED_TABLES, scrub_files


class Command(BaseCommand):
    help = "Rewrite the tables that held memories and turn the write-ahead log over, so that erased text leaves the files."

    def handle(self, *args: Any, **options: Any) -> None:
        with one_sentence():
            scrub_files()
        self.stdout.write(f"Rewrote {', '.join(SCRUBBED_TABLES)} and turned the write-ahead log over.")

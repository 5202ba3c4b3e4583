"""`./hub embed_records [--pgvector]`: give every record its vector now, instead of waiting for the job that does."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryhub.commands import one_sentence
from providers import nearest, record_vectors
from providers.embedding import EmbeddingBackend, find_backend


class Command(BaseCommand):
    help = "Make the vectors of all records by the chosen embedding backend."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--pgvector",
            action="store_true",
            help="first add pgvector to the database, to find what stands near",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        backend = find_backend()
        if backend is None:
            raise CommandError("No embedding backend is chosen: set MEMORYHUB_EMBEDDING_BACKEND.")
        with one_sentence():
            if options["pgvector"]:
                nearest.add_column()
                self.stdout.write(f"pgvector is there; {nearest.fill_column()} vectors were added to it.")
            filled = _embed_all(backend)
        left = record_vectors.count_waiting()
        self.stdout.write(f"{backend.name}: {filled} vectors made, {left} records wait.")
        if left:
            raise CommandError("Some records have no vector yet: see the log for why, and run this again.")


def _embed_all(backend: EmbeddingBackend) -> int:
    """How many. It ends when nothing is left, or nothing more can be done now."""
    filled = 0
    while True:
        queued = record_vectors.queue_missing(backend)
        made = record_vectors.embed_records()
        filled += made
        if not made and not queued:
            return filled

"""`./hub export_store STORE_ID FILE`: writes the archive of a store, of any size; `-` is standard output."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub import ids
from memoryhub.commands import one_sentence, open_new, operator_actor
from stores.exports import export_store
from stores.models import MemoryStore


class Command(BaseCommand):
    help = "Write a memory store with its whole history into a tar file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("store_id")
        parser.add_argument("file", help="a new file; - is standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        store = find_store(options["store_id"])
        with one_sentence(), open_new(options["file"]) as out:
            export = export_store(store.wire_id, out, bytes_max=None, actor=operator_actor(store.project))
        self.stderr.write(
            f"{export.memories} memories, {export.versions} versions, {export.size_bytes} bytes, "
            f"manifest {export.manifest_sha256}"
        )


def find_store(store_id: str) -> MemoryStore:
    """Of any project: who runs this owns the hub. Raises: CommandError."""
    key = ids.from_wire(ids.MEMORY_STORE, store_id)
    store = MemoryStore.objects.select_related("project").filter(id=key).first() if key else None
    if store is None:
        raise CommandError(f"There is no memory store {store_id}.")
    return store

"""`./hub remove_old_versions [STORE_ID] [--dry-run]`: removes what is past the retention of one store, or of all."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryhub.commands import one_sentence
from stores.management.commands.export_store import find_store
from stores.models import StoreRetention
from stores.retention import plan_removal
from stores.retention_sweeps import actor_of, sweep_store


class Command(BaseCommand):
    help = "Remove the versions that are past the retention of their memory store."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("store_id", nargs="?", help="only of this store")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        for row in _retentions(options["store_id"]):
            with one_sentence():
                self.stdout.write(_count(row) if options["dry_run"] else _remove(row))


def _retentions(store_id: str | None) -> list[StoreRetention]:
    """Raises: CommandError."""
    rows = StoreRetention.objects.filter(store__archived_at=None).select_related("store").order_by("store_id")
    if store_id is None:
        return list(rows)
    found = list(rows.filter(store=find_store(store_id)))
    if not found:
        raise CommandError(f"The memory store {store_id} has no retention, or is archived.")
    return found


def _count(row: StoreRetention) -> str:
    plan = plan_removal(row.store.wire_id, actor=actor_of(row))
    return (
        f"{row.store.wire_id}: would remove {plan.versions} versions of {len(plan.memories)} memories, "
        f"{plan.size_bytes} bytes; {plan.held} are referred to and stay"
    )


def _remove(row: StoreRetention) -> str:
    return f"{row.store.wire_id}: removed {sweep_store(row, until=float('inf'))} versions"

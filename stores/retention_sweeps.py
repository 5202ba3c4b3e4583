"""Old versions removed without anybody asking: every store with a retention has its turn once an hour.

A turn may end before all is gone, when its time is up; then the store comes first at the next one.
"""

from datetime import timedelta
from itertools import batched
from time import monotonic

import structlog
from django.db import OperationalError
from django.db.models import Q

from memoryhub.actors import Actor
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import NotFound
from stores.models import StoreRetention
from stores.retention import (
    RETENTION_BATCH_VERSIONS,
    Policy,
    find_doomed,
    note_run,
    remove_batch,
)

SWEEP_SECONDS_MAX = 20.0
SWEEP_HOURS = 1
SWEEP_STORES_MAX = 200
SWEEP_PLAN_VERSIONS = 10_000

log = structlog.get_logger("stores.retention")


def sweep() -> int:
    """The number of versions removed. Any number may run at once."""
    until, removed = monotonic() + SWEEP_SECONDS_MAX, 0
    since = ClockTimestamp() - timedelta(hours=SWEEP_HOURS)
    due = StoreRetention.objects.filter(Q(ran_at=None) | Q(ran_at__lt=since), store__archived_at=None)
    for row in list(due.select_related("store").order_by("ran_at", "store_id")[:SWEEP_STORES_MAX]):
        if monotonic() >= until:
            break
        try:
            removed += sweep_store(row, until=until)
        except OperationalError as error:  # another store's turn is not its fault
            log.warning("retention_failed", store=row.store.wire_id, cause=type(error).__name__)
        except NotFound:  # deleted meanwhile
            continue
    return removed


def sweep_store(row: StoreRetention, *, until: float) -> int:
    """The number of versions removed of one store; `until`, by the monotonic clock, ends it between two batches.

    Raises: NotFound.
    """
    policy, removed = Policy(row.days, row.versions_min), 0
    actor = actor_of(row)
    while True:
        doomed = find_doomed(row.store, policy, limit=SWEEP_PLAN_VERSIONS)
        for batch in batched(doomed, RETENTION_BATCH_VERSIONS):
            if monotonic() >= until:
                return removed
            removal = remove_batch(row.store.wire_id, list(batch), policy=policy, actor=actor)
            if removal is None:
                return removed
            removed += removal.versions
        if len(doomed) < SWEEP_PLAN_VERSIONS:
            note_run(row.store, policy)
            return removed


def actor_of(row: StoreRetention) -> Actor:
    """Who set the retention: what it removes goes in their name."""
    kind: object = row.set_by_type
    return Actor(kind, row.set_by_id, row.project_id, None, frozenset())  # type: ignore[arg-type]

"""The authority's jobs: shells around domain functions; each may run twice or never."""

from celery import shared_task

from authority import host_runs
from memoryhub import ids

# A host call keeps its turn to its end, however long that takes: a lost message is rung for again by the sweep.
_WITHOUT_END = 7 * 86_400


@shared_task(name="authority.drain", time_limit=_WITHOUT_END)
def drain(authority_id: str) -> None:
    key = ids.from_wire(ids.AUTHORITY, authority_id)
    if key is not None:
        host_runs.drain(key)


@shared_task(name="authority.sweep_turns")
def sweep_turns() -> None:
    host_runs.sweep_turns()

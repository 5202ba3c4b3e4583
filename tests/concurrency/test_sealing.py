"""The audit trail becomes one chain while it is written and several sealers work at once."""

import random
import threading

from memoryhub import audit
from memoryhub.models import AuditEvent
from tests.concurrency.clients import make_editors, make_memory, make_store, run_together
from tests.concurrency.histories import Recorder
from tests.live import LiveHub
from tests.world import Tenant

CALLS = 600
WRITERS = 6


def test_two_sealers_make_one_chain_of_what_is_being_written(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    store_id = make_store(call)
    memory_ids = [make_memory(call, store_id, f"/{number}") for number in range(WRITERS)]
    recorder, ended = Recorder(), threading.Event()
    editors = make_editors([call] * WRITERS, store_id, memory_ids, recorder, seed=random.randrange(10**9))
    sealed = [0, 0]

    def write(number: int) -> None:
        try:
            while len(recorder.calls) < CALLS:
                editors[number].edit()
        finally:
            ended.set()

    def seal(number: int) -> None:
        while not ended.is_set():
            sealed[number] += audit.seal_project(live_tenant.project.id)

    writers = [lambda number=number: write(number) for number in range(WRITERS)]
    run_together([*writers, lambda: seal(0), lambda: seal(1)])  # type: ignore[list-item]
    assert min(sealed) > 0, f"one sealer alone worked: no race: {sealed}"
    audit.seal_project(live_tenant.project.id)
    assert list(audit.find_chain_faults(live_tenant.project.id)) == []
    events = AuditEvent.objects.filter(project_id=live_tenant.project.id)
    assert sorted(events.values_list("chain_index", flat=True)) == list(range(1, events.count() + 1))
    written = recorder.count("update", "done")
    assert events.filter(action=audit.AuditAction.MEMORY_UPDATED).count() == written > 0

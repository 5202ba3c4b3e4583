import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from memoryhub import jobs
from memoryhub.private_origins import parse_private_origins
from providers import http_calls, tasks
from providers.models import HttpOperation, MemoryEffect
from providers.places import DONE
from tests.providers import misbehaving
from tests.providers.desk import Desk
from tests.providers.misbehaving import Endpoint
from tests.providers.services import Service
from tests.world import Tenant

NEVER = "2999-01-01T00:00:00Z"


@pytest.fixture
def committed(committed: Tenant) -> Iterator[Tenant]:
    """What a test leaves unfinished is never due: a sweep is of the whole database, and would go on with it in another test."""
    yield committed
    project_id = committed.project.id
    MemoryEffect.objects.filter(project_id=project_id, state="begun").update(claimed_until=NEVER)
    HttpOperation.objects.filter(project_id=project_id).exclude(state=DONE).delete()


@pytest.fixture
def desk(tenant: Tenant) -> Desk:
    made = Desk(tenant)
    made.declare()
    return made


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Endpoint]:
    with misbehaving.endpoint() as made:
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{made.origin}=127.0.0.0/8")
        yield made


JOBS: dict[str, Callable[[str], None]] = {
    http_calls.RUN: tasks.run_http_operation,
    http_calls.SEND_RECALL: tasks.send_recall,
}


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """Each job of the providers' queue is run at once, by a thread that stands for a worker."""
    running: list[threading.Thread] = []

    def work(job: Callable[[str], None], operation_id: str) -> None:
        try:
            job(operation_id)
        finally:
            connection.close()

    def send(name: str, ids: tuple[str, ...]) -> bool:
        if name in JOBS:
            running.append(threading.Thread(target=work, args=[JOBS[name], *ids]))
            running[-1].start()
        return True

    monkeypatch.setattr(jobs, "_send", send)
    yield running
    for thread in running:
        thread.join(15)


@pytest.fixture
def service(committed: Tenant, endpoint: Endpoint, workers: list[threading.Thread]) -> Service:
    return Service(committed, endpoint)

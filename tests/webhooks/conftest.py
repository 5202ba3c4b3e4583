import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from memoryhub import jobs, notices, tasks
from memoryhub.private_origins import parse_private_origins
from tests.providers import misbehaving
from tests.providers.misbehaving import Endpoint
from tests.webhooks.receivers import Desk
from tests.world import Tenant


@pytest.fixture
def receiver(settings: Any) -> Iterator[Endpoint]:
    with misbehaving.endpoint() as made:
        settings.EGRESS_PRIVATE_ORIGINS = parse_private_origins(f"{made.origin}=127.0.0.0/8")
        yield made


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """The queue takes every message and nobody works; the messages."""
    sent: list[tuple[str, tuple[str, ...]]] = []

    def send(name: str, ids: tuple[str, ...]) -> bool:
        sent.append((name, ids))
        return True

    monkeypatch.setattr(jobs, "_send", send)
    return sent


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """Each message is worked on at once, by a thread that stands for a worker."""
    running: list[threading.Thread] = []

    def work(webhook_id: str) -> None:
        try:
            tasks.send_webhook(webhook_id)
        finally:
            connection.close()

    def send(name: str, ids: tuple[str, ...]) -> bool:
        if name == notices.SEND:
            running.append(threading.Thread(target=work, args=ids))
            running[-1].start()
        return True

    monkeypatch.setattr(jobs, "_send", send)
    yield running
    for thread in list(running):
        thread.join(20)


@pytest.fixture
def desk(committed: Tenant, receiver: Endpoint, quiet: list[Any]) -> Desk:
    """Nobody works unless a test says so."""
    return Desk(committed, receiver)

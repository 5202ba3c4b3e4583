"""Every secret is sealed anew while secrets are changed and read: none is lost, none stays on the old key. Promise K3."""

import os
import threading
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db.transaction import atomic

from memoryhub import secrets
from memoryhub.encryption import CannotOpen, key_name
from memoryhub.models import Secret
from tests.concurrency.clients import run_together
from tests.world import Tenant

KEPT, CHANGED, CHANGES = 40, 10, 20
ORIGIN = "https://memory.example.com"


def put(tenant: Tenant, name: str, value: str) -> Secret:
    return secrets.put_secret(
        environment="development",
        name=name,
        agent_id="",
        value=value,
        allowed_origins=[ORIGIN],
        actor=tenant.actor,
    )


def read(tenant: Tenant, name: str) -> str | None:
    return secrets.find_value(tenant.development.id, agent_id="", name=name, origin=ORIGIN)


def sealed_with(tenant: Tenant) -> set[str]:
    return set(Secret.objects.filter(project=tenant.project).values_list("sealed_with", flat=True))


@pytest.fixture
def new_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[bytes]:
    """In the end everything is under the key of the other tests again."""
    old, new = list(settings.ENCRYPTION_KEYS), os.urandom(32)
    yield new
    monkeypatch.setattr(settings, "ENCRYPTION_KEYS", [*old, new])
    secrets.reseal_all()


def test_a_key_is_changed_under_load(
    committed: Tenant, new_key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(KEPT):
        put(committed, f"KEPT_{number}", f"value {number}")
    for number in range(CHANGED):
        put(committed, f"CHANGED_{number}", "first")
    assert sealed_with(committed) == {key_name(settings.ENCRYPTION_KEYS[0])}
    monkeypatch.setattr(settings, "ENCRYPTION_KEYS", [new_key, *settings.ENCRYPTION_KEYS])
    counted: list[int] = []

    def change(part: int) -> None:
        for turn in range(CHANGES):
            for number in range(part, CHANGED, 2):
                put(committed, f"CHANGED_{number}", f"turn {turn}")

    def look() -> None:
        for number in range(KEPT):
            assert read(committed, f"KEPT_{number}") == f"value {number}"
            assert read(committed, f"CHANGED_{number % CHANGED}") is not None

    def reseal() -> None:
        counted.append(secrets.reseal_all())

    run_together([lambda: change(0), lambda: change(1), look, look, reseal, reseal])
    assert sum(counted) >= KEPT
    monkeypatch.setattr(settings, "ENCRYPTION_KEYS", [new_key])
    assert sealed_with(committed) == {key_name(new_key)}
    look()
    assert {read(committed, f"CHANGED_{number}") for number in range(CHANGED)} == {f"turn {CHANGES - 1}"}


def test_a_secret_that_is_being_changed_is_waited_for(
    committed: Tenant, new_key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process that does not know the new key yet: what it seals is not left behind."""
    secret = put(committed, "LATE", "first")
    begun, go = threading.Event(), threading.Event()

    def change() -> None:
        with atomic():
            Secret.objects.filter(id=secret.id).update(allowed_origins=[ORIGIN, "https://other.example.com"])
            begun.set()
            assert go.wait(20)

    def reseal() -> None:
        assert begun.wait(20)
        monkeypatch.setattr(settings, "ENCRYPTION_KEYS", [new_key, *settings.ENCRYPTION_KEYS])
        threading.Timer(0.3, go.set).start()
        secrets.reseal_all()

    run_together([change, reseal])
    assert sealed_with(committed) == {key_name(new_key)}
    assert read(committed, "LATE") == "first"


def test_a_key_that_is_missing_is_said_and_changes_nothing(
    committed: Tenant, new_key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(committed, "ONE", "value")
    with monkeypatch.context() as without:
        without.setattr(settings, "ENCRYPTION_KEYS", [new_key])
        with pytest.raises(CannotOpen):
            secrets.reseal_all()
    assert read(committed, "ONE") == "value"

"""Fixtures every test may ask for."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test.utils import setup_databases
from pytest_django import DjangoDbBlocker
from whitenoise.base import WhiteNoise

from memoryhub import ids
from tests.embedded import OWN_POSTGRES
from tests.live import LiveHub, url_of
from tests.world import Caller, Tenant, make_tenant

# A machine that stands still for a moment is no fault of what is held; one that was found is printed so that it can be tried again.
hypothesis.settings.register_profile(
    "hub", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("hub")


def pytest_collection_finish() -> None:
    """The modules and the tests stay: the collector, which else looks through all of them, may stop a test for a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    return os.environ.get(OWN_POSTGRES) == "1"


@pytest.fixture(scope="session", autouse=True)
def static_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pages name their files by digest, so the files are collected once, and looked through once."""
    settings.STATIC_ROOT = str(tmp_path_factory.mktemp("static"))
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # Argon2 is slow on purpose
    call_command("collectstatic", verbosity=0, interactive=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoise, "update_files_dictionary", scan_once())
        yield


@pytest.fixture(scope="session", autouse=True)
def room_for_threads() -> None:
    """Tests run more threads at once than a web process does; its pool is made at the first connection."""
    connection.settings_dict["OPTIONS"]["pool"]["max_size"] = 32


def scan_once() -> Callable[[WhiteNoise, str, str], None]:
    """Each client of a test makes the middleware anew, which then would read a hundred files: most of what a test costs."""
    scan = WhiteNoise.update_files_dictionary
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def recall(served: WhiteNoise, root: str, prefix: str) -> None:
        if (root, prefix) not in found:
            scan(served, root, prefix)
            found[root, prefix] = served.files.copy()
        served.files |= found[root, prefix]

    return recall


@pytest.fixture
def ids_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that travels ahead: ids never go back, and those of later tests shall not be of its time."""
    monkeypatch.setattr(ids, "_last_ticks", ids._last_ticks)


@pytest.fixture
def tenant(db: None) -> Tenant:
    """A project of its own, in a transaction that is rolled back."""
    return make_tenant()


@pytest.fixture
def stranger(db: None) -> Tenant:
    """Another project, which must never see the first."""
    return make_tenant()


@pytest.fixture
def call(tenant: Tenant) -> Caller:
    """The API with the tenant's admin key, in this process."""
    return tenant.call()


@pytest.fixture
def store_id(call: Caller) -> str:
    return str(call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"])


@pytest.fixture(scope="session")
def test_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """pytest-django makes the test database only for tests that ask for it by its own fixtures."""
    if connection.settings_dict["NAME"] != connection.settings_dict["TEST"]["NAME"]:
        with django_db_blocker.unblock():
            setup_databases(verbosity=0, interactive=False, aliases={"default"}, keepdb=True)


@pytest.fixture
def committed(test_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Tenant]:
    """A committed project of its own, for tests with threads or transactions of their own. It stays."""
    with django_db_blocker.unblock():
        yield make_tenant()
        connection.close()


@pytest.fixture(scope="session")
def live_hub(test_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHub]:
    """Two web processes on this run's database, started when a test first asks."""
    with suppress(FileExistsError):  # another run of pytest-xdist made it
        (settings.DATA_DIR / "static").symlink_to(settings.STATIC_ROOT)
    hub = LiveHub(
        tmp_path_factory.mktemp("live"),
        database_url=url_of(connection.settings_dict),
        settings={"MEMORYHUB_KEY_REQUESTS_PER_MINUTE_MAX": "0"},
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture
def live(live_hub: LiveHub, django_db_blocker: DjangoDbBlocker) -> Iterator[LiveHub]:
    """A real hub over HTTP. What the test arranges in this process is committed and stays: make tenants of its own."""
    with django_db_blocker.unblock():
        yield live_hub
        live_hub.close_callers()
        connection.close()


@pytest.fixture
def live_tenant(live: LiveHub) -> Tenant:
    """A committed project of its own, for tests with `live`."""
    return make_tenant()

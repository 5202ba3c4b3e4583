"""Fixtures every test may ask for."""

import os

import pytest
from django.conf import settings
from django.core.management import call_command

os.environ.setdefault("MEMORYHUB_LOG_LEVEL", "ERROR")

from tests.world import Caller, Tenant, make_tenant  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def static_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pages name their files by digest, so the files are collected once."""
    settings.STATIC_ROOT = str(tmp_path_factory.mktemp("static"))
    call_command("collectstatic", verbosity=0, interactive=False)


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

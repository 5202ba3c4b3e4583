"""Two projects, two environments of one of them, two stores of one of these: committed once, changed by no test."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from memoryhub import event_streams
from providers import record_exports
from stores import exports
from tests.authorization.credentials import CREDENTIALS, make_caller
from tests.authorization.plots import Plot, make_plot
from tests.world import make_tenant


@dataclass(frozen=True)
class Plots:
    """`mine` is the victim; each of the others is one step further away from it."""

    mine: Plot
    beside: Plot  # the same environment, another store
    other_environment: Plot
    other_project: Plot


@pytest.fixture(scope="session")
def committed_plots(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Plots]:
    with django_db_blocker.unblock():
        tenant, stranger = make_tenant(), make_tenant()
        plots = [
            make_plot(tenant, tenant.development),
            make_plot(tenant, tenant.development),
            make_plot(tenant, tenant.production),
            make_plot(stranger, stranger.development),
        ]
        for plot in plots:
            plot.callers = {kind: make_caller(credential, plot) for kind, credential in CREDENTIALS.items()}
        yield Plots(*plots)
        connection.close()


@pytest.fixture
def plots(db: None, committed_plots: Plots, monkeypatch: pytest.MonkeyPatch) -> Plots:
    """What a test changes of them is rolled back."""
    # A test's own transaction is open to its end, so it cannot become a snapshot.
    monkeypatch.setattr(exports, "snapshot", lambda statement_seconds_max: nullcontext())
    monkeypatch.setattr(record_exports, "snapshot", lambda statement_seconds_max: nullcontext())
    # A stream shows what there is, and ends.
    monkeypatch.setattr(event_streams, "STREAM_SECONDS_MAX", 0.05)
    monkeypatch.setattr(event_streams, "POLL_SECONDS", 0.05)
    return committed_plots

"""A hub of its own for the crash tests, with its data safely on the disk."""

from collections.abc import Iterator

import pytest

from tests.crash.hub import CrashHub


@pytest.fixture(scope="session")
def crash_hub() -> Iterator[CrashHub]:
    hub = CrashHub()
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()

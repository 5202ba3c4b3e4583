"""Fixtures for tests of whole hubs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.up.hubs import RunningHub, new_data_dir


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with new_data_dir() as folder:
        yield folder


@pytest.fixture(scope="module")
def hub() -> Iterator[RunningHub]:
    """One running hub for the tests of a file."""
    with new_data_dir() as folder:
        running = RunningHub(folder / "data")
        yield running
        running.process.kill()
        running.process.communicate(timeout=10)

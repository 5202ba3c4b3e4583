"""One whole hub for the tests of this folder, at the most talkative level of its log."""

from collections.abc import Iterator

import pytest

from tests.secrets.talkative import TalkativeHub
from tests.up.hubs import new_data_dir


@pytest.fixture(scope="package")
def talkative() -> Iterator[TalkativeHub]:
    with new_data_dir() as folder:
        hub = TalkativeHub(folder)
        yield hub
        hub.close()

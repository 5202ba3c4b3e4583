"""Jobs run in this process: they need a committed project, and nothing of other tests that waits."""

from collections.abc import Iterator

import pytest

from memoryhub.models import Job
from tests.jobs.desk import Desk
from tests.world import Tenant


@pytest.fixture
def desk(committed: Tenant) -> Iterator[Desk]:
    Job.objects.filter(finished_at=None).delete()
    yield Desk(committed)
    Job.objects.filter(finished_at=None).delete()

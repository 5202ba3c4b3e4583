"""The answer to a COMMIT is lost: nobody is told that nothing was saved, and the same request again ends well."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.answers import Answer
from tests.crash.cutter import CommitCutter, Moment
from tests.crash.mutations import EVERY_MUTATION, Mutation, make_mutation
from tests.documented import DocumentedOperation
from tests.live import LiveCaller, LiveHub, url_of

# What the same request answers once the first one was saved, where that is not plain success.
AGAIN: dict[str, int] = {
    "environments.create": 409,
    "memories.create": 409,
    "memories.delete": 404,
    "webhooks.delete": 404,
    "memory_stores.delete": 404,
    "files.delete": 404,
    "members.remove": 404,
    "api_keys.rotate": 400,
    "environments.delete": 404,
    "projects.delete": 401,  # the key went with it
    "spaces.create": 403,
    "spaces.purge": 410,
    "authorities.delete": 404,
    "host_calls.withdraw": 409,
    "nominations.decide": 409,
    "memory_documents.put": 412,
    "memory_documents.update": 412,
    "memory_documents.delete": 404,
    "secrets.delete": 404,
    "sessions.delete": 404,
    "endpoints.create": 409,
    "endpoints.delete": 404,
    "external_partitions.delete": 404,
    "external_records.delete": 404,
    "external_items.delete": 404,
    "work.queue": 200,  # the item that the first one made
    "work.stop": 409,
    "records.save": 200,  # the record that the first one made
}


@pytest.fixture(scope="module")
def cutter(test_database: None) -> Iterator[CommitCutter]:
    database = connection.settings_dict
    cutter = CommitCutter(Path(str(database["HOST"]), f".s.PGSQL.{database['PORT'] or 5432}"))
    yield cutter
    cutter.close()


@pytest.fixture(scope="module")
def cut_hub(cutter: CommitCutter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHub]:
    """One web process whose database is behind the cutter."""
    hub = LiveHub(
        tmp_path_factory.mktemp("cut"),
        database_url=url_of(connection.settings_dict, host=cutter.folder),
        web_processes=1,
        web_threads=2,
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(autouse=True)
def committing(committed: object) -> None:
    """What a test arranges is committed."""


def caller_of(mutation: Mutation, hub: LiveHub) -> LiveCaller:
    """With a key whose first use is noted."""
    call = hub.caller(mutation.new_key())
    assert call("GET", "/v1/projects").status == 200
    return call


def ask_with_cut(mutation: Mutation, call: LiveCaller, cutter: CommitCutter, moment: Moment) -> Answer:
    cutter.arm(moment)
    answer = mutation.ask(call)
    assert not cutter.disarm(), "the request committed nothing"
    return answer


def assert_outcome_is_open(answer: Answer) -> None:
    assert answer.status == 503, (answer.status, answer.content)
    assert answer.error_code == "database_unavailable"
    assert "not known whether a change was saved" in answer.message


@EVERY_MUTATION
def test_a_commit_that_never_arrived_changes_nothing_and_a_saved_one_is_never_called_unsaved(
    operation: DocumentedOperation, cut_hub: LiveHub, cutter: CommitCutter
) -> None:
    mutation = make_mutation(operation)
    call = caller_of(mutation, cut_hub)
    before = mutation.state()
    assert_outcome_is_open(ask_with_cut(mutation, call, cutter, "before"))
    assert mutation.state() == before
    before = mutation.state(with_first_part=True)
    assert_outcome_is_open(ask_with_cut(mutation, call, cutter, "after"))
    assert mutation.state(with_first_part=True) != before, (
        "the same request again was not carried out: it cannot be repeated, or nothing was tried"
    )
    again = mutation.ask(call)
    assert again.status == AGAIN.get(operation.name, operation.status), again.body
    if operation.name == "memories.create":
        existing = again.body["error"]["conflicting_memory_id"]
        found = call("GET", f"/v1/memory_stores/{mutation.plot.store_id}/memories/{existing}")
        assert found.body["content"] == "new", "the conflict does not lead to what was saved"

"""No body gets anything but a clean refusal, whatever the route; nothing of it is stored."""

import pytest

from providers.limits import BODY_BYTES_MAX
from tests.authorization.attempts import attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import OWNER
from tests.authorization.snapshots import snapshot_project, undone
from tests.documented import DocumentedOperation, documented_operations
from tests.hostile.corpus import BODIES

JSON_OPERATIONS = [operation for operation in documented_operations() if operation.takes_json]
BODILESS_OPERATIONS = [
    operation
    for operation in documented_operations()
    if operation.method in ("POST", "DELETE", "PATCH", "PUT") and not operation.media_types
]


@pytest.mark.parametrize(
    "operation", [*JSON_OPERATIONS, *BODILESS_OPERATIONS], ids=lambda operation: operation.name
)
def test_a_hostile_body_is_refused_and_stores_nothing(plots: Plots, operation: DocumentedOperation) -> None:
    attempt, call = attempt_on(operation, plots.mine), plots.mine.callers[OWNER.kind]
    before = snapshot_project(plots.mine.tenant.project)
    for name, raw in BODIES.items():
        answer = attempt.sending(raw=raw, body=None, content_type="application/json").made_by(call)
        said = (answer.status, answer.error_type)
        is_too_large = len(raw) > BODY_BYTES_MAX and said == (413, "request_too_large")
        assert is_too_large or said == (400, "invalid_request_error"), f"{name}: {answer.content[:200]!r}"
        assert answer.headers["content-type"] == "application/json", name
        assert answer.body["type"] == "error", name
        assert answer.body["request_id"] == answer.headers["request-id"], name
    assert snapshot_project(plots.mine.tenant.project) == before


def test_the_same_operations_take_their_own_bodies(plots: Plots) -> None:
    for operation in (*JSON_OPERATIONS, *BODILESS_OPERATIONS):
        with undone():
            answer = attempt_on(operation, plots.mine).made_by(plots.mine.callers[OWNER.kind])
            assert answer.status == operation.status, operation.name


WRONG_TYPES = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/html", "application/json; charset=utf-7"]  # fmt: skip


@pytest.mark.parametrize("operation", JSON_OPERATIONS, ids=lambda operation: operation.name)
def test_a_body_of_another_type_is_refused(plots: Plots, operation: DocumentedOperation) -> None:
    attempt, call = attempt_on(operation, plots.mine), plots.mine.callers[OWNER.kind]
    taken = [content_type for content_type in WRONG_TYPES if content_type in operation.media_types]
    for content_type in WRONG_TYPES:
        if content_type in taken:
            continue
        answer = attempt.sending(raw=b'{"name":"x"}', body=None, content_type=content_type).made_by(call)
        assert answer.status == 400, f"{content_type}: {answer.status}"

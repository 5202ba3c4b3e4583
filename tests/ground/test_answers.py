"""What every answer carries, whatever it says."""

import pytest

from tests.answers import Call


@pytest.mark.parametrize(
    ("path", "status"), [("/healthz", 200), ("/v1/memory_stores", 200), ("/v1/memory_stores/none", 404)]
)
def test_an_answer_names_its_length(call: Call, path: str, status: int) -> None:
    answer = call("GET", path)
    assert answer.status == status
    assert answer.headers["content-length"] == str(len(answer.content))

"""Every parameter that is a path keeps the one grammar: the same verdict at every door, and never a 5xx."""

from urllib.parse import quote

import pytest

from stores.paths import RESERVED_PATHS
from tests.authorization.attempts import Attempt, attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import OWNER
from tests.authorization.snapshots import snapshot_project, undone
from tests.documented import DocumentedOperation, documented_operations
from tests.hostile.corpus import PATHS

# The names that the document gives to paths. Another name with `path` in it has no test yet, and fails.
NAMES = {("body", "path"), ("query", "path_prefix"), ("body", "path_prefix"), ("path", "file_path")}


def path_parameters(operation: DocumentedOperation) -> list[tuple[str, str]]:
    names = [(place, name) for place in ("path", "query") for name in operation.parameters(place)]
    names += [("body", name) for name in operation.body_strings]
    return [(place, name) for place, name in names if "path" in name]


PATH_PLACES = [
    (operation, place, name)
    for operation in documented_operations()
    for place, name in path_parameters(operation)
]


def test_every_path_of_the_document_is_tried() -> None:
    assert {(place, name) for _, place, name in PATH_PLACES} == NAMES
    assert len(PATH_PLACES) >= 8


@pytest.mark.parametrize(
    ("operation", "place", "name"),
    PATH_PLACES,
    ids=[f"{operation.name}-{place}-{name}" for operation, place, name in PATH_PLACES],
)
def test_a_path_gets_its_verdict(plots: Plots, operation: DocumentedOperation, place: str, name: str) -> None:
    call, attempt = plots.mine.callers[OWNER.kind], attempt_on(operation, plots.mine)
    project = plots.mine.tenant.project
    wrong, before = [], snapshot_project(project)
    for path, good_file in PATHS:
        # Only a file cannot have a reserved name: a folder may.
        is_good = good_file or (name == "path_prefix" and path in RESERVED_PATHS)
        with undone():
            named = naming(attempt, place, name, path)
            if named is None:
                continue
            answer = named.made_by(call)
            if answer.status not in wanted_statuses(operation, place, is_good):
                wrong.append(f"{path!r}: {answer.status} {answer.content[:120]!r}")
            if not is_good and snapshot_project(project) != before:
                wrong.append(f"{path!r}: refused, and yet something changed")
    assert wrong == []


def naming(attempt: Attempt, place: str, name: str, path: str) -> Attempt | None:
    """The attempt with the path in its place; None where a URL cannot say it."""
    value = path if name != "path_prefix" or path == "" else f"{path}/"
    if place == "body":
        body = {key: item for key, item in attempt.seed.body.items() if key != "precondition"}
        return attempt.sending(body=body | {name: value})
    if place == "query":
        return attempt.sending(query=attempt.seed.query | {name: value}) if value else None
    if not path.startswith("/") or path == "/":
        return None
    return attempt.sending(path={name: quote(path[1:], safe="/")}, headers={})


def wanted_statuses(operation: DocumentedOperation, place: str, is_good: bool) -> tuple[int, ...]:
    """Below a URL, where nothing can be there is nothing; a good path may be taken by an ancestor."""
    if place == "path" and operation.method != "PUT":
        return (404,)
    if is_good:
        return (200, 409)
    return (400, 404) if place == "path" else (400,)  # no URL goes over a line's end

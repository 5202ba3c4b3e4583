"""What a turn costs does not grow: neither with the documents that are bound nor with their history. Promise D3."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from providers import sessions
from providers.limits import BINDINGS_MAX
from tests.providers.desk import Desk
from tests.world import Caller

QUERIES_MAX = 30
LONG_HISTORY = 40


def queries_of(work: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        work()
    assert len(captured) <= QUERIES_MAX, [query["sql"] for query in captured]
    return len(captured)


def bound_to(desk: Desk, count: int) -> str:
    """A session on so many documents, each of a resource of its own."""
    memory = {}
    for number in range(count):
        desk.declare(f"r{number}")
        desk.put(f"d{count}", resource_id=f"r{number}")
        memory[f"r{number}"] = {"scope": "document", "id": f"d{count}", "access": "read-write"}
    return desk.open(memory)


def test_a_recall_of_eight_documents_makes_the_queries_of_one(desk: Desk) -> None:
    one, eight = bound_to(desk, 1), bound_to(desk, BINDINGS_MAX)
    assert queries_of(lambda: desk.recall(eight)) == queries_of(lambda: desk.recall(one))
    assert len(desk.recall(eight).projections) == BINDINGS_MAX
    again = queries_of(lambda: desk.recall(eight)), queries_of(lambda: desk.recall(one))
    assert again[0] == again[1]
    inspected = [
        queries_of(lambda session=session: sessions.inspect_session(session, actor=desk.actor))  # type: ignore[misc]
        for session in (one, eight)
    ]
    assert inspected[0] == inspected[1]


@pytest.mark.parametrize("scope", ["document", "collection"])
def test_a_turn_makes_the_same_queries_after_a_long_history(desk: Desk, scope: str) -> None:
    desk.put()
    bound: dict[str, Any] = {"document": {"id": "team-a", "access": "read-write"}, "collection": {}}
    session = desk.open({"playbook": {"scope": scope} | bound[scope]})
    desk.recall(session, "first")  # the first event of a session asks whether a worker is wanted
    short = costs_of_a_turn(desk, session, scope, "short")
    for number in range(LONG_HISTORY):
        desk.replace(f"Edit {number}.")
        desk.recall(session, f"r{number}")
        desk.put(f"other-{number}", title=f"Other {number}")
    assert costs_of_a_turn(desk, session, scope, "long") == short


def costs_of_a_turn(desk: Desk, session: str, scope: str, turn: str) -> list[int]:
    requests: list[str] = []
    costs = [queries_of(lambda: requests.append(desk.begin(session, turn)))]
    calls: dict[str, list[tuple[str, dict[str, str]]]] = {
        "document": [("memory_save", {"text": f"Saved in a {turn} history."})],
        "collection": [("memory_list", {}), ("memory_read", {"id": "team-a"})],
    }
    for name, arguments in calls[scope]:
        outputs: list[Any] = []
        costs.append(
            queries_of(
                lambda name=name, arguments=arguments, outputs=outputs: outputs.append(  # type: ignore[misc]
                    desk.call(session, requests[0], name, f"{turn} {name}", **arguments).output
                )
            )
        )
        assert "reason" not in outputs[0], outputs
    return costs


def test_lists_of_a_session_make_the_same_queries_however_much_it_holds(desk: Desk, call: Caller) -> None:
    desk.put()
    session = desk.open()
    urls = [f"/v1/sessions/{session}/{rest}" for rest in ("model-requests", "events")]
    urls += ["/v1/sessions", "/v1/deployments", "/v1/secrets"]
    urls.append(f"/v1/projects/{desk.tenant.project.wire_id}/memory?environment=development")
    urls.append(
        f"/v1/projects/{desk.tenant.project.wire_id}/memory/playbook/documents?environment=development"
    )
    desk.begin(session, "first")
    call("GET", urls[0])  # the first use of a key is noted in its row
    few = [queries_of(lambda url=url: call("GET", url)) for url in urls]  # type: ignore[misc]
    for number in range(15):
        desk.save(session, desk.begin(session, f"r{number}"), f"Text {number}.")
        desk.declare(f"r{number}")
        desk.put(f"d{number}")
        desk.open()
        call(
            "PUT",
            "/v1/secrets",
            {"name": f"S{number}", "value": "v", "allowed_origins": ["https://a.example"]},
        )
    many = [queries_of(lambda url=url: call("GET", url)) for url in urls]  # type: ignore[misc]
    assert dict(zip(urls, many, strict=True)) == dict(zip(urls, few, strict=True))
    assert all(len(call("GET", url).body["data"]) > 10 for url in urls)

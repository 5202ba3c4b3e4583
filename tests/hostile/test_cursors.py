"""A cursor that the hub did not give out for just this list is refused and shows nothing."""

import base64
import random
from collections.abc import Iterator

import pytest

from tests.answers import Answer
from tests.authorization.attempts import Attempt, attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import OWNER
from tests.documented import DocumentedOperation, documented_operations
from tests.world import Caller, Tenant

SEED = 20261130
LISTS = [
    operation
    for operation in documented_operations()
    if "page" in operation.query_schemas or "page" in operation.body_strings
]
FLIPS = 1_000


@pytest.fixture
def listed(tenant: Tenant, store_id: str) -> tuple[Caller, str, str]:
    """(caller, URL of a list with a second page, its cursor)."""
    call, url = tenant.call(), f"/v1/memory_stores/{store_id}/memories"
    for name in "abc":
        call("POST", url, {"path": f"/{name}", "content": name})
    page = call("GET", url, query={"limit": 1}).body
    assert page["has_more"] is True
    return call, url, page["next_page"]


def refuse(answer: Answer) -> None:
    assert (answer.status, answer.error_type) == (400, "invalid_request_error"), answer.content
    assert answer.message == "invalid page cursor"
    assert "data" not in answer.body


def test_the_cursor_itself_works(listed: tuple[Caller, str, str]) -> None:
    call, url, cursor = listed
    assert [row["path"] for row in call("GET", url, query={"limit": 1, "page": cursor}).body["data"]] == [
        "/b"
    ]
    assert call("GET", url, query={"limit": 2, "page": cursor, "view": "full"}).status == 200


def test_a_flipped_bit_is_noticed(listed: tuple[Caller, str, str]) -> None:
    call, url, cursor = listed
    tried = list(flipped(cursor))
    assert len(tried) >= FLIPS
    for other in tried:
        answer = call("GET", url, query={"limit": 1, "page": other})
        assert answer.status == 400, f"{other}: {answer.content!r} (seed {SEED})"
        refuse(answer)


def flipped(cursor: str) -> Iterator[str]:
    """Every bit of what the cursor holds; then letters of its text at random; none is the cursor itself."""
    body = cursor.removeprefix("page_")
    raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    for index in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[index // 8] ^= 1 << index % 8
        yield "page_" + base64.urlsafe_b64encode(bytes(changed)).decode().rstrip("=")
    chance = random.Random(SEED)
    for _ in range(max(300, FLIPS + 100 - 8 * len(raw))):
        place, letter = chance.randrange(len(cursor)), chr(chance.randrange(33, 127))
        if cursor[place] != letter:
            yield cursor[:place] + letter + cursor[place + 1 :]


MADE_UP = [
    "page_", "page", "x", "page_x", "page_%00", "PAGE_eyJ9", "page_e30", "page_bnVsbA", "page_W10", "page_" + "A" * 5_000, "page_eyJwIjpbIi9hIl19",
    "page_" + base64.urlsafe_b64encode(b'{"v":1,"k":"memories","p":["/a"],"q":"0"}').decode().rstrip("="),
    "page_" + base64.urlsafe_b64encode(b"[" * 3_000).decode().rstrip("="), "page_\u00e9", "page_ab=", "page_a b", "-1", "0", "1' OR '1'='1",
]  # fmt: skip


@pytest.mark.parametrize("cursor", MADE_UP, ids=range(len(MADE_UP)))
def test_a_made_up_cursor_is_refused(listed: tuple[Caller, str, str], cursor: str) -> None:
    call, url, _ = listed
    refuse(call("GET", url, query={"page": cursor}))


def test_a_cursor_is_bound_to_its_filters(listed: tuple[Caller, str, str]) -> None:
    call, url, cursor = listed
    for filters in ({"path_prefix": "/a/"}, {"depth": "1"}):
        refuse(call("GET", url, query={"page": cursor, **filters}))


@pytest.mark.parametrize("operation", LISTS, ids=lambda operation: operation.name)
def test_every_list_refuses_the_cursor_of_another_tenant_and_of_another_list(
    plots: Plots, operation: DocumentedOperation
) -> None:
    own = attempt_on(operation, plots.mine)
    call = plots.mine.callers[OWNER.kind]
    foreign = _first_cursor(
        attempt_on(operation, plots.other_project), plots.other_project.callers[OWNER.kind]
    )
    others = [
        _first_cursor(attempt_on(other, plots.mine), call) for other in LISTS if other.name != operation.name
    ]
    tried = [cursor for cursor in (foreign, *others) if cursor]
    assert tried, "VACUOUS: no list of the plots has two pages"
    for cursor in tried:
        refuse(asking(own, page=cursor).made_by(call))


def asking(attempt: Attempt, **values: object) -> Attempt:
    """With these in the query, or in the body of what takes them there. Events have pages in the form of Managed Agents."""
    if attempt.operation.name == "session_events.list":
        attempt = attempt.sending(headers={"anthropic-beta": "managed-agents-2026-04-01"})
    if "page" in attempt.operation.query_schemas:
        return attempt.sending(query=attempt.seed.query | values)
    return attempt.sending(body=attempt.seed.body | values)


def _first_cursor(attempt: Attempt, call: Caller) -> str | None:
    """None where the list has one page, as that of one memory."""
    if attempt.operation.name == "redactions.create":
        return None  # its pages are as long as a transaction may be
    answer = asking(attempt, limit=1).made_by(call)
    assert answer.status == 200, answer.content
    cursor = answer.body["next_page"]
    return str(cursor) if cursor else None


def test_most_lists_have_a_cursor_to_try(plots: Plots) -> None:
    call = plots.mine.callers[OWNER.kind]
    with_cursor = [
        operation.name for operation in LISTS if _first_cursor(attempt_on(operation, plots.mine), call)
    ]
    assert len(with_cursor) >= 5, with_cursor

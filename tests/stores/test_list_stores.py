from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoryhub.pagination import LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX
from stores.models import MemoryStore
from tests.world import Caller, Tenant

STORES = "/v1/memory_stores"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def stores_at(tenant: Tenant, *moments: datetime) -> list[str]:
    """The ids of stores created at these moments, in the order given."""
    rows = [
        MemoryStore(
            project=tenant.project, environment=tenant.development, name="n", description="", metadata={},
            created_at=moment, updated_at=moment,
        )
        for moment in moments
    ]  # fmt: skip
    MemoryStore.objects.bulk_create(rows)
    return [row.wire_id for row in rows]


def listed(call: Caller, **query: Any) -> list[str]:
    answer = call("GET", STORES, query=query)
    assert answer.status == 200, answer.body
    return [store["id"] for store in answer.body["data"]]


def all_pages(call: Caller, **query: Any) -> list[str]:
    found: list[str] = []
    page = None
    while True:
        body = call("GET", STORES, query=query | ({"page": page} if page else {})).body
        found += [store["id"] for store in body["data"]]
        page = body["next_page"]
        assert body["has_more"] is (page is not None)
        if page is None:
            return found
        assert page.startswith("page_") and "=" not in page


def test_an_empty_list_has_every_key(call: Caller) -> None:
    assert call("GET", STORES).content == b'{"data":[],"has_more":false,"next_page":null}'


def test_items_are_whole_stores(call: Caller) -> None:
    made = call("POST", STORES, {"name": "n", "metadata": {"k": "v"}}).body
    body = call("GET", STORES).body
    assert list(body) == ["data", "has_more", "next_page"]
    assert body["data"] == [made]


def test_newest_first_and_equal_times_by_id(call: Caller, tenant: Tenant) -> None:
    ids = stores_at(tenant, NOON, NOON, NOON + timedelta(microseconds=1), NOON - timedelta(days=1), NOON)
    assert listed(call) == [ids[2], ids[4], ids[1], ids[0], ids[3]]


@pytest.mark.parametrize("limit", range(1, 7))
def test_pages_join_to_the_whole_without_gaps_or_repeats(call: Caller, tenant: Tenant, limit: int) -> None:
    ids = stores_at(tenant, *[NOON] * 3, *[NOON + timedelta(seconds=n) for n in (1, 2, 2)])
    assert all_pages(call, limit=limit) == sorted(ids, reverse=True)


def test_default_limit_and_greatest(call: Caller, tenant: Tenant) -> None:
    stores_at(tenant, *[NOON] * (LIST_LIMIT_MAX + 1))
    assert len(listed(call)) == LIST_LIMIT_DEFAULT == 20
    assert len(listed(call, limit=LIST_LIMIT_MAX)) == LIST_LIMIT_MAX == 100
    assert len(listed(call, limit="")) == LIST_LIMIT_DEFAULT


BAD: list[dict[str, str]] = [
    *({"limit": limit} for limit in ("0", "101", "-1", "1.5", "x", " 1", "１", "9" * 30)),
    *({"include_archived": flag} for flag in ("maybe", "1", "True")),
    *(
        {f"created_at[{bound}]": moment}
        for bound in ("gte", "lte")
        for moment in (
            "yesterday",
            "2026-13-01T00:00:00Z",
            "1700000000",
            "2026-11-30",
            "20261130T120000Z",
            "2026-W48-1T00:00:00Z",
            "12:00:00Z",
            "0001-01-01T00:00:00+14:00",
        )
    ),
    *({"page": page} for page in ("x", "page_", "page_!!", "page_e30", "page_" + "A" * 5_000, "page_bnVsbA")),
]


@pytest.mark.parametrize("query", BAD, ids=lambda query: str(query)[:50])
def test_a_bad_value_is_refused(call: Caller, query: dict[str, str]) -> None:
    refused = call("GET", STORES, query=query)
    assert refused.refusal == (400, "invalid_request_error", None)
    if "page" in query:
        assert refused.message == "invalid page cursor"
    else:
        assert refused.message.startswith(
            ("limit: ", "include_archived: ", "created_at[gte]: ", "created_at[lte]: ")
        )


def test_unknown_parameters_and_empty_values_are_ignored(call: Caller, tenant: Tenant) -> None:
    ids = stores_at(tenant, NOON)
    empty = {"created_at[gte]": "", "created_at[lte]": "", "include_archived": "", "page": "", "limit": ""}
    assert listed(call, beta="true", order="asc", order_by="name", **empty) == ids


def test_time_bounds_are_inclusive_to_the_microsecond(call: Caller, tenant: Tenant) -> None:
    tick = timedelta(microseconds=1)
    before, at, after = stores_at(tenant, NOON - tick, NOON, NOON + tick)
    noon = "2026-11-30T12:00:00Z"
    assert listed(call, **{"created_at[gte]": noon}) == [after, at]
    assert listed(call, **{"created_at[lte]": noon}) == [at, before]
    assert listed(call, **{"created_at[gte]": noon, "created_at[lte]": noon}) == [at]


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-11-30T12:00:00",  # without an offset: UTC, as the SDK sends naive times
        "2026-11-30T12:00:00.000000",
        "2026-11-30T12:00:00+00:00",
        "2026-11-30T14:30:00+02:30",
        "2026-11-30T12:00:00.000Z",
        "2026-11-30T12:00:00-00:00",
        "2026-11-30t12:00:00z",
        "2026-11-30 12:00:00Z",
    ],
)
def test_one_instant_in_many_spellings(call: Caller, tenant: Tenant, spelling: str) -> None:
    at, _ = stores_at(tenant, NOON, NOON - timedelta(microseconds=1))
    assert listed(call, **{"created_at[gte]": spelling}) == [at]


def test_a_plus_that_was_not_escaped_still_reads_as_an_offset(call: Caller, tenant: Tenant) -> None:
    at, _ = stores_at(tenant, NOON, NOON - timedelta(microseconds=1))
    answer = call("GET", f"{STORES}?created_at[gte]=2026-11-30T12:00:00+00:00")
    assert [store["id"] for store in answer.body["data"]] == [at]


def test_archived_stores_are_shown_on_request(call: Caller, tenant: Tenant) -> None:
    live, archived = stores_at(tenant, NOON, NOON)
    call("POST", f"{STORES}/{archived}/archive")
    assert listed(call) == [live]
    assert listed(call, include_archived="false") == [live]
    assert listed(call, include_archived="true") == [archived, live]


def test_a_cursor_belongs_to_its_list_and_filters(call: Caller, tenant: Tenant) -> None:
    newest, *_, oldest = stores_at(tenant, *[NOON - timedelta(hours=n) for n in range(3)])
    page = call("GET", STORES, query={"limit": 1}).body["next_page"]
    assert len(listed(call, page=page, limit=2)) == 2  # the limit is not part of it
    others: list[dict[str, str]] = [
        {"include_archived": "true"},
        {"created_at[gte]": "2026-01-01T00:00:00Z"},
        {"environment": "development"},
    ]
    for other in others:
        assert call("GET", STORES, query={"page": page} | other).message == "invalid page cursor"
    for url in (f"{STORES}/{newest}/memories", f"{STORES}/{newest}/memory_versions"):
        assert call("GET", url, query={"page": page}).message == "invalid page cursor"
    assert listed(call, page=page)[-1] == oldest


def test_a_cursor_of_another_credential_reach_is_refused(call: Caller, tenant: Tenant) -> None:
    stores_at(tenant, NOON, NOON)
    page = call("GET", STORES, query={"limit": 1}).body["next_page"]
    whole = tenant.caller("admin", whole=True)
    assert whole("GET", STORES, query={"page": page}).message == "invalid page cursor"


def test_a_row_deleted_at_the_cursor_does_not_break_the_next_page(call: Caller, tenant: Tenant) -> None:
    first, second, third = stores_at(tenant, *[NOON - timedelta(hours=n) for n in range(3)])
    page = call("GET", STORES, query={"limit": 2}).body["next_page"]
    call("DELETE", f"{STORES}/{second}")
    stores_at(tenant, NOON + timedelta(hours=1))  # before the cursor: not shown
    late = stores_at(tenant, NOON - timedelta(hours=9))  # after it: shown
    assert listed(call, page=page) == [third, *late]
    assert first


def test_a_project_key_sees_every_environment_or_the_one_it_names(call: Caller, tenant: Tenant) -> None:
    mine = call("POST", STORES, {"name": "development"}).body["id"]
    theirs = Caller(tenant.production_key)("POST", STORES, {"name": "production"}).body["id"]
    whole = tenant.caller("admin", whole=True)
    assert listed(whole) == [theirs, mine]
    assert listed(whole, environment="production") == [theirs]
    assert listed(whole, environment=tenant.development.wire_id) == [mine]
    assert listed(call) == [mine]
    assert call("GET", STORES, query={"environment": "production"}).refusal == (404, "not_found_error", None)

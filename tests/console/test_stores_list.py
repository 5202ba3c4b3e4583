"""The list of stores: sorted by what was counted, filtered, and paged under both."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryhub import audit
from stores import freezes, memory_stores, totals
from stores.limits import STORE_NAME_LENGTH_MAX
from stores.models import MemoryStore, StoreTotals
from tests.console.site import Site
from tests.stores.shelf import Shelf
from tests.world import Tenant

NAMES = ("alpha", "Beta", "gamma", "100%_sure")
_ROW = re.compile(r"<td><a href=\"[^\"]*/stores/memstore_[0-9a-f]+\"><bdi>([^<]+)</bdi>")
_NEXT = re.compile(r'href="([^"]*)" rel="next"')


def make(tenant: Tenant, name: str, sizes: tuple[int, ...] = ()) -> Shelf:
    store = memory_stores.create_store(
        environment="development", name=name, description="", metadata={}, actor=tenant.actor
    )
    shelf = Shelf(store.wire_id, tenant.actor)
    for number, size in enumerate(sizes):
        shelf.put(f"/{number}.md", "x" * size)
    return shelf


def count() -> None:
    audit.seal_all()
    totals.count_totals()


@pytest.fixture
def shelves(tenant: Tenant) -> dict[str, Shelf]:
    sizes = {"alpha": (5,), "Beta": (1, 1, 1), "gamma": (100, 100), "100%_sure": ()}
    made = {name: make(tenant, name, sizes[name]) for name in NAMES}
    count()
    return made


def names_of(answer: str) -> list[str]:
    return _ROW.findall(answer.partition("<tbody>")[2])


ORDERS = {
    "name": ["100%_sure", "alpha", "Beta", "gamma"],
    "size": ["100%_sure", "Beta", "alpha", "gamma"],
    "memories": ["100%_sure", "alpha", "gamma", "Beta"],
    "changed": ["alpha", "Beta", "gamma", "100%_sure"],
}


@pytest.mark.parametrize("sort", ORDERS)
def test_a_list_is_sorted_both_ways_and_says_so(owner: Site, shelves: dict[str, Shelf], sort: str) -> None:
    rising = owner.get("/stores", sort=sort).content.decode()
    falling = owner.get("/stores", sort=f"-{sort}").content.decode()
    assert names_of(rising) == ORDERS[sort]
    assert names_of(falling) == ORDERS[sort][::-1]
    assert rising.count("aria-sort=") == falling.count("aria-sort=") == 1
    assert 'aria-sort="ascending"' in rising
    assert 'aria-sort="descending"' in falling
    assert f'href="{owner.base}/stores?sort=-{sort}"' in rising, "a second click turns the order"


def test_the_store_changed_last_stands_first(owner: Site, shelves: dict[str, Shelf]) -> None:
    shelves["alpha"].put("/new.md")
    count()
    assert names_of(owner.get("/stores").content.decode())[0] == "alpha"


def test_what_a_row_shows_is_counted_for_the_page(owner: Site, shelves: dict[str, Shelf]) -> None:
    """The order is that of the last count; the figures are not."""
    shelves["100%_sure"].put("/a.md", "x" * 5_000)
    answer = owner.get("/stores", sort="size").content.decode()
    assert names_of(answer)[0] == "100%_sure"
    assert "4.9 KB" in answer


@pytest.mark.parametrize(
    ("name", "found"),
    [("a", ["alpha", "Beta", "gamma"]), ("BETA", ["Beta"]), ("%_", ["100%_sure"]), ("_h", [])],
)
def test_a_name_is_found_by_a_part_of_it(
    owner: Site, shelves: dict[str, Shelf], name: str, found: list[str]
) -> None:
    answer = owner.get("/stores", name=name, sort="name").content.decode()
    assert names_of(answer) == found
    assert ("No store is like that" in answer) == (found == [])
    assert f'value="{name}"' in answer


def test_a_state_chooses_the_stores_that_are_in_it(owner: Site, shelves: dict[str, Shelf]) -> None:
    memory_stores.freeze_store(shelves["alpha"].store_id, actor=shelves["alpha"].actor)
    shelves["Beta"].archive()
    found = {
        state: names_of(owner.get("/stores", state=state, sort="name").content.decode())
        for state in ("active", "frozen", "archived")
    }
    assert found == {"active": ["100%_sure", "gamma"], "frozen": ["alpha"], "archived": ["Beta"]}


@pytest.mark.parametrize("sort", [*ORDERS, *(f"-{sort}" for sort in ORDERS)])
def test_pages_go_on_under_the_sort_and_the_filter(owner: Site, tenant: Tenant, sort: str) -> None:
    """Names and figures repeat, so the id decides; no store is shown twice or left out."""
    made = [make(tenant, f"same {number % 3}") for number in range(45)]
    StoreTotals.objects.filter(store_id__in=[shelf.store.id for shelf in made[::2]]).update(size_bytes=7)
    seen: list[str] = []
    url: str | None = f"{owner.base}/stores?name=same&sort={sort}"
    pages = 0
    while url:
        answer = owner.client.get(url).content.decode()
        seen += re.findall(r'<td><a href="[^"]*/(memstore_[0-9a-f]+)"', answer)
        following = _NEXT.search(answer)
        url = following[1].replace("&amp;", "&") if following else None
        pages += 1
    assert pages == 3
    assert sorted(seen) == sorted(shelf.store_id for shelf in made)


def test_a_cursor_holds_for_its_own_sort_and_filter_only(owner: Site, tenant: Tenant) -> None:
    for number in range(21):
        make(tenant, f"same {number}")
    following = _NEXT.search(owner.get("/stores", sort="name").content.decode())
    assert following
    cursor = following[1].partition("page=")[2].partition("&")[0]
    assert owner.get("/stores", sort="name", page=cursor).status_code == 200
    for other in ({"sort": "-name"}, {"sort": "size"}, {"sort": "name", "state": "active"}):
        assert owner.get("/stores", **other, page=cursor).status_code == 400, other


def test_a_name_that_is_too_long_stays_in_its_field(owner: Site, shelves: dict[str, Shelf]) -> None:
    assert owner.get("/stores", name="n" * STORE_NAME_LENGTH_MAX).status_code == 200
    for name in ("n" * (STORE_NAME_LENGTH_MAX + 1), "a\0b"):
        answer = owner.get("/stores", name=name)
        assert answer.status_code == 400
        assert 'aria-invalid="true"' in answer.content.decode()


def test_an_order_that_there_is_not_is_refused(owner: Site) -> None:
    for query in ({"sort": "created"}, {"sort": "--name"}, {"state": "gone"}):
        assert owner.get("/stores", **query).status_code == 400, query


def test_the_list_makes_as_many_queries_for_100_stores_as_for_2(owner: Site, tenant: Tenant) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert owner.get("/stores", sort="-size").status_code == 200
        return len(found)

    make(tenant, "a")
    make(tenant, "b")
    few = queries()
    fill(tenant, 100)
    assert queries() == few


def fill(tenant: Tenant, stores_count: int) -> None:
    """Stores with their totals, past the verbs."""
    now = timezone.now()
    stores = MemoryStore.objects.bulk_create(
        MemoryStore(project=tenant.project, environment=tenant.development, name=f"store {n}",
                    description="", metadata={}, created_at=now, updated_at=now)
        for n in range(stores_count)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE stores_memorystore")  # else each link is checked by a walk over all
    StoreTotals.objects.bulk_create(
        StoreTotals(store=store, project_id=store.project_id, environment_id=store.environment_id,
                    memories_count=n % 97, size_bytes=n * 31 % 1_009, changed_at=now - timedelta(seconds=n))
        for n, store in enumerate(stores)
    )  # fmt: skip


@pytest.mark.parametrize("sort", ["name", "-size", "-memories", "-changed"])
def test_ten_thousand_stores_are_not_sorted_for_a_page(owner: Site, tenant: Tenant, sort: str) -> None:
    """The plan reads a page along an index."""
    fill(tenant, 10_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE stores_memorystore, stores_storetotals")
    with CaptureQueriesContext(connection) as found:
        assert owner.get("/stores", sort=sort).status_code == 200
    [listing] = [query["sql"] for query in found if "ORDER BY" in query["sql"] and "LIMIT 21" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {listing}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Sort" not in plan, plan


def test_a_deleted_store_takes_its_totals_along(tenant: Tenant, shelves: dict[str, Shelf]) -> None:
    kept = StoreTotals.objects.filter(project_id=tenant.project.id)
    assert kept.count() == len(NAMES)
    memory_stores.delete_store(shelves["gamma"].store_id, actor=tenant.actor)
    assert kept.count() == len(NAMES) - 1
    count()
    assert kept.count() == len(NAMES) - 1


def test_totals_follow_every_kind_of_change(tenant: Tenant) -> None:
    shelf = make(tenant, "one")
    memory = shelf.put("/a.md", "x" * 10)
    other = shelf.put("/b.md", "x" * 5)
    shelf.update(memory, content="x" * 30)
    shelf.delete(other)
    freezes.freeze_memory(shelf.store_id, memory.wire_id, actor=tenant.actor)
    count()
    held = StoreTotals.objects.get(store_id=shelf.store.id)
    newest = shelf.versions()[0].created_at
    assert (held.memories_count, held.size_bytes, held.changed_at) == (1, 30, newest)
    assert totals.count_totals() == 0, "what was read is not read again"

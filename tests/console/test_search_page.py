"""Search over every store of an environment, and within one directory of a store."""

from memoryhub.pagination import LIST_LIMIT_DEFAULT
from stores import memory_stores
from tests.console.site import Site, sign_in
from tests.stores.shelf import Shelf
from tests.world import Tenant


def add(tenant: Tenant, name: str, environment: str = "development") -> Shelf:
    store = memory_stores.create_store(
        environment=environment, name=name, description="", metadata={}, actor=tenant.actor
    )
    return Shelf(store.wire_id, tenant.actor)


def test_a_fact_is_found_in_any_store_of_the_environment(owner: Site, tenant: Tenant) -> None:
    first, second, elsewhere = add(tenant, "First"), add(tenant, "Second"), add(tenant, "Third", "production")
    first.put("/tea.md", "green tea")
    second.put("/too.md", "black tea")
    elsewhere.put("/hidden.md", "white tea")
    shown = owner.get("/search", q="tea").content.decode()
    for text in ("First", "Second", "/tea.md", "/too.md", "<mark>tea</mark>", "2 matches"):
        assert text in shown, text
    assert "/hidden.md" not in shown
    assert (
        "/hidden.md"
        in sign_in(tenant.owner, tenant.project, "production").get("/search", q="tea").content.decode()
    )


def test_archived_stores_are_searched_when_ticked(owner: Site, tenant: Tenant) -> None:
    shelf = add(tenant, "Old")
    shelf.put("/tea.md", "tea")
    shelf.archive()
    assert "Nothing found" in owner.get("/search", q="tea").content.decode()
    assert "/tea.md" in owner.get("/search", q="tea", archived="yes").content.decode()


def test_the_best_are_shown_and_that_there_are_more(owner: Site, tenant: Tenant) -> None:
    shelf = add(tenant, "Many")
    for number in range(LIST_LIMIT_DEFAULT):
        shelf.put(f"/{number}.md", "tea")
    exactly = owner.get("/search", q="tea").content.decode()
    assert f"{LIST_LIMIT_DEFAULT} matches" in exactly
    shelf.put("/more.md", "tea")
    for path in ("/search", f"/stores/{shelf.store_id}"):
        shown = owner.get(path, q="tea").content.decode()
        assert f"The {LIST_LIMIT_DEFAULT} best matches" in shown
        assert shown.count('<article class="found">') == LIST_LIMIT_DEFAULT


def test_a_store_is_searched_below_a_directory(owner: Site, shelf: Shelf) -> None:
    shelf.put("/in/tea.md", "tea")
    shelf.put("/out.md", "tea")
    store = f"/stores/{shelf.store_id}"
    below = owner.get(store, q="tea", directory="/in/").content.decode()
    assert "/in/tea.md" in below
    assert "/out.md" not in below
    assert "/out.md" in owner.get(store, q="tea").content.decode()
    assert owner.get(store, q="tea", directory="in").status_code == 400


def test_a_query_that_is_too_long_stays_in_its_field(owner: Site, tenant: Tenant) -> None:
    answer = owner.get("/search", q="q" * 5_000)
    assert answer.status_code == 400
    assert "q" * 5_000 in answer.content.decode()
    assert 'aria-invalid="true"' in answer.content.decode()


def test_a_directory_shows_what_lies_below_it_and_files_who_wrote_them(owner: Site, shelf: Shelf) -> None:
    shelf.put("/dir/a.md", "x" * 10)
    shelf.put("/dir/deep/b.md", "x" * 20)
    shelf.put("/top.md", "x" * 7)
    shown = owner.get(f"/stores/{shelf.store_id}").content.decode().partition("<tbody>")[2]
    assert "2 memories</span>" in shown
    assert "30 bytes" in shown
    assert "7 bytes" in shown
    assert ">Owner</bdi>" in shown

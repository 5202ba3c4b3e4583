"""Who finds what, and what a score tells."""

from typing import Any

from memoryhub import keys
from stores import search
from stores.search import SearchRequest
from tests.stores.searching import ENVIRONMENT_URL, find, paths, search_url
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant


def test_a_stranger_finds_nothing(call: Caller, shelf: Shelf, stranger: Tenant) -> None:
    shelf.put("/canary.md", "zebra canary")
    other = stranger.call()
    assert other("POST", search_url(shelf), {"query": "zebra"}).status == 404
    assert other("GET", shelf.memories_url, query={"query": "zebra"}).status == 404
    assert paths(other("POST", ENVIRONMENT_URL, {"query": "zebra"})) == []
    assert paths(other("POST", ENVIRONMENT_URL, {"query": "the"})) == []


def test_another_environment_finds_nothing(shelf: Shelf, tenant: Tenant) -> None:
    shelf.put("/canary.md", "zebra canary")
    production = Caller(tenant.production_key)
    assert production("POST", search_url(shelf), {"query": "zebra"}).status == 404
    for query in ("zebra", "the", "-hay"):
        answer = production("POST", ENVIRONMENT_URL, {"query": query, "mode": "operators"})
        assert paths(answer) == []
    foreign = {"query": "zebra", "environment": "development"}
    assert production("POST", ENVIRONMENT_URL, foreign).status == 404


def test_a_key_of_the_whole_project_names_the_environment(shelf: Shelf, tenant: Tenant) -> None:
    shelf.put("/canary.md", "zebra canary")
    whole = tenant.caller("read", whole=True)
    assert whole("POST", ENVIRONMENT_URL, {"query": "zebra"}).status == 400
    for environment, found in (("development", ["/canary.md"]), ("production", [])):
        assert paths(whole("POST", ENVIRONMENT_URL, {"query": "zebra", "environment": environment})) == found


def test_an_agent_finds_what_its_stores_hold_and_no_more(call: Caller, shelf: Shelf, tenant: Tenant) -> None:
    other = Shelf(str(call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]), tenant.actor)
    shelf.put("/mine.md", "zebra")
    other.put("/theirs.md", "zebra")
    secret = tenant.new_key("agent", stores={shelf.store.id: "read_only"})
    agent = keys.authenticate_key(secret)
    request = SearchRequest("zebra", "words", "/", 20)
    assert [f.memory.path for f in search.search_environment(request, actor=agent)] == ["/mine.md"]
    assert paths(Caller(secret)("GET", shelf.memories_url, query={"query": "zebra"})) == ["/mine.md"]
    assert Caller(secret)("GET", other.memories_url, query={"query": "zebra"}).status == 404
    assert len(search.search_environment(request, actor=tenant_actor(tenant))) == 2


def tenant_actor(tenant: Tenant) -> Any:
    return keys.authenticate_key(tenant.key)


def test_scores_tell_nothing_of_what_is_not_searched(
    call: Caller, shelf: Shelf, tenant: Tenant, stranger: Tenant
) -> None:
    """Counts and lengths are of the searched stores: another's words move no score."""
    shelf.put("/a.md", "zebra hay")
    shelf.put("/b.md", "hay straw oats")
    secret = tenant.new_key("agent", stores={shelf.store.id: "read_only"})
    agent = keys.authenticate_key(secret)
    request = SearchRequest("zebra hay", "words", "/", 20)

    def scores() -> list[list[float]]:
        return [
            [item["score"] for item in call("POST", search_url(shelf), {"query": "zebra hay"}).body["data"]],
            [found.score for found in search.search_environment(request, actor=agent)],
        ]

    before = scores()
    for maker in (call, stranger.call(), Caller(tenant.production_key)):
        store_id = maker("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
        for number in range(10):
            content = "zebra zebra " + "long " * 40
            maker(
                "POST",
                f"/v1/memory_stores/{store_id}/memories",
                {"path": f"/{number}.md", "content": content},
            )
    assert scores() == before


def test_archived_stores_are_searched_when_asked(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "zebra")
    shelf.archive()
    assert paths(call("POST", ENVIRONMENT_URL, {"query": "zebra"})) == []
    assert paths(call("GET", ENVIRONMENT_URL, query={"query": "zebra"})) == []
    asked = {"query": "zebra", "include_archived": True}
    assert paths(call("POST", ENVIRONMENT_URL, asked)) == ["/a.md"]
    assert find(call, shelf, "zebra") == ["/a.md"]


def test_an_environment_without_stores_gives_an_empty_page(tenant: Tenant) -> None:
    for query in ("zebra", "the"):
        assert paths(Caller(tenant.production_key)("POST", ENVIRONMENT_URL, {"query": query})) == []

"""Searches by every door, and the paths of what they found."""

from typing import Any

from tests.stores.shelf import Shelf
from tests.world import Answer, Caller

ENVIRONMENT_URL = "/v1/memories/search"


def search_url(shelf: Shelf) -> str:
    return shelf.url("memories", "search")


def paths(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [item["path"] for item in answer.body["data"]]


def find(call: Caller, shelf: Shelf, query: str, **more: Any) -> list[str]:
    return paths(call("POST", search_url(shelf), {"query": query, **more}))


def doors(call: Caller, shelf: Shelf, query: str) -> list[Answer]:
    """The same search by every door."""
    return [
        call("GET", search_url(shelf), query={"query": query}),
        call("POST", search_url(shelf), {"query": query}),
        call("GET", shelf.memories_url, query={"query": query}),
        call("GET", ENVIRONMENT_URL, query={"query": query}),
        call("POST", ENVIRONMENT_URL, {"query": query}),
    ]

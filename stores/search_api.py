"""The REST door of full-text search. By POST the query stands in the body, so that no URL and no log line holds it."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from stores import search
from stores.search_serializers import (
    FoundMemoryShape,
    SearchBody,
    SearchEnvironmentBody,
    SearchEnvironmentQuery,
    SearchQuery,
    found_wire,
    search_request,
)
from stores.views import StoreView

type Values = dict[str, Any]


class StoreSearch(StoreView):
    @operation(
        "memory_stores.search",
        "Search a memory store",
        query=SearchQuery,
        answer=FoundMemoryShape,
        lists=True,
    )
    def get(self, store_id: str, *, query: Values, actor: Actor) -> Values:
        return found_wire(search.search_store(store_id, search_request(query), actor=actor), query)

    @operation(
        "memory_stores.search", "Search a memory store", body=SearchBody, answer=FoundMemoryShape, lists=True
    )
    def post(self, store_id: str, *, body: Values, actor: Actor) -> Values:
        return found_wire(search.search_store(store_id, search_request(body), actor=actor), body)


class EnvironmentSearch(HubView):
    @operation(
        "memories.search",
        "Search every memory store of an environment",
        query=SearchEnvironmentQuery,
        answer=FoundMemoryShape,
        lists=True,
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        return _search_environment(query, actor)

    @operation(
        "memories.search",
        "Search every memory store of an environment",
        body=SearchEnvironmentBody,
        answer=FoundMemoryShape,
        lists=True,
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        return _search_environment(body, actor)


def _search_environment(values: Values, actor: Actor) -> Values:
    found = search.search_environment(
        search_request(values),
        environment=values.get("environment"),
        include_archived=values.get("include_archived", False),
        actor=actor,
    )
    return found_wire(found, values)

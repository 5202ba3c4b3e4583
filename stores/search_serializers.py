"""The shapes of a search over current memories."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rest_framework import serializers

from memoryhub.excerpts import Excerpt
from memoryhub.fields import Choice, Flag, Integer, Text
from memoryhub.pagination import LIST_LIMIT_MAX, Page
from stores.search import MODES, FoundMemory, SearchRequest
from stores.serializers import MemoryShape, ViewQuery, list_request, memory_wire


class SearchQuery(ViewQuery):
    query = Text()
    mode = Choice(choices=MODES, required=False)
    path_prefix = Text(required=False)
    limit = Integer(required=False, min_value=1, max_value=LIST_LIMIT_MAX)


class SearchBody(SearchQuery):
    null_is_absent: ClassVar[bool] = True


class SearchEnvironmentQuery(SearchQuery):
    environment = Text(required=False, length_max=64)
    include_archived = Flag(required=False)


class SearchEnvironmentBody(SearchEnvironmentQuery):
    null_is_absent: ClassVar[bool] = True


def search_request(values: dict[str, Any]) -> SearchRequest:
    limit = list_request("search", values, {}).limit
    return SearchRequest(values["query"], values.get("mode", "words"), values.get("path_prefix", "/"), limit)


class HighlightShape(serializers.Serializer[Any]):
    start = serializers.IntegerField()
    end = serializers.IntegerField()


class SnippetShape(serializers.Serializer[Any]):
    text = serializers.CharField(allow_blank=True)
    offset = serializers.IntegerField()
    highlights = HighlightShape(many=True)


class FoundMemoryShape(MemoryShape):
    score = serializers.FloatField()
    snippet = SnippetShape()


def snippet_wire(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "text": excerpt.text,
        "offset": excerpt.offset,
        "highlights": [{"start": start, "end": end} for start, end in excerpt.highlights],
    }


def found_memory_wire(found: FoundMemory, view: str) -> dict[str, Any]:
    return {
        **memory_wire(found.memory, view),
        "score": found.score,
        "snippet": snippet_wire(found.excerpt),
    }


def found_wire(found: Sequence[FoundMemory], values: dict[str, Any]) -> dict[str, Any]:
    """A page that is the only one: ranks are not stable enough to continue from."""
    view = values.get("view", "basic")
    return Page(list(found), None).as_wire(lambda one: found_memory_wire(one, view))

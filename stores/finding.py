"""What a page of the console shows of a search, in one store or in all of an environment."""

from typing import Any

from django.db.models import prefetch_related_objects

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pages import sentence
from memoryhub.pagination import LIST_LIMIT_DEFAULT
from stores import search
from stores.search import SearchRequest


def find(
    query: str, directory: str, *, store_id: str | None, with_archived: bool = False, actor: Actor
) -> dict[str, Any]:
    """`{"found", "has_more"}` of one store or of all, or `{"problem"}` with a query that cannot be asked."""
    wanted = SearchRequest(query, "words", directory, LIST_LIMIT_DEFAULT + 1)
    try:
        if store_id is not None:
            found = search.search_store(store_id, wanted, actor=actor)
        else:
            found = search.search_environment(wanted, include_archived=with_archived, actor=actor)
    except InvalidRequest as error:
        return {"problem": sentence(error)}
    shown = found[:LIST_LIMIT_DEFAULT]
    prefetch_related_objects([one.memory for one in shown], "store")
    return {"found": shown, "has_more": len(found) > LIST_LIMIT_DEFAULT}

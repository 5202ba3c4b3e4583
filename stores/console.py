"""The pages of the stores: what they hold, who wrote it, and what one may do about it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page, sentence
from memoryhub.pagination import LIST_LIMIT_DEFAULT, Page
from stores import contents, memories, memory_stores, search
from stores.forms import StoreForm
from stores.memories import MemoryPrefix
from stores.models import Memory
from stores.paths import list_directories
from stores.search import FoundMemory, SearchRequest

CREATE_STORE_EXAMPLE = f"""curl {settings.BASE_URL}/v1/memory_stores \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"name": "Customer notes"}}'"""


@page("memory_stores.list")
@require_safe
def stores(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = contents.list_contents(list_request(request, "console.stores", {}), actor=actor)
    names = name_actors((one.changed_by_id or "" for one in shown.rows), actor=actor)
    return render(
        request, "stores/stores.html", {"stores": shown, "names": names, "example": CREATE_STORE_EXAMPLE}
    )


@page("memory_stores.create")
def create_store(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = StoreForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            created = memory_stores.create_store(
                environment=None,
                name=form.cleaned_data["name"],
                description=form.cleaned_data["description"],
                metadata={},
                actor=actor,
            )
        except InvalidRequest as error:
            form.add_error(None, sentence(error))
        else:
            messages.success(request, "The store is created.")
            return go_to(request, "store", store_id=created.wire_id)
    return render(request, "stores/create_store.html", {"form": form}, status=form_status(request))


@page("memory_stores.get")
@require_safe
def store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """The files of one directory, or with `q` what a search finds."""
    shown = memory_stores.get_store(store_id, actor=actor)
    query, directory = request.GET.get("q", "").strip(), request.GET.get("directory") or "/"
    facts: dict[str, Any] = {"store": shown, "query": query, "directory": directory}
    if query:
        facts |= _search(store_id, query, actor)
    else:
        facts |= _list_directory(request, store_id, directory, actor)
    return render(request, "stores/store.html", facts, status=400 if "problem" in facts else 200)


def _search(store_id: str, query: str, actor: Actor) -> dict[str, list[FoundMemory] | str]:
    """`{"found"}`, or `{"problem"}` with a query that cannot be asked."""
    wanted = SearchRequest(query, "words", "/", LIST_LIMIT_DEFAULT)
    try:
        return {"found": search.search_store(store_id, wanted, actor=actor)}
    except InvalidRequest as error:
        return {"problem": sentence(error)}


def _list_directory(request: PageRequest, store_id: str, directory: str, actor: Actor) -> dict[str, Any]:
    wanted = list_request(request, "console.files", {"store": store_id, "directory": directory})
    files = memories.list_memories(
        store_id, wanted, path_prefix=directory, depth=1, with_content=False, actor=actor
    )
    entries = [_entry(item, directory) for item in files.rows]
    return {"entries": Page(entries, files.next_page), "above": list_directories(directory)}


def _entry(item: Memory | MemoryPrefix, directory: str) -> dict[str, Any]:
    """`memory` None: a directory."""
    name = item.path.removeprefix(directory)
    return {"name": name, "path": item.path, "memory": None if isinstance(item, MemoryPrefix) else item}


@page("memory_stores.freeze")
@require_POST
def freeze_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    memory_stores.freeze_store(store_id, actor=actor)
    messages.success(request, "The store is frozen: agents may read it and not change it.")
    return go_to(request, "store", store_id=store_id)


@page("memory_stores.unfreeze")
@require_POST
def unfreeze_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    memory_stores.unfreeze_store(store_id, actor=actor)
    messages.success(request, "Agents may change the store again.")
    return go_to(request, "store", store_id=store_id)


@page("memory_stores.archive")
def archive_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    if request.method == "POST":
        memory_stores.archive_store(store_id, actor=actor)
        messages.success(request, "The store is archived.")
        return go_to(request, "store", store_id=store_id)
    shown = memory_stores.get_store(store_id, actor=actor)
    return render(request, "stores/archive_store.html", {"store": shown})

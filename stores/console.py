"""The pages of the stores: the list of them, a new one, and what one holds."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page, sentence
from memoryhub.pagination import Page
from stores import contents, memories, memory_stores
from stores.contents import ORDERS, STATES, StoreFilters
from stores.finding import find
from stores.forms import StoreForm
from stores.limits import STORE_NAME_LENGTH_MAX
from stores.memories import MemoryPrefix
from stores.models import Memory, MemoryStore
from stores.paths import list_directories

CREATE_STORE_EXAMPLE = f"""curl {settings.BASE_URL}/v1/memory_stores \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"name": "Customer notes"}}'"""
CREATE_MEMORY_EXAMPLE = """curl {url}/v1/memory_stores/{store_id}/memories \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"path": "/tea.md", "content": "She likes green tea."}}'"""
# (title, what is sorted, how the column is styled); the last one is not sorted.
_COLUMNS = (
    ("Name", "name", ""),
    ("Memories", "memories", "number"),
    ("Size", "size", "number minor"),
    ("Last change", "changed", ""),
    ("By", "", "minor"),
)


@page("memory_stores.list")
@require_safe
def stores(request: PageRequest, *, actor: Actor) -> HttpResponse:
    filters = _read_filters(request)
    facts = {
        "filters": filters,
        "is_filtered": bool(filters.name_part or filters.state),
        "columns": [_column(filters, *column) for column in _COLUMNS],
        "states": STATES,
        "example": CREATE_STORE_EXAMPLE,
    }
    problem = _find_name_problem(filters.name_part)
    if problem is not None:
        return render(request, "stores/stores.html", {**facts, "problem": problem}, status=400)
    wanted = list_request(request, "console.stores", filters.as_dict())
    shown = contents.list_contents(wanted, filters, actor=actor)
    names = name_actors((one.changed_by_id or "" for one in shown.rows), actor=actor)
    return render(request, "stores/stores.html", {**facts, "stores": shown, "names": names})


def _read_filters(request: PageRequest) -> StoreFilters:
    """Of the URL: `name`, `state`, `sort` with a minus for the greatest first. Raises: InvalidRequest."""
    sort, state = request.GET.get("sort") or "-changed", request.GET.get("state", "")
    if sort.removeprefix("-") not in ORDERS or (state and state not in STATES):
        raise InvalidRequest("The address asks for an order or a state that there is not.")
    return StoreFilters(
        name_part=request.GET.get("name", "").strip(),
        state=state,
        sort=sort.removeprefix("-"),
        direction="desc" if sort.startswith("-") else "asc",
    )


def _find_name_problem(name_part: str) -> str | None:
    if len(name_part) > STORE_NAME_LENGTH_MAX:
        return f"No name is longer than {STORE_NAME_LENGTH_MAX} characters."
    return "No name holds such a character." if "\0" in name_part else None


def _column(filters: StoreFilters, title: str, sort: str, style: str) -> dict[str, str]:
    """`sort`: what a click asks for. A name begins with A, a figure with the greatest."""
    if sort != filters.sort:
        first = sort if sort in ("", "name") else f"-{sort}"
        return {"title": title, "sort": first, "style": style, "sorted": ""}
    sorted_ = "descending" if filters.direction == "desc" else "ascending"
    turned = sort if filters.direction == "desc" else f"-{sort}"
    return {"title": title, "sort": turned, "style": style, "sorted": sorted_}


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
    """The files of one directory, or with `q` what a search finds below it."""
    shown = memory_stores.get_store(store_id, actor=actor)
    query, directory = request.GET.get("q", "").strip(), request.GET.get("directory") or "/"
    facts: dict[str, Any] = {"store": shown, "query": query, "directory": directory}
    if query:
        facts |= find(query, directory, store_id=store_id, actor=actor)
    else:
        facts |= _list_directory(request, shown, directory, actor)
    return render(request, "stores/store.html", facts, status=400 if "problem" in facts else 200)


def _list_directory(request: PageRequest, store: MemoryStore, directory: str, actor: Actor) -> dict[str, Any]:
    wanted = list_request(request, "console.files", {"store": store.wire_id, "directory": directory})
    found = memories.list_memories(
        store.wire_id, wanted, path_prefix=directory, depth=1, with_content=False, actor=actor
    )
    files = [item for item in found.rows if isinstance(item, Memory)]
    below = [item.path for item in found.rows if isinstance(item, MemoryPrefix)]
    held, writers = contents.count_directories(store, below), contents.list_writers(files)
    entries = [
        {
            "name": item.path.removeprefix(directory),
            "path": item.path,
            "memory": item if isinstance(item, Memory) else None,
            "held": held.get(item.path),
            "writer": writers.get(item.id) if isinstance(item, Memory) else None,
        }
        for item in found.rows
    ]
    return {
        "entries": Page(entries, found.next_page),
        "above": list_directories(directory),
        "names": name_actors(writers.values(), actor=actor),
        "example": CREATE_MEMORY_EXAMPLE.format(url=settings.BASE_URL, store_id=store.wire_id),
    }

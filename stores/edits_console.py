"""The pages that change a memory: write a new one, edit its text, move it, delete it.

Each form carries what its page showed; whatever came in between is told, and what was typed stays.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import (
    HubError,
    InvalidRequest,
    MemoryPathConflict,
    MemoryPreconditionFailed,
    NotFound,
    PermissionRefused,
    RequestTooLarge,
)
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, page
from memoryhub.problems import status_of
from stores import edits, memories, memory_stores, memory_versions
from stores.forms import DeleteForm, EditForm, MoveForm, NewMemoryForm, seen
from stores.merges import MARKS_STAND, has_marks
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.typed_texts import as_typed, restore_ends

REFUSALS = (InvalidRequest, PermissionRefused, RequestTooLarge, MemoryPathConflict)


@page("memories.create")
def create_memory(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    store = memory_stores.get_store(store_id, actor=actor)
    form = NewMemoryForm(request.POST or None, initial={"path": request.GET.get("directory") or "/"})
    status, taken = form_status(request), None
    if request.method == "POST" and form.is_valid():
        try:
            created = _create(store_id, form, actor)
        except REFUSALS as error:
            taken = error if isinstance(error, MemoryPathConflict) else None
            add_refusal(form, error, field="path" if taken else None)
            status = status_of(error)
        else:
            messages.success(request, "The memory is saved.")
            return go_to(request, "memory", store_id=store_id, memory_id=created.wire_id)
    elif request.method != "POST":
        memory_stores.require_live(store)
    return render(
        request, "stores/create_memory.html", {"store": store, "form": form, "taken": taken}, status=status
    )


def _create(store_id: str, form: NewMemoryForm, actor: Actor) -> Memory:
    path, typed = form.cleaned_data["path"], form.cleaned_data["content"]
    content = _restore_ends_of(store_id, form.cleaned_data.get("base"), typed, actor)
    return memories.create_memory(store_id, path=path, content=content, actor=actor)


def _restore_ends_of(store_id: str, base_id: str | None, typed: str, actor: Actor) -> str:
    if not base_id:
        return typed
    return restore_ends(
        memory_versions.get_version(store_id, base_id, with_content=True, actor=actor).content or "", typed
    )


@page("memories.update")
def edit_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    store = memory_stores.get_store(store_id, actor=actor)
    if request.method == "POST":
        return _save(request, store, memory_id, actor)
    memory_stores.require_live(store)
    shown = memories.get_memory(store_id, memory_id, with_content=True, actor=actor)
    return _show_editor(request, store, shown.head, EditForm.of(shown.head, content=None, base=shown.head))


def _save(request: PageRequest, store: MemoryStore, memory_id: str, actor: Actor) -> HttpResponse:
    form = EditForm(request.POST)
    base = edits.get_base(store.wire_id, memory_id, request.POST.get("base", ""), actor=actor)
    if not form.is_valid():
        return _show_editor(request, store, base, form, status=400)
    content = restore_ends(base.content or "", form.cleaned_data["content"])
    use = request.POST.get("use")
    if use == "both":
        return _show_merged(request, store, base, content, actor)
    if use == "merged" and has_marks(content):
        form.add_error("content", MARKS_STAND)
        return _show_editor(request, store, base, form, status=400, is_merged=True)
    try:
        saved = memories.update_memory(
            store.wire_id,
            memory_id,
            content=content,
            expected_sha256=form.cleaned_data["content_sha256"],
            actor=actor,
        )
    except (MemoryPreconditionFailed, NotFound) as error:
        return _show_clash(request, store, base, content, actor, status=status_of(error))
    except REFUSALS as error:
        add_refusal(form, error)
        return _show_editor(request, store, base, form, status=status_of(error))
    messages.success(request, _say_saved(saved, base))
    return go_to(request, "memory", store_id=store.wire_id, memory_id=memory_id)


def _say_saved(saved: Memory, base: MemoryVersion) -> str:
    said = "Nothing was changed." if saved.head_id == base.id else "The memory is saved."
    is_moved = base.path is not None and base.path != saved.path
    return f"{said} It has moved meanwhile: it is now at {saved.path}." if is_moved else said


def _show_editor(
    request: PageRequest,
    store: MemoryStore,
    current: MemoryVersion,
    form: EditForm,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    facts = {"store": store, "version": current, "memory_id": current.memory_wire_id, "form": form}
    return render(request, "stores/edit_memory.html", facts | more, status=status)


def _show_clash(
    request: PageRequest, store: MemoryStore, base: MemoryVersion, content: str, actor: Actor, *, status: int
) -> HttpResponse:
    """The typed text beside what stands now; its form says that it replaces just that."""
    newest = edits.get_newest(store.wire_id, base.memory_wire_id, actor=actor)
    clash = edits.compare(base, newest, content)
    more = {"clash": clash, "names": name_actors([newest.created_by_id], actor=actor)}
    if clash.is_deleted:
        kept = {"path": newest.path or base.path or "/", "content": as_typed(content), "base": base.wire_id}
        facts = {"store": store, "form": NewMemoryForm(initial=kept), **more}
        return render(request, "stores/create_memory.html", facts, status=status)
    form = EditForm.of(newest, content=content, base=base)
    return _show_editor(request, store, newest, form, status=status, **more)


def _show_merged(
    request: PageRequest, store: MemoryStore, base: MemoryVersion, content: str, actor: Actor
) -> HttpResponse:
    """Both changes in one text, not saved yet."""
    newest = edits.get_newest(store.wire_id, base.memory_wire_id, actor=actor)
    merge = edits.compare(base, newest, content).merge
    if merge is None:
        return _show_clash(request, store, base, content, actor, status=409)
    form = EditForm.of(newest, content=merge.text, base=newest)
    return _show_editor(request, store, newest, form, merge=merge, is_merged=bool(merge.conflicts_count))


@page("memories.update")
def move_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    store = memory_stores.get_store(store_id, actor=actor)
    shown = memories.get_memory(store_id, memory_id, with_content=False, actor=actor)
    if request.method != "POST":
        memory_stores.require_live(store)
        return _show_move(request, store, shown, MoveForm(initial=seen(shown) | {"path": shown.path}))
    form = MoveForm(request.POST)
    if not form.is_valid():
        return _show_move(request, store, shown, form, status=400)
    wanted = form.cleaned_data
    try:
        moved = memories.update_memory(
            store_id,
            memory_id,
            path=wanted["path"],
            expected_sha256=wanted["content_sha256"],
            expected_path=wanted["expected_path"],
            actor=actor,
        )
    except MemoryPreconditionFailed as error:
        again = MoveForm(initial=seen(shown) | {"path": wanted["path"]})
        return _show_move(request, store, shown, again, status=status_of(error), error=error)
    except REFUSALS as error:
        add_refusal(form, error, field="path" if isinstance(error, MemoryPathConflict) else None)
        return _show_move(request, store, shown, form, status=status_of(error))
    is_moved = moved.path != wanted["expected_path"]
    messages.success(request, "The memory is moved." if is_moved else "Nothing was changed.")
    return go_to(request, "memory", store_id=store_id, memory_id=memory_id)


def _show_move(
    request: PageRequest,
    store: MemoryStore,
    shown: Memory,
    form: MoveForm,
    *,
    status: int = 200,
    error: HubError | None = None,
) -> HttpResponse:
    facts = {"store": store, "memory": shown, "form": form, "error": error}
    return render(request, "stores/move_memory.html", facts, status=status)


@page("memories.delete")
def delete_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first, naming what goes; what changed since the question was asked is not deleted."""
    store = memory_stores.get_store(store_id, actor=actor)
    shown = memories.get_memory(store_id, memory_id, with_content=False, actor=actor)
    facts = {"store": store, "memory": shown, "form": DeleteForm(initial=seen(shown)), "error": None}
    status = form_status(request)
    form = DeleteForm(request.POST)
    if request.method == "POST" and form.is_valid():
        try:
            memories.delete_memory(store_id, memory_id, **_expected(form), actor=actor)
        except (MemoryPreconditionFailed, *REFUSALS) as error:
            facts["error"] = error
            status = status_of(error)
        else:
            messages.success(request, "The memory is deleted. Its history is kept, until it is redacted.")
            return go_to(request, "memory-history", store_id=store_id, memory_id=memory_id)
    elif request.method != "POST":
        memory_stores.require_live(store)
    return render(request, "stores/delete_memory.html", facts, status=status)


def _expected(form: DeleteForm) -> dict[str, str]:
    values = form.cleaned_data
    return {"expected_sha256": values["content_sha256"], "expected_path": values["expected_path"]}

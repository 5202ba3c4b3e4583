"""The settings of a store: what it is called, what agents may do in it, and its end."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.pages import PageRequest, form_status, go_to, page, sentence
from stores import contents, memory_stores
from stores.models import MemoryStore
from stores.settings_forms import DeleteStoreForm, StoreSettingsForm


@page("memory_stores.update")
def store_settings(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """The form carries when the store was last updated: a later update is shown, not overwritten."""
    shown = memory_stores.get_store(store_id, actor=actor)
    if request.method != "POST":
        form = StoreSettingsForm(initial=_kept(shown))
        return _show_settings(request, shown, form, 200)
    form = StoreSettingsForm(request.POST)
    if not form.is_valid():
        return _show_settings(request, shown, form, 400)
    try:
        memory_stores.update_store(
            store_id, **_wanted(form, shown), expected_updated_at=_shown_at(request), actor=actor
        )
    except Conflict:
        return _show_settings(request, memory_stores.get_store(store_id, actor=actor), form, 409)
    except InvalidRequest as error:
        form.add_error("metadata" if error.message.startswith("metadata") else None, sentence(error))
        return _show_settings(request, shown, form, 400)
    messages.success(request, "The settings are saved.")
    return go_to(request, "store-settings", store_id=store_id)


def _kept(store: MemoryStore) -> dict[str, Any]:
    return {
        "name": store.name,
        "description": store.description,
        "metadata": sorted(store.metadata.items()),
    }


def _wanted(form: StoreSettingsForm, store: MemoryStore) -> dict[str, Any]:
    """The verb's patch: a pair that the form no longer has is removed."""
    pairs = form.cleaned_data["metadata"]
    return {**form.cleaned_data, "metadata": {**dict.fromkeys(store.metadata), **pairs}}


def _shown_at(request: PageRequest) -> datetime:
    try:
        return datetime.fromisoformat(request.POST.get("updated_at", ""))
    except ValueError as error:
        raise InvalidRequest("The form is not whole; reload the page.") from error


def _show_settings(
    request: PageRequest, store: MemoryStore, form: StoreSettingsForm, status: int
) -> HttpResponse:
    """With what the store holds now where another change came first (409): sending again is then meant."""
    held = _differing(form, store) if status == 409 else {}
    facts = {"store": store, "form": form, "held": held, "is_stale": status == 409}
    facts["updated_at"] = (
        store.updated_at.isoformat() if status in (200, 409) else request.POST.get("updated_at", "")
    )
    return render(request, "stores/settings.html", facts, status=status)


def _differing(form: StoreSettingsForm, store: MemoryStore) -> dict[str, str]:
    """What the store holds of each field that was typed otherwise."""
    kept = {"Name": store.name, "Description": store.description, "Metadata": _as_lines(store.metadata)}
    typed = form.cleaned_data
    wanted = {
        "Name": typed["name"],
        "Description": typed["description"],
        "Metadata": _as_lines(typed["metadata"]),
    }
    return {field: text for field, text in kept.items() if text != wanted[field]}


def _as_lines(metadata: dict[str, str]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in sorted(metadata.items()))


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


@page("memory_stores.delete")
def delete_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    """Asks for the store's name, and carries the newest version that was shown to be lost."""
    form = DeleteStoreForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _ask_to_delete(request, store_id, form, actor)
    try:
        memory_stores.delete_store(
            store_id,
            expected_name=form.cleaned_data["name"],
            expected_number=_shown_number(request),
            actor=actor,
        )
    except InvalidRequest as error:
        form.add_error("name", sentence(error))
    except Conflict:
        return _ask_to_delete(request, store_id, form, actor, is_stale=True)
    else:
        messages.success(request, "The store is deleted, with everything in it.")
        return go_to(request, "stores")
    return _ask_to_delete(request, store_id, form, actor)


def _shown_number(request: PageRequest) -> int:
    number = request.POST.get("number", "")
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        raise InvalidRequest("The form is not whole; reload the page.")
    return int(number)


def _ask_to_delete(
    request: PageRequest, store_id: str, form: DeleteStoreForm, actor: Actor, *, is_stale: bool = False
) -> HttpResponse:
    shown = memory_stores.get_store(store_id, actor=actor)
    newest = memory_stores.newest_number(shown)
    facts = {
        "store": shown,
        "form": form,
        "contents": contents.get_contents(shown),
        "versions": contents.count_versions(shown),
        "number": newest if request.method != "POST" or is_stale else request.POST.get("number", ""),
        "is_stale": is_stale,
    }
    return render(
        request, "stores/delete_store.html", facts, status=409 if is_stale else form_status(request)
    )

"""The pages of the API keys: which there are, what each may do, and when it was last used."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import ids, keys, store_access
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.forms import add_refusal
from memoryhub.ground_shapes import record_scope_of
from memoryhub.key_forms import HERE, KeyForm, RotateKeyForm
from memoryhub.keys import IssuedKey
from memoryhub.models import ApiKey
from memoryhub.operations import SCOPE_PURPOSES
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page

CREATE_KEY_EXAMPLE = "./hub create_key --project {project} --environment {environment} --scope read"


@page("api_keys.list", of_project=True)
@require_safe
def api_keys(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = keys.list_keys(list_request(request, "console.api_keys", {}), actor=actor)
    place = request.place
    facts = {
        "keys": Page([(key, keys.state_of(key)) for key in shown.rows], shown.next_page),
        "names": name_actors((key.created_by_id or "" for key in shown.rows), actor=actor),
        "example": CREATE_KEY_EXAMPLE.format(project=place.project.name, environment=place.environment.name),
    }
    return render(request, "memoryhub/keys.html", facts)


@page("api_keys.get", of_project=True)
@require_safe
def api_key(request: PageRequest, key_id: str, *, actor: Actor) -> HttpResponse:
    return render(request, "memoryhub/key.html", _facts(keys.get_key(key_id, actor=actor), actor))


def _facts(key: ApiKey, actor: Actor) -> dict[str, Any]:
    """What the page of a key shows. `stores`: [(wire id, name or "", access)] of an agent's key, as `mcp_url` is."""
    access = {UUID(hex=store_hex): kind for store_hex, kind in (key.stores or {}).items()}
    names = store_access.name_stores(actor.project_id, list(access))
    return {
        "key": key,
        "state": keys.state_of(key),
        "purposes": [(scope, SCOPE_PURPOSES[scope]) for scope in key.scopes],
        "stores": [
            (ids.to_wire(ids.MEMORY_STORE, one), names.get(one, ""), kind) for one, kind in access.items()
        ],
        "names": name_actors([key.created_by_id or ""], actor=actor),
        "mcp_url": settings.MCP_URL if "agent" in key.scopes else None,
    }


@page("api_keys.create", of_project=True)
def issue_key(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The answer to the form is the only page that shows the key."""
    form = _key_form(request, actor)
    if request.method == "POST" and form.is_valid():
        try:
            return _show_secret(request, _create(form, actor), actor)
        except Conflict:
            return _show_made(request, form, actor)
        except InvalidRequest as error:
            add_refusal(form, error)
        except NotFound:
            form.add_error(None, "One of the stores is gone. Look through the list, and send the form again.")
    facts = {"form": form, "has_all_stores": len(form.store_ids) < store_access.KEY_STORES_MAX}
    return render(request, "memoryhub/issue_key.html", facts, status=form_status(request))


def _key_form(request: PageRequest, actor: Actor) -> KeyForm:
    """`?store=` names one that the key is for, chosen already."""
    place, wanted = request.place, ids.from_wire(ids.MEMORY_STORE, request.GET.get("store", ""))
    stores = store_access.newest_stores(place.environment.id, store_access.KEY_STORES_MAX)
    if wanted is not None and wanted not in dict(stores):
        stores = [*store_access.name_stores(actor.project_id, [wanted]).items(), *stores]
    initial: dict[str, Any] = {"environment": HERE}
    if wanted is not None:
        initial |= {"scopes": ["agent"], request.GET["store"]: "read_only"}
    return KeyForm(
        request.POST or None, actor=actor, environment=place.environment, stores=stores, initial=initial
    )


def _create(form: KeyForm, actor: Actor) -> IssuedKey:
    values = form.cleaned_data
    return keys.create_key(
        environment=values["environment"],
        name=values["name"],
        scopes=values["scopes"],
        stores=store_access.read_grants(values.get("stores")),
        record_scope=record_scope_of(values.get("record_scope")),
        expires_at=values.get("expires_at"),
        key_id=form.promised_id,
        actor=actor,
    )


def _show_secret(request: HttpRequest, issued: IssuedKey, actor: Actor) -> HttpResponse:
    facts = _facts(issued.key, actor) | {"secret": issued.secret, "example": _example(issued.key)}
    return render(request, "memoryhub/key_issued.html", facts)


def _show_made(request: HttpRequest, form: KeyForm, actor: Actor) -> HttpResponse:
    assert form.promised_id is not None
    key = keys.get_key(ids.to_wire(ids.API_KEY, form.promised_id), actor=actor)
    return render(request, "memoryhub/key_made.html", _facts(key, actor), status=409)


def _example(key: ApiKey) -> str:
    """A call that the key allows; the key itself is read from the shell, so that no history keeps it."""
    if "worker" in key.scopes:
        return ""
    url = f"{settings.BASE_URL}/v1/memory_stores"
    if "agent" in key.scopes:
        stores = [ids.to_wire(ids.MEMORY_STORE, UUID(hex=store_hex)) for store_hex in key.stores or {}]
        if not stores:
            return ""
        url += f"/{stores[0]}/memories"
    return f'curl "{url}" \\\n  -H "Authorization: Bearer $MEMORYHUB_KEY"'


@page("api_keys.rotate", of_project=True)
def rotate_key(request: PageRequest, key_id: str, *, actor: Actor) -> HttpResponse:
    key = keys.get_key(key_id, actor=actor)
    form = RotateKeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            issued = keys.rotate_key(
                key_id, overlap_seconds=form.cleaned_data["overlap_seconds"], actor=actor
            )
            return _show_secret(request, issued, actor)
        except InvalidRequest as error:
            form.add_error(None, error.message)
    facts = {"form": form, "key": key, "state": keys.state_of(key)}
    return render(request, "memoryhub/rotate_key.html", facts, status=form_status(request))


@page("api_keys.revoke", of_project=True)
def revoke_key(request: PageRequest, key_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    if request.method == "POST":
        revoked = keys.revoke_key(key_id, actor=actor)
        messages.success(request, f"The key {revoked.name} is revoked: nothing is answered to it any more.")
        return go_to(request, "key", key_id=key_id)
    return render(request, "memoryhub/revoke_key.html", _facts(keys.get_key(key_id, actor=actor), actor))

"""The pages of secrets: which there are and where they may be sent; written, replaced, deleted, never shown."""

from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import secrets as kept
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest, Unavailable
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page
from memoryhub.problems import status_of
from providers.secret_forms import SecretForm

PUT_EXAMPLE = """curl -X PUT {url}/v1/secrets \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"name": "MEMORY_TOKEN", "value": "…", "allowed_origins": ["https://memory.example.com"]}}'"""


@page("secrets.list")
@require_safe
def secrets(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = kept.list_secrets(list_request(request, "console.secrets", {}), environment=None, actor=actor)
    writers = kept.list_writers(shown.rows)
    facts = {
        "secrets": Page([(one, writers.get(one.id)) for one in shown.rows], shown.next_page),
        "names": name_actors(writers.values(), actor=actor),
        "can_seal": bool(settings.ENCRYPTION_KEYS),
        "example": PUT_EXAMPLE.format(url=settings.BASE_URL),
    }
    return render(request, "providers/secrets.html", facts)


@page("secrets.put")
def create_secret(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = SecretForm(request.POST or None)
    return _answer(request, form, "never", {"secret": None}, actor)


@page("secrets.put")
def replace_secret(request: PageRequest, secret_id: str, *, actor: Actor) -> HttpResponse:
    """The form carries when the secret was last written: a value that came meanwhile is not overwritten."""
    secret = kept.get_secret(secret_id, actor=actor)
    initial = {"allowed_origins": "\n".join(secret.allowed_origins)}
    form = SecretForm(request.POST or None, name=secret.name, agent_id=secret.agent_id, initial=initial)
    shown_at = secret.changed_at if request.method != "POST" else _read_instant(request)
    facts = {"secret": secret, "changed_at": secret.changed_at.isoformat()}
    return _answer(request, form, shown_at, facts, actor)


def _read_instant(request: PageRequest) -> datetime:
    try:
        return datetime.fromisoformat(request.POST.get("changed_at", ""))
    except ValueError as error:
        raise InvalidRequest("The form is not whole; reload the page.") from error


def _answer(
    request: PageRequest,
    form: SecretForm,
    expected_changed_at: datetime | Literal["never"],
    facts: dict[str, Any],
    actor: Actor,
) -> HttpResponse:
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        values = {"agent_id": "", **form.cleaned_data}
        try:
            made = kept.put_secret(
                environment=None, **values, expected_changed_at=expected_changed_at, actor=actor
            )
        except (InvalidRequest, Conflict, Unavailable) as error:
            add_refusal(form, error)
            status = status_of(error)
        else:
            messages.success(request, f"The secret {made.name} is saved. Its value is not shown again.")
            return go_to(request, "secrets")
    return render(request, "providers/secret.html", {**facts, "form": form}, status=status)


@page("secrets.delete")
def delete_secret(request: PageRequest, secret_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: there is no way back."""
    secret = kept.get_secret(secret_id, actor=actor)
    if request.method == "POST":
        kept.delete_secret(secret_id, actor=actor)
        messages.success(request, f"The secret {secret.name} is deleted.")
        return go_to(request, "secrets")
    return render(request, "providers/delete_secret.html", {"secret": secret})

"""The pages of endpoints: which there are, what the calling side declares, their credentials, their end."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import ids
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.pagination import Page
from providers import endpoints as verbs
from providers.endpoint_declarations import declaration_of
from providers.endpoint_forms import (
    CreateEndpointForm,
    CredentialForm,
    EndpointForm,
    RotateCredentialForm,
    TypedNameForm,
)
from providers.endpoint_models import Endpoint, EndpointCredential
from providers.endpoint_pages import endpoint_facts
from providers.endpoints import IssuedCredential
from providers.provider_choice import provider_of
from providers.provider_facts import describe_provider

CREATE_EXAMPLE = """curl {url}/v1/endpoints \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"name": "facts", "environment": "{environment}"}}'"""


@page("endpoints.list")
@require_safe
def endpoints(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = verbs.list_endpoints(
        list_request(request, "console.endpoints", {}), environment=None, actor=actor
    )
    place = request.place.environment.name
    facts = {
        "endpoints": Page(verbs.describe_use(shown.rows), shown.next_page),
        "names": name_actors((one.created_by_id for one in shown.rows), actor=actor),
        "example": CREATE_EXAMPLE.format(url=settings.BASE_URL, environment=place),
    }
    return render(request, "providers/endpoints.html", facts)


@page("endpoints.create")
def create_endpoint(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """Leads to its first credential, without which no host can call it."""
    environment_id = request.place.environment.id
    form = CreateEndpointForm(request.POST or None, provider=provider_of(environment_id).name)
    if request.method == "POST" and form.is_valid():
        try:
            made = verbs.create_endpoint(environment=None, **form.cleaned_data, actor=actor)
        except Conflict as error:
            form.add_error("name", error.message)
        else:
            messages.success(request, "The endpoint is made. A host needs a credential to call it: make one.")
            return go_to(request, "create-credential", endpoint_id=made.wire_id)
    return render(request, "providers/create_endpoint.html", {"form": form}, status=form_status(request))


@page("endpoints.get")
@require_safe
def endpoint(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    """With the declaration for the calling side."""
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    facts = endpoint_facts(request.place, shown) | {
        "use": verbs.describe_use([shown])[0],
        "names": name_actors([shown.created_by_id], actor=actor),
        "provider": describe_provider(shown.environment_id) if shown.has_provider else None,
    }
    return render(request, "providers/endpoint.html", facts | _declaring_facts(shown))


def _declaring_facts(endpoint: Endpoint) -> dict[str, Any]:
    """What the calling side is given. `secret_name`: of the secret that holds the credential there."""
    declaration = declaration_of(endpoint)
    return {
        "declaration": declaration,
        "origin": settings.BASE_URL,
        "is_callable": settings.BASE_URL.startswith("https://"),
        "secret_name": declaration["connection"]["headers"]["Authorization"]["secret"],
    }


@page("endpoints.update")
def endpoint_settings(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    form = EndpointForm(
        request.POST or None,
        initial={name: getattr(shown, name) for name in ("name", "bytes_max", "retention_days")},
    )
    if request.method == "POST" and form.is_valid():
        try:
            verbs.update_endpoint(endpoint_id, changes=form.cleaned_data, actor=actor)
        except Conflict as error:
            form.add_error("name", error.message)
        else:
            messages.success(request, "The endpoint is changed.")
            return go_to(request, "endpoint", endpoint_id=endpoint_id)
    facts = endpoint_facts(request.place, shown) | {"form": form}
    return render(request, "providers/endpoint_settings.html", facts, status=form_status(request))


@page("endpoints.delete")
def delete_endpoint(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    """Asks for its name: what hosts keep here goes with it."""
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    form = TypedNameForm(request.POST or None, name=shown.name)
    if request.method == "POST" and form.is_valid():
        try:
            verbs.delete_endpoint(endpoint_id, expected_name=form.cleaned_data["typed_name"], actor=actor)
        except Conflict as error:
            add_refusal(form, error)
        else:
            messages.success(
                request, f"The endpoint {shown.name} is deleted, with all that hosts kept in it."
            )
            return go_to(request, "endpoints")
    facts = {"endpoint": shown, "form": form, "use": verbs.describe_use([shown])[0]}
    return render(request, "providers/delete_endpoint.html", facts, status=form_status(request))


# --- credentials ---


@page("endpoint_credentials.list")
@require_safe
def credentials(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    wanted = list_request(request, "console.credentials", {"endpoint": endpoint_id})
    facts = {"credentials": verbs.list_credentials(endpoint_id, wanted, actor=actor)}
    return render(request, "providers/credentials.html", endpoint_facts(request.place, shown) | facts)


@page("endpoint_credentials.create")
def create_credential(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    """The answer to the form is the only page that shows the token."""
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    form = CredentialForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        answer = _issue(request, shown, form, form.cleaned_data, actor)
        if answer is not None:
            return answer
    facts = {"endpoint": shown, "form": form}
    return render(request, "providers/create_credential.html", facts, status=form_status(request))


@page("endpoint_credentials.create")
def rotate_credential(
    request: PageRequest, endpoint_id: str, credential_id: str, *, actor: Actor
) -> HttpResponse:
    """Makes another with the same name and scope; both are live until the older one is revoked."""
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    old = verbs.get_credential(endpoint_id, credential_id, actor=actor)
    form = RotateCredentialForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        named = {"name": old.name, "scope": old.scope}
        answer = _issue(request, shown, form, named, actor, replaced=old)
        if answer is not None:
            return answer
    facts = {"endpoint": shown, "credential": old, "form": form}
    return render(request, "providers/rotate_credential.html", facts, status=form_status(request))


def _issue(
    request: PageRequest,
    endpoint: Endpoint,
    form: CredentialForm | RotateCredentialForm,
    named: dict[str, str],
    actor: Actor,
    *,
    replaced: EndpointCredential | None = None,
) -> HttpResponse | None:
    """None when the form is to be shown again."""
    try:
        issued = verbs.create_credential(
            endpoint.wire_id,
            name=named["name"],
            scope=named.get("scope", "memory"),
            credential_id=form.promised_id,
            actor=actor,
        )
    except Conflict:
        return _show_made(request, endpoint, form, actor)
    except InvalidRequest as error:
        add_refusal(form, error)
        return None
    return _show_issued(request, endpoint, issued, replaced)


def _show_issued(
    request: PageRequest, endpoint: Endpoint, issued: IssuedCredential, replaced: EndpointCredential | None
) -> HttpResponse:
    facts = {
        "endpoint": endpoint,
        "credential": issued.credential,
        "secret": issued.token,
        "replaced": replaced,
    }
    return render(request, "providers/credential_issued.html", facts | _declaring_facts(endpoint))


def _show_made(
    request: PageRequest, endpoint: Endpoint, form: CredentialForm | RotateCredentialForm, actor: Actor
) -> HttpResponse:
    assert form.promised_id is not None
    wire_id = ids.to_wire(ids.ENDPOINT_CREDENTIAL, form.promised_id)
    made = verbs.get_credential(endpoint.wire_id, wire_id, actor=actor)
    facts = {"endpoint": endpoint, "credential": made}
    return render(request, "providers/credential_made.html", facts, status=409)


@page("endpoint_credentials.revoke")
def revoke_credential(
    request: PageRequest, endpoint_id: str, credential_id: str, *, actor: Actor
) -> HttpResponse:
    """Asks first: there is no way back."""
    shown = verbs.get_endpoint(endpoint_id, actor=actor)
    if request.method == "POST":
        revoked = verbs.revoke_credential(endpoint_id, credential_id, actor=actor)
        messages.success(
            request, f"The credential {revoked.name} is revoked: nothing is answered to it any more."
        )
        return go_to(request, "credentials", endpoint_id=endpoint_id)
    facts = {"endpoint": shown, "credential": verbs.get_credential(endpoint_id, credential_id, actor=actor)}
    return render(request, "providers/revoke_credential.html", facts)

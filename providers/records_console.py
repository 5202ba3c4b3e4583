"""The pages of records: whose there are, what a scope holds, one record, and what its owner does about it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import (
    Conflict,
    InvalidRequest,
    PermissionRefused,
    ProviderTimeout,
    Unavailable,
    Unprocessable,
)
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.problems import status_of
from providers import held_records, held_scopes, record_corrections, record_reasons
from providers.contract import ORIGINS
from providers.held_records import FORGOTTEN, HELD, HeldRecord, RecordFilters
from providers.held_scopes import RECORDS_COUNTED_MAX, get_scope
from providers.limits import RECALL_HITS_DEFAULT, RECORD_NAME_BYTES_MAX
from providers.provider_facts import describe_named, describe_provider
from providers.record_corrections import Corrected
from providers.record_forms import CorrectionForm, ForgetForm, RecordSearchForm
from providers.record_pages import room_facts
from stores.typed_texts import restore_ends

REFUSALS = (Conflict, InvalidRequest, ProviderTimeout, Unavailable, Unprocessable)
SAVE_EXAMPLE = """curl {url}/v1/records/save \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -H "Idempotency-Key: first" \\
  -d '{{"scope": {{"agent": "support", "principal": {{"issuer": "api", "subject": "alice"}}}}, "text": "Alice drinks tea."}}'"""


@page("records.search")
@require_safe
def records(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The scopes of the environment, and who keeps their records."""
    named = request.GET.get("name", "").strip()
    wanted = list_request(request, "console.record_scopes", {"name": named})
    facts = room_facts(request, actor) | {
        "scopes": held_scopes.list_scopes(wanted, named=named, actor=actor),
        "named": named,
        "counted_max": RECORDS_COUNTED_MAX,
        "provider": describe_provider(request.place.environment.id),
        "example": SAVE_EXAMPLE.format(url=settings.BASE_URL),
    }
    return render(request, "providers/records.html", facts)


@page("records.search")
@require_safe
def record_scope(request: PageRequest, scope_id: str, *, actor: Actor) -> HttpResponse:
    """What it holds, the newest first, of one provider at a time."""
    held = get_scope(scope_id, actor=actor)
    providers = held_records.list_providers(held)
    provider = request.GET.get("provider") or providers[0]
    filters = _read_filters(request)
    if provider not in providers:
        raise InvalidRequest("The address asks for a provider that holds nothing of this scope.")
    named = {"scope": scope_id, "provider": provider} | filters.as_dict()
    shown = held_records.list_records(held, provider, list_request(request, "console.scope", named), filters)
    writers = held_records.find_save_writers(shown.rows)
    facts = {
        "scope": held,
        "rows": [(one, writers.get(one.id)) for one in shown.rows],
        "next_page": shown.next_page,
        "filters": filters,
        "is_filtered": filters != RecordFilters(),
        "origins": ORIGINS,
        "provider": describe_named(provider),
        "used": providers[0],
        "providers": providers,
        "names": name_actors(set(writers.values()), actor=actor),
    }
    return render(request, "providers/record_scope.html", facts)


def _read_filters(request: PageRequest) -> RecordFilters:
    """Of the URL: `state`, `origin`, `author`, `thread`. Raises: InvalidRequest."""
    state = request.GET.get("state", HELD)
    origin, author, thread = (request.GET.get(name, "").strip() for name in ("origin", "author", "thread"))
    is_unknown = state not in ("", HELD, FORGOTTEN) or origin not in ("", *ORIGINS)
    if is_unknown or "\0" in author + thread or max(len(author), len(thread)) > RECORD_NAME_BYTES_MAX:
        raise InvalidRequest("The address asks for a state or a name that there is not.")
    return RecordFilters(state, origin, author, thread)


@page("records.search")
def search_records(request: PageRequest, scope_id: str, *, actor: Actor) -> HttpResponse:
    """What a model would be given for a query, with scores and why. The query is sent in a body: no address and no log holds it."""
    held = get_scope(scope_id, actor=actor)
    form = RecordSearchForm(request.POST or None, initial={"k": RECALL_HITS_DEFAULT})
    status, searched = form_status(request), None
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            searched = record_reasons.search_scope(scope_id, typed["query"], k=typed["k"], actor=actor)
        except (PermissionRefused, *REFUSALS) as error:
            add_refusal(form, error, field="query")
            status = status_of(error)
        else:
            status = 200
    facts = {
        "scope": held,
        "form": form,
        "searched": searched,
        "provider": describe_provider(held.environment_id),
    }
    return render(request, "providers/search_records.html", facts, status=status)


@page("records.search")
@require_safe
def memory_record(
    request: PageRequest, scope_id: str, memory_record_id: str, *, actor: Actor
) -> HttpResponse:
    inspected = held_records.inspect_record(scope_id, memory_record_id, actor=actor)
    effects = inspected.effects
    people = {one.created_by_id for one in effects} | {one.decided_by_id or "" for one in effects}
    facts = _facts(inspected.record) | {
        "effects": effects,
        "used": describe_provider(inspected.record.scope.environment_id).name,
        "names": name_actors(people, actor=actor),
    }
    return render(request, "providers/memory_record.html", facts)


def _facts(record: HeldRecord) -> dict[str, Any]:
    return {"record": record, "scope": record.scope, "provider": describe_named(record.provider)}


@page("records.forget")
def forget_record(
    request: PageRequest, scope_id: str, memory_record_id: str, *, actor: Actor
) -> HttpResponse:
    """Asks first, with what goes."""
    record = held_records.get_record(scope_id, memory_record_id, actor=actor)
    form = ForgetForm(request.POST or None, actor=actor)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        try:
            is_certain = record_corrections.forget_held(scope_id, memory_record_id, key=form.key, actor=actor)
        except REFUSALS as error:
            add_refusal(form, error)
            status = status_of(error)
        else:
            _tell_forgotten(request, is_certain)
            return go_to(request, "record-scope", scope_id=scope_id)
    facts = _facts(record) | {"form": form}
    return render(request, "providers/forget_record.html", facts, status=status)


def _tell_forgotten(request: PageRequest, is_certain: bool) -> None:
    if is_certain:
        messages.success(request, "The record is forgotten: no recall shows it any more.")
    else:
        messages.warning(
            request,
            "Nobody knows yet whether the provider forgot it. No recall shows it meanwhile; see Unknown writes.",
        )


@page("records.save")
def correct_record(
    request: PageRequest, scope_id: str, memory_record_id: str, *, actor: Actor
) -> HttpResponse:
    """Saves another record in its place. What was typed comes back when that is refused."""
    record = held_records.get_record(scope_id, memory_record_id, actor=actor)
    initial = {"text": record.text or "", "title": record.title or "", "author": record.author or ""}
    form = CorrectionForm(request.POST or None, actor=actor, is_local=record.is_local, initial=initial)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        fields = _read_correction(record, form)
        if record.text is not None and not _differs(record, fields):
            messages.success(request, "Nothing was changed.")
            return go_to(request, "memory-record", scope_id=scope_id, memory_record_id=memory_record_id)
        try:
            corrected = record_corrections.correct_record(
                scope_id, memory_record_id, fields=fields, key=form.key, actor=actor
            )
        except REFUSALS as error:
            add_refusal(form, error, field="text")
            status = status_of(error)
        else:
            return _answer_corrected(request, scope_id, corrected)
    facts = _facts(record) | {"form": form}
    return render(request, "providers/correct_record.html", facts, status=status)


def _read_correction(record: HeldRecord, form: CorrectionForm) -> dict[str, Any]:
    typed = form.cleaned_data
    fields = {"text": restore_ends(record.text or "", typed["text"])}
    return fields | ({name: typed.get(name) for name in ("title", "author")} if record.is_local else {})


def _differs(record: HeldRecord, fields: dict[str, Any]) -> bool:
    return any(getattr(record, name) != value for name, value in fields.items())


def _answer_corrected(request: PageRequest, scope_id: str, corrected: Corrected) -> HttpResponse:
    if corrected.is_uncertain:
        messages.warning(
            request,
            "Nobody knows yet whether the provider saved it, so the record of before was left. See Unknown writes.",
        )
    elif not corrected.is_forgotten:
        messages.warning(
            request,
            "It is saved. Nobody knows yet whether the record of before is forgotten; see Unknown writes.",
        )
    else:
        messages.success(request, "It is saved as a new record, and the one of before is forgotten.")
    if corrected.record_id is None:
        return go_to(request, "record-scope", scope_id=scope_id)
    return go_to(request, "memory-record", scope_id=scope_id, memory_record_id=corrected.record_id)

"""The page of the audit trail: who did what to which thing, and the whole of it as a file."""

from typing import Any

from django.http import FileResponse, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memoryhub import audit as trail
from memoryhub import audit_trail
from memoryhub.actor_names import find_actors, name_actors
from memoryhub.actors import Actor
from memoryhub.audit_forms import AuditFilterForm, ExportForm, action_words
from memoryhub.audit_trail import EXPORT_ROWS_MAX, EventFilters
from memoryhub.errors import InvalidRequest
from memoryhub.models import AuditEvent
from memoryhub.pages import PageRequest, Place, list_request, page
from memoryhub.pagination import Page
from memoryhub.spools import file_answer, filled_spool
from memoryhub.subjects import Subject, find_subjects


@page("audit_events.list", of_project=True)
@require_safe
def audit(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = AuditFilterForm(request.GET or None)
    shown = _find_events(request, form, actor)
    head = trail.get_chain_head(actor.project_id)
    facts = {
        "form": form,
        "events": Page(_rows(shown.rows, request.place, actor), shown.next_page),
        "names": name_actors((event.actor_id for event in shown.rows), actor=actor),
        "is_filtered": any(request.GET.get(name) for name in form.fields),
        "head": head,
        "parts": range(0, head.chain_index, EXPORT_ROWS_MAX),
    }
    return render(request, "memoryhub/audit.html", facts, status=400 if form.errors else 200)


def _find_events(request: PageRequest, form: AuditFilterForm, actor: Actor) -> Page[AuditEvent]:
    """None of a form that cannot be read: what is wrong stands beside its field."""
    if form.is_bound and not form.is_valid():
        return Page([], None)
    typed = form.cleaned_data if form.is_bound else {}
    first, last = form.instants() if form.is_bound else (None, None)
    wanted = EventFilters(
        action=typed.get("action") or None,
        actor_ids=find_actors(typed["actor"], actor=actor) if typed.get("actor") else None,
        subject_id=typed.get("subject_id") or None,
        created_from=first,
        created_to=last,
    )
    if wanted.actor_ids == ():
        form.add_error(
            "actor", "Nobody here, and no key, has this name. Those who left are found by their id."
        )
        return Page([], None)
    bound = {name: request.GET.get(name, "") for name in form.fields}
    return audit_trail.list_events(list_request(request, "console.audit", bound), wanted, actor=actor)


def _rows(events: list[AuditEvent], place: Place, actor: Actor) -> list[dict[str, Any]]:
    """`[{"event", "words", "details", "subject", "url", "environment"}]`; `subject` None: the thing is gone."""
    subjects = find_subjects((event.subject_id for event in events), actor=actor)
    environments = {one.id: one.name for one in place.project.environments.all()}
    return [
        {
            "event": event,
            "words": action_words(event.action),
            "details": [(name.replace("_", " "), _shown(value)) for name, value in event.details.items()],
            "subject": subjects.get(event.subject_id),
            "url": _url(subjects.get(event.subject_id), place),
            "environment": environments.get(event.environment_id) if event.environment_id else None,
        }
        for event in events
    ]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return "none" if value is None else str(value)


def _url(subject: Subject | None, place: Place) -> str | None:
    if subject is None or subject.url_name is None:
        return None
    return place.url_in(subject.environment_id, subject.url_name, **subject.ids_of)


@page("audit_events.export")
@require_safe
def export(request: PageRequest, *, actor: Actor) -> FileResponse:
    """At most EXPORT_ROWS_MAX rows, from the one behind `?after=` on."""
    form = ExportForm(request.GET)
    if not form.is_valid():
        raise InvalidRequest("after: This must be the number of a row.")
    exported = audit_trail.export_events(after=form.cleaned_data["after"] or 0, actor=actor)
    with filled_spool() as spool:
        spool.writelines(exported.lines)
    return file_answer(spool, content_type="application/x-ndjson", file_name="audit.ndjson")

"""The page that asks for an import of records."""

from django.http import HttpResponse
from django.shortcuts import render

from memoryhub.actors import Actor, RecordScope
from memoryhub.errors import InvalidRequest
from memoryhub.forms import add_refusal
from memoryhub.pages import PageRequest, form_status, go_to, page
from providers import record_jobs
from providers.import_forms import ImportForm
from providers.record_access import NAMES_OF_SCOPE


@page("records.import")
def import_records(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """A page of a scope names it in the address; what is typed counts."""
    named = {name: request.GET.get(name, "") for name in NAMES_OF_SCOPE}
    form = ImportForm(request.POST or None, request.FILES or None, initial=named)
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            job = record_jobs.start_import(
                typed["file"].file,
                environment=request.place.environment.name,
                of=RecordScope(*(typed[name] for name in NAMES_OF_SCOPE)),
                format=typed["format"],
                user=typed.get("user"),
                dry_run=typed["dry_run"],
                actor=actor,
            )
        except InvalidRequest as error:
            add_refusal(form, error, field="file")
        else:
            return go_to(request, "job", job_id=job.wire_id)
    return render(request, "providers/import_records.html", {"form": form}, status=form_status(request))

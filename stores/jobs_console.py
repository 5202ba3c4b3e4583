"""The pages that ask for long work on stores: an export, an import, the archiving of many."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.models import Job
from memoryhub.pages import PageRequest, form_status, go_to, page, sentence
from stores import store_jobs
from stores.archive_forms import ImportForm


@page("memory_stores.export")
@require_POST
def export_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    return _start(request, store_jobs.start_export, store_id, actor)


@page("memory_stores.export")
@require_POST
def zip_store(request: PageRequest, store_id: str, *, actor: Actor) -> HttpResponse:
    return _start(request, store_jobs.start_zip, store_id, actor)


def _start(request: PageRequest, start: Callable[..., Job], store_id: str, actor: Actor) -> HttpResponse:
    try:
        job = start(store_id, actor=actor)
    except InvalidRequest as error:
        messages.warning(request, error.message)
        return go_to(request, "store", store_id=store_id)
    return go_to(request, "job", job_id=job.wire_id)


@page("memory_stores.import")
def import_store(request: PageRequest, *, actor: Actor) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    if form.is_bound and form.is_valid():
        try:
            job = store_jobs.start_import(
                form.cleaned_data["archive"].file,
                environment=request.place.environment.name,
                name=form.cleaned_data.get("name"),
                actor=actor,
            )
        except InvalidRequest as error:
            _refuse(form, error)
        else:
            return go_to(request, "job", job_id=job.wire_id)
    return render(request, "stores/import_store.html", {"form": form}, status=form_status(request))


def _refuse(form: ImportForm, error: InvalidRequest) -> None:
    if error.error_code != "archive_invalid":
        form.add_error(None, error.message)
        return
    form.add_error(
        "archive", "This file cannot be imported. Choose a .tar file that an export of a store gave."
    )
    form.add_error("archive", error.message)


@page("memory_stores.archive")
@require_POST
def archive_stores(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The list sends what was ticked; the page that asks sends it again, confirmed."""
    chosen = request.POST.getlist("store_id")
    try:
        stores = store_jobs.find_stores(chosen, actor=actor)
        if "confirmed" in request.POST:
            environment = request.place.environment.name
            job = store_jobs.start_archiving(chosen, environment=environment, actor=actor)
            return go_to(request, "job", job_id=job.wire_id)
    except InvalidRequest as error:
        messages.warning(request, sentence(error))
        return go_to(request, "stores")
    live = [store for store in stores if store.archived_at is None]
    return render(request, "stores/archive_stores.html", {"stores": stores, "live": live})

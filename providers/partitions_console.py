"""The pages of what hosts keep in an endpoint: its partitions, the records of one, and what its owner does about them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actors import Actor
from memoryhub.errors import Conflict
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from providers import endpoints, external_partitions
from providers.endpoint_forms import DeleteRecordForm, RecordForm, TypedNameForm
from providers.endpoint_pages import endpoint_facts

_DELETED = {
    False: "The partition is deleted. A host that writes in it again begins it anew.",
    True: "The partition is being deleted: no host reads or writes it, and it goes when the provider has forgotten its last record.",
}


@page("external_partitions.list")
@require_safe
def partitions(request: PageRequest, endpoint_id: str, *, actor: Actor) -> HttpResponse:
    wanted = list_request(request, "console.partitions", {"endpoint": endpoint_id})
    shown = external_partitions.list_partitions(endpoint_id, wanted, actor=actor)
    facts = endpoint_facts(request.place, endpoints.get_endpoint(endpoint_id, actor=actor))
    return render(request, "providers/partitions.html", facts | {"partitions": shown})


def _facts(endpoint_id: str, partition_id: str, actor: Actor) -> dict[str, Any]:
    details = external_partitions.describe_partition(endpoint_id, partition_id, actor=actor)
    return {
        "endpoint": details.partition.endpoint,
        "details": details,
        "partition": details.partition,
    }


@page("external_records.list")
@require_safe
def partition(request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor) -> HttpResponse:
    """Its records, or where a memory provider keeps them."""
    facts = _facts(endpoint_id, partition_id, actor)
    if facts["endpoint"].has_provider:
        return render(request, "providers/partition_at_provider.html", facts)
    wanted = list_request(request, "console.records", {"partition": partition_id})
    records = external_partitions.list_records(endpoint_id, partition_id, wanted, actor=actor)
    return render(request, "providers/partition.html", facts | {"records": records})


@page("external_items.list")
@require_safe
def items(request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor) -> HttpResponse:
    """What hosts ingested of conversations."""
    facts = _facts(endpoint_id, partition_id, actor)
    wanted = list_request(request, "console.items", {"partition": partition_id})
    shown = external_partitions.list_items(endpoint_id, partition_id, wanted, actor=actor)
    return render(request, "providers/items.html", facts | {"items": shown})


@page("external_partitions.freeze")
@require_POST
def freeze_partition(
    request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor
) -> HttpResponse:
    external_partitions.freeze_partition(endpoint_id, partition_id, actor=actor)
    messages.success(request, "The partition is frozen: hosts read it and write nothing in it.")
    return go_to(request, "partition", endpoint_id=endpoint_id, partition_id=partition_id)


@page("external_partitions.unfreeze")
@require_POST
def unfreeze_partition(
    request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor
) -> HttpResponse:
    external_partitions.unfreeze_partition(endpoint_id, partition_id, actor=actor)
    messages.success(request, "Hosts may write in the partition again.")
    return go_to(request, "partition", endpoint_id=endpoint_id, partition_id=partition_id)


@page("external_partitions.export")
@require_safe
def export_partition(
    request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor
) -> StreamingHttpResponse:
    """A line of JSON for each record."""
    _, lines = external_partitions.export_partition(endpoint_id, partition_id, actor=actor)
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{partition_id}.ndjson"'
    return response


@page("external_partitions.delete")
def delete_partition(
    request: PageRequest, endpoint_id: str, partition_id: str, *, actor: Actor
) -> HttpResponse:
    """Asks for its name: what the host kept goes with it."""
    facts = _facts(endpoint_id, partition_id, actor)
    form = TypedNameForm(request.POST or None, name=facts["partition"].partition)
    if request.method == "POST" and form.is_valid():
        external_partitions.delete_partition(endpoint_id, partition_id, actor=actor)
        messages.success(request, _DELETED[facts["endpoint"].has_provider])
        return go_to(request, "partitions", endpoint_id=endpoint_id)
    return render(
        request, "providers/delete_partition.html", facts | {"form": form}, status=form_status(request)
    )


# --- records ---


@page("external_records.update")
def record(
    request: PageRequest, endpoint_id: str, partition_id: str, record_id: str, *, actor: Actor
) -> HttpResponse:
    """The form carries the revision that it was shown for: a later change is shown beside what was typed."""
    facts = _facts(endpoint_id, partition_id, actor)
    held = external_partitions.get_record(endpoint_id, partition_id, record_id, actor=actor)
    initial = {"text": held.text, "expected_revision": held.revision}
    form = RecordForm(request.POST or None, initial=initial)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        try:
            external_partitions.update_record(
                endpoint_id, partition_id, record_id, **form.cleaned_data, actor=actor
            )
        except Conflict:
            held = external_partitions.get_record(endpoint_id, partition_id, record_id, actor=actor)
            typed = {"text": form.cleaned_data["text"], "expected_revision": held.revision}
            form, status = RecordForm(initial=typed), 409
        else:
            messages.success(request, "The record is saved.")
            return go_to(request, "partition", endpoint_id=endpoint_id, partition_id=partition_id)
    facts |= {"record": held, "form": form, "is_stale": status == 409}
    return render(request, "providers/record.html", facts, status=status)


@page("external_records.delete")
def delete_record(
    request: PageRequest, endpoint_id: str, partition_id: str, record_id: str, *, actor: Actor
) -> HttpResponse:
    """Asks first, naming what goes; one that changed meanwhile is shown again."""
    held = external_partitions.get_record(endpoint_id, partition_id, record_id, actor=actor)
    form, is_stale = DeleteRecordForm(request.POST or None, initial={"revision": held.revision}), False
    if request.method == "POST" and form.is_valid():
        try:
            external_partitions.delete_record(
                endpoint_id,
                partition_id,
                record_id,
                expected_revision=form.cleaned_data["revision"],
                actor=actor,
            )
        except Conflict:
            form, is_stale = DeleteRecordForm(initial={"revision": held.revision}), True
        else:
            messages.success(request, "The record is deleted: no recall shows it any more.")
            return go_to(request, "partition", endpoint_id=endpoint_id, partition_id=partition_id)
    facts = _facts(endpoint_id, partition_id, actor) | {"record": held, "form": form, "is_stale": is_stale}
    status = 409 if is_stale else form_status(request)
    return render(request, "providers/delete_record.html", facts, status=status)

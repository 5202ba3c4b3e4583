"""The pages of one document: its text, who wrote it, and what one may do about it.

Each form carries the revision that its page showed; whatever came in between is told, and what was typed stays.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import (
    InvalidRequest,
    NotFound,
    PermissionRefused,
    RequestTooLarge,
    RevisionConflict,
)
from memoryhub.pages import PageRequest, form_status, go_to, page
from memoryhub.problems import status_of
from providers import documents, uses
from providers.document_forms import (
    DeleteDocumentForm,
    EditDocumentForm,
    NewDocumentForm,
    TitleForm,
    refuse,
)
from providers.documents import Document
from stores import edits, freezes
from stores.edits import ThreeWay
from stores.merges import MARKS_STAND, has_marks
from stores.models import MemoryVersion
from stores.typed_texts import restore_ends
from stores.versions_beside import versions_beside

REFUSALS = (InvalidRequest, PermissionRefused, RequestTooLarge)


@page("memory_documents.get")
@require_safe
def document(request: PageRequest, resource_id: str, document_id: str, *, actor: Actor) -> HttpResponse:
    """With `view=rendered` the text as Markdown."""
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    memory = shown.memory
    facts = versions_beside(_store_id(shown), memory.wire_id, actor)
    facts |= _facts(resource_id, shown) | {
        "memory": memory,
        "version": memory.head,
        "sessions_count": uses.count_live(resource_id, document_id, actor=actor),
        "is_rendered": request.GET.get("view") == "rendered",
    }
    facts["names"] |= name_actors([memory.head.created_by_id], actor=actor)
    return render(request, "providers/document.html", facts)


def _facts(resource_id: str, shown: Document) -> dict[str, Any]:
    return {"resource_id": resource_id, "document": shown, "card": shown.card}


def _store_id(shown: Document) -> str:
    return shown.memory.store.wire_id


@page("memory_documents.put")
def create_document(request: PageRequest, resource_id: str, *, actor: Actor) -> HttpResponse:
    store = documents.get_document_store(None, resource_id, actor=actor)
    form = NewDocumentForm(request.POST or None)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        try:
            made = documents.create_document(
                None,
                resource_id,
                typed["document_id"],
                title=typed["title"],
                text=typed["content"],
                summary=typed["summary"],
                agent_writes=True,
                actor=actor,
            )
        except (*REFUSALS, RevisionConflict) as error:
            refuse(form, error)
            status = status_of(error)
        else:
            messages.success(request, "The document is saved.")
            return go_to(request, "document", resource_id=resource_id, document_id=made.id)
    facts = {"form": form, "resource_id": resource_id, "store": store}
    return render(request, "providers/create_document.html", facts, status=status)


@page("memory_documents.put")
def edit_document(request: PageRequest, resource_id: str, document_id: str, *, actor: Actor) -> HttpResponse:
    if request.method == "POST":
        return _save(request, resource_id, document_id, actor)
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    form = EditDocumentForm.of(shown, content=shown.text, summary=shown.card.summary, base=shown.revision)
    return _show_editor(request, resource_id, shown, form)


def _save(request: PageRequest, resource_id: str, document_id: str, actor: Actor) -> HttpResponse:
    form = EditDocumentForm(request.POST)
    is_whole = form.is_valid()
    try:
        shown = documents.get_document(None, resource_id, document_id, actor=actor)
    except NotFound:
        return _show_deleted(request, resource_id, document_id, form, actor)
    if not is_whole:
        return _show_editor(request, resource_id, shown, form, status=400)
    typed = form.cleaned_data
    base = edits.get_base(_store_id(shown), shown.memory.wire_id, typed["base"], actor=actor)
    content = restore_ends(base.content or "", typed["content"])
    use = request.POST.get("use")
    if use == "both":
        return _show_merged(request, resource_id, shown, base, content, typed["summary"], actor)
    if use == "merged" and has_marks(content):
        form.add_error("content", MARKS_STAND)
        return _show_editor(request, resource_id, shown, form, status=400, is_merged=True)
    try:
        saved = documents.replace_document(
            None,
            resource_id,
            document_id,
            text=content,
            summary=typed["summary"],
            expected_revision=typed["revision"],
            actor=actor,
        )
    except RevisionConflict:
        now = documents.get_document(None, resource_id, document_id, actor=actor)
        return _show_clash(request, resource_id, now, base, content, typed["summary"], actor)
    except NotFound:
        return _show_deleted(request, resource_id, document_id, form, actor)
    except REFUSALS as error:
        refuse(form, error)
        return _show_editor(request, resource_id, shown, form, status=status_of(error))
    is_same = saved.revision == base.wire_id
    messages.success(request, "Nothing was changed." if is_same else "The document is saved.")
    return go_to(request, "document", resource_id=resource_id, document_id=document_id)


def _show_editor(
    request: PageRequest,
    resource_id: str,
    shown: Document,
    form: EditDocumentForm,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    facts = _facts(resource_id, shown) | {"form": form, "version": shown.memory.head}
    return render(request, "providers/edit_document.html", facts | more, status=status)


def _compare(now: Document, base: MemoryVersion, content: str) -> ThreeWay:
    return edits.compare(base, now.memory.head, content)


def _show_clash(
    request: PageRequest,
    resource_id: str,
    now: Document,
    base: MemoryVersion,
    content: str,
    summary: str,
    actor: Actor,
) -> HttpResponse:
    """The typed text beside what stands now; its form says that it replaces just that."""
    form = EditDocumentForm.of(now, content=content, summary=summary, base=base.wire_id)
    more = {
        "clash": _compare(now, base, content),
        "their_summary": now.card.summary if now.card.summary != summary else None,
        "names": name_actors([now.memory.head.created_by_id], actor=actor),
    }
    return _show_editor(request, resource_id, now, form, status=409, **more)


def _show_merged(
    request: PageRequest,
    resource_id: str,
    now: Document,
    base: MemoryVersion,
    content: str,
    summary: str,
    actor: Actor,
) -> HttpResponse:
    """Both changes in one text, not saved yet."""
    merge = _compare(now, base, content).merge
    if merge is None:
        return _show_clash(request, resource_id, now, base, content, summary, actor)
    form = EditDocumentForm.of(now, content=merge.text, summary=summary, base=now.revision)
    is_merged = bool(merge.conflicts_count)
    return _show_editor(request, resource_id, now, form, merge=merge, is_merged=is_merged)


def _show_deleted(
    request: PageRequest, resource_id: str, document_id: str, form: EditDocumentForm, actor: Actor
) -> HttpResponse:
    """What was typed can be saved under another id, unless the resource is gone too."""
    store = documents.get_document_store(None, resource_id, actor=actor)
    typed = {name: request.POST.get(name, "") for name in ("content", "summary")}
    facts = {
        "form": NewDocumentForm(initial=typed),
        "resource_id": resource_id,
        "store": store,
        "deleted_id": document_id,
    }
    return render(request, "providers/create_document.html", facts, status=404)


@page("memory_documents.update")
def rename_document(
    request: PageRequest, resource_id: str, document_id: str, *, actor: Actor
) -> HttpResponse:
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    form = TitleForm(request.POST or None, initial={"title": shown.card.title, "revision": shown.revision})
    status, is_stale = form_status(request), False
    if request.method == "POST" and form.is_valid():
        try:
            documents.change_card(
                None,
                resource_id,
                document_id,
                title=form.cleaned_data["title"],
                agent_writes=None,
                expected_revision=form.cleaned_data["revision"],
                actor=actor,
            )
        except RevisionConflict as error:
            now = documents.get_document(None, resource_id, document_id, actor=actor)
            again = {"title": form.cleaned_data["title"], "revision": now.revision}
            shown, form, status, is_stale = now, TitleForm(initial=again), status_of(error), True
        except REFUSALS as error:
            refuse(form, error)
            status = status_of(error)
        else:
            messages.success(request, "The document has its new title.")
            return go_to(request, "document", resource_id=resource_id, document_id=document_id)
    facts = _facts(resource_id, shown) | {"form": form, "is_stale": is_stale}
    return render(request, "providers/rename_document.html", facts, status=status)


@page("memory_documents.update")
@require_POST
def freeze_document(
    request: PageRequest, resource_id: str, document_id: str, *, actor: Actor
) -> HttpResponse:
    """Whatever a model saves meanwhile: who freezes a document means its writers, not its words."""
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    freezes.freeze_memory(_store_id(shown), shown.memory.wire_id, actor=actor)
    messages.success(request, "The document is frozen: models may read it and not save it.")
    return go_to(request, "document", resource_id=resource_id, document_id=document_id)


@page("memory_documents.update")
@require_POST
def unfreeze_document(
    request: PageRequest, resource_id: str, document_id: str, *, actor: Actor
) -> HttpResponse:
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    freezes.unfreeze_memory(_store_id(shown), shown.memory.wire_id, actor=actor)
    messages.success(request, "Models may save the document again.")
    return go_to(request, "document", resource_id=resource_id, document_id=document_id)


@page("memory_documents.delete")
def delete_document(
    request: PageRequest, resource_id: str, document_id: str, *, actor: Actor
) -> HttpResponse:
    """Asks for its id, naming what goes; what changed since the question was asked is not deleted."""
    shown = documents.get_document(None, resource_id, document_id, actor=actor)
    initial = {"revision": shown.revision}
    form = DeleteDocumentForm(request.POST or None, document_id=document_id, initial=initial)
    status, is_stale = form_status(request), False
    if request.method == "POST" and form.is_valid():
        revision = form.cleaned_data["revision"]
        try:
            documents.delete_document(None, resource_id, document_id, expected_revision=revision, actor=actor)
        except RevisionConflict as error:
            now = documents.get_document(None, resource_id, document_id, actor=actor)
            again = {"revision": now.revision}
            form = DeleteDocumentForm(document_id=document_id, initial=again)
            shown, status, is_stale = now, status_of(error), True
        else:
            messages.success(request, f"The document {document_id} is deleted, with its history.")
            return go_to(request, "resource", resource_id=resource_id)
    facts = _facts(resource_id, shown) | {
        "form": form,
        "is_stale": is_stale,
        "versions": uses.count_versions(shown),
        "sessions_count": uses.count_live(resource_id, document_id, actor=actor),
    }
    return render(request, "providers/delete_document.html", facts, status=status)

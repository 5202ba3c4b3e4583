"""The pages of one memory: its text, who wrote it, and what one may do about it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pages import PageRequest, go_to, page
from stores import freezes, memories, memory_versions
from stores.text_downloads import answer_text
from stores.versions_beside import versions_beside


@page("memories.get")
@require_safe
def memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    """With `view=rendered` the text as Markdown."""
    shown = memories.get_memory(store_id, memory_id, with_content=True, actor=actor)
    facts = versions_beside(store_id, memory_id, actor)
    facts |= {"memory": shown, "version": shown.head, "is_rendered": request.GET.get("view") == "rendered"}
    return render(request, "stores/memory.html", facts)


@page("memories.get")
@require_safe
def raw_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    shown = memories.get_memory(store_id, memory_id, with_content=True, actor=actor)
    return answer_text(shown.head.content or "", shown.path)


@page("memory_versions.get")
@require_safe
def raw_version(request: PageRequest, store_id: str, version_id: str, *, actor: Actor) -> HttpResponse:
    """Of a version that has a text: not a deletion, not redacted."""
    shown = memory_versions.get_version(store_id, version_id, with_content=True, actor=actor)
    if shown.content is None:
        raise NotFound("text of this version")
    return answer_text(shown.content, shown.path)


@page("memories.freeze")
@require_POST
def freeze_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    freezes.freeze_memory(store_id, memory_id, actor=actor)
    messages.success(request, "The memory is frozen: agents may read it and not change it.")
    return go_to(request, "memory", store_id=store_id, memory_id=memory_id)


@page("memories.unfreeze")
@require_POST
def unfreeze_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    freezes.unfreeze_memory(store_id, memory_id, actor=actor)
    messages.success(request, "Agents may change the memory again.")
    return go_to(request, "memory", store_id=store_id, memory_id=memory_id)

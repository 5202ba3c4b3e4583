"""The pages of one memory: its text, who wrote it, and what one may do about it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from memoryhub.actors import Actor
from memoryhub.pages import PageRequest, go_to, page
from stores import memories
from stores.versions_beside import versions_beside


@page("memories.get")
@require_safe
def memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    shown = memories.get_memory(store_id, memory_id, with_content=True, actor=actor)
    facts = versions_beside(store_id, memory_id, actor)
    facts |= {"memory": shown, "version": shown.head}
    return render(request, "stores/memory.html", facts)


@page("memories.freeze")
@require_POST
def freeze_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    memories.freeze_memory(store_id, memory_id, actor=actor)
    messages.success(request, "The memory is frozen: agents may read it and not change it.")
    return go_to(request, "memory", store_id=store_id, memory_id=memory_id)


@page("memories.unfreeze")
@require_POST
def unfreeze_memory(request: PageRequest, store_id: str, memory_id: str, *, actor: Actor) -> HttpResponse:
    memories.unfreeze_memory(store_id, memory_id, actor=actor)
    messages.success(request, "Agents may change the memory again.")
    return go_to(request, "memory", store_id=store_id, memory_id=memory_id)

"""Template tags of the stores' pages."""

from django import template
from django.template.context import Context

from stores.models import MemoryStore
from stores.paths import list_directories

register = template.Library()

# (title, page, the operation that it needs), in the order in which they stand.
STORE_TABS = (
    ("Files", "store", "memory_stores.get"),
    ("History", "store-history", "memory_versions.list"),
    ("As it was", "as-it-was", "memory_stores.snapshot"),
    ("Find in history", "find-in-store", "memory_versions.search"),
    ("Sessions", "store-sessions", "sessions.list"),
    ("Settings", "store-settings", "memory_stores.update"),
)


@register.simple_tag(takes_context=True)
def store_tabs(context: Context, store: MemoryStore) -> list[dict[str, str]]:
    """The pages of a store that the person may see."""
    place = context["request"].place
    return [
        {"title": title, "url": place.url(url_name, store_id=store.wire_id)}
        for title, url_name, operation in STORE_TABS
        if place.may(operation)
    ]


@register.filter
def directories(path: str | None) -> list[dict[str, str]]:
    """Those that a memory lies in, from the root down; none when its path is not known any more."""
    return list_directories(path or "")

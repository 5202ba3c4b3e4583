"""Template tags of the console."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from django import template
from django.template.context import Context
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from memoryhub import clock, ids, unseen
from memoryhub.docs_pages import DocsPage
from memoryhub.markdown import render_foreign
from memoryhub.rooms import WAITING_COUNTED_MAX, Room
from memoryhub.strict_json import json_text
from memoryhub.themes import chosen_theme

register = template.Library()

ID_DIGITS_SHOWN = 6  # the last ones: the first tell the time
DIGEST_DIGITS_SHOWN = 10
# (seconds from which it counts, seconds of one, its noun), the longest first.
_SPANS = (
    (365 * 86_400, 365 * 86_400, "year"),
    (60 * 86_400, 30 * 86_400, "month"),
    (86_400, 86_400, "day"),
    (3_600, 3_600, "hour"),
    (60, 60, "minute"),
)
# What stands before the name of an actor that is no person.
_KINDS = {ids.API_KEY: "the key ", ids.SESSION: "a model in "}


@register.simple_tag
def docs_html(page: DocsPage) -> SafeString:
    """The HTML of a page of the product's own documentation: sanitised when it was read, never made from user text."""
    return format_html("{}", SafeString(page.html))


@register.simple_tag
def numbered_lines(text: str) -> SafeString:
    """Each line in an element of its own, for a style to number; a final line break begins no line.

    Escaped as a whole and then cut: a text may have a hundred thousand lines.
    """
    lines = visible(text.removesuffix("\n")).split("\n")
    return format_html("<span>{}</span>", SafeString("</span><span>".join(lines)))


@register.simple_tag
def rendered(text: str) -> SafeString:
    """A text of an agent as Markdown: sanitised, its unseen characters named."""
    return SafeString(render_foreign(text, write_text=_name_all_unseen))


@register.simple_tag
def visible(text: str) -> SafeString:
    """A text with its unseen characters named, for text that people or agents wrote."""
    return SafeString(_name_all_unseen(escape(text)))


def _name_all_unseen(html: str) -> str:
    return unseen.replace_unseen(
        html, cache(_name_unseen)
    )  # the same run may stand there fifty thousand times


def _name_unseen(run: str) -> str:
    codes, names = unseen.spell_codes(run), unseen.spell_names(run)
    return format_html('<span class="unseen-char" title="{}">{}</span>', names, codes)


@register.filter
def spelled(text: str) -> str:
    """The same where there can be no markup: in a title, an attribute, an option."""
    return unseen.replace_unseen(text, lambda run: f"[{unseen.spell_codes(run)}]")


@register.simple_tag
def moment(value: datetime) -> SafeString:
    """A time in words; the exact instant is in `datetime` and on hover."""
    exact = clock.to_wire(value)
    shown = f"{exact[:10]} {exact[11:19]} UTC"
    return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', exact, shown, time_ago(value))


@register.simple_tag
def instant(value: datetime) -> SafeString:
    """A time to plan by, such as an expiry: exact to the minute."""
    exact = clock.to_wire(value)
    return format_html('<time datetime="{}">{} UTC</time>', exact, f"{exact[:10]} {exact[11:16]}")


def time_ago(value: datetime) -> str:
    seconds = (timezone.now() - value).total_seconds()
    for least, one, noun in _SPANS:
        if seconds >= least:
            count = int(seconds // one)
            return f"{count} {noun}{'' if count == 1 else 's'} ago"
    return "just now"


@register.simple_tag
def short_id(wire_id: str) -> SafeString:
    """An id by its kind and its last digits; in full on hover, and to copy."""
    prefix, _, digits = wire_id.rpartition("_")
    shown = f"{prefix}_…{digits[-ID_DIGITS_SHOWN:]}"
    return format_html('<code title="{}" data-copy="{}">{}</code>', wire_id, wire_id, shown)


@register.simple_tag
def short_digest(digest: str) -> SafeString:
    shown = digest[:DIGEST_DIGITS_SHOWN]
    return format_html('<code title="{}" data-copy="{}">{}…</code>', digest, digest, shown)


@register.simple_tag
def writer(wire_id: str, names: Mapping[str, str]) -> SafeString:
    """An actor by name, with the id on hover; by its id when it has no name."""
    if wire_id not in names:
        return short_id(wire_id)
    kind = _KINDS.get(wire_id.partition("_")[0], "")
    return format_html('{}<bdi title="{}">{}</bdi>', kind, wire_id, visible(names[wire_id]))


@register.simple_tag
def actor_name(wire_id: str, names: Mapping[str, str]) -> str:
    """The same where there can be no markup."""
    return spelled(names.get(wire_id, wire_id))


@register.filter
def size(size_bytes: int) -> str:
    return filesizeformat(size_bytes).replace("\xa0", " ")


@register.simple_tag
def took(began: datetime, ended: datetime | None) -> str:
    """In milliseconds; empty for what took none, or has not ended."""
    milliseconds = round((ended - began).total_seconds() * 1000) if ended else 0
    return f"{milliseconds:,} ms" if milliseconds > 0 else ""


@register.filter
def is_text(value: Any) -> bool:
    return isinstance(value, str)


@register.filter
def is_object(value: Any) -> bool:
    """Or a list: what JSON writes over several lines."""
    return isinstance(value, dict | list)


@register.filter(name="pairs")
def as_pairs(value: Any) -> list[tuple[str, Any]] | None:
    """Of an object: in a template `.items` would be its key of that name. None for what is neither an object nor null."""
    if value is None:
        return []
    return list(value.items()) if isinstance(value, dict) else None


@register.filter(name="json_text")
def as_json_text(value: Any) -> str:
    return json_text(value)


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    return chosen_theme(context["request"])


@register.simple_tag(takes_context=True)
def may(context: Context, operation: str) -> bool:
    """Whether the person's role here allows an operation: what it does not allow is not offered."""
    return bool(context["request"].place.may(operation))


@register.simple_tag(takes_context=True)
def waits_in(context: Context, room: Room) -> str:
    """How many things wait in a room; empty when none do."""
    place = context["request"].place
    count = room.count(replace(place.actor, environment_id=place.environment.id)) if room.count else 0
    return "" if not count else str(count) if count < WAITING_COUNTED_MAX else f"{WAITING_COUNTED_MAX - 1}+"


@register.simple_tag(takes_context=True)
def here(context: Context, url_name: str, **ids_of: Any) -> str:
    """The URL of a page of the same project and environment."""
    return str(context["request"].place.url(url_name, **ids_of))


@register.simple_tag
def percent(done: int, of: int) -> str:
    """Rounded down: what is not done is not 100 %."""
    return f"{100 * done // of} %"


@register.simple_tag
def growth(change_bytes: int | None) -> str:
    """By how much a text grew; a true minus, so that it is read as one."""
    if change_bytes is None:
        return "size change no longer known"
    if change_bytes == 0:
        return "same size"
    return f"{'+' if change_bytes > 0 else '−'}{size(abs(change_bytes))}"

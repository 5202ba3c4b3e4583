"""Template tags of records."""

from django import template
from django.utils.html import format_html

from providers.contract import EffectClass
from providers.record_pages import CLASS_WORDS, STATE_STYLES, STATE_WORDS, TOOL_WORDS

register = template.Library()


@register.simple_tag
def effect_badge(state: str) -> str:
    """The state of a write, in a word."""
    return format_html('<span class="badge {}">{}</span>', STATE_STYLES[state], STATE_WORDS[state])


@register.filter
def tool_words(tool: str) -> str:
    return TOOL_WORDS[tool]


@register.filter
def class_words(effect_class: EffectClass) -> str:
    """What happens to a write that may have happened."""
    return CLASS_WORDS[effect_class]


@register.filter
def places_away(away: int) -> str:
    """Of a record in a thread: how far before or after another it stands."""
    side = "before" if away < 0 else "after"
    return f"just {side} it" if abs(away) == 1 else f"{abs(away)} places {side} it"

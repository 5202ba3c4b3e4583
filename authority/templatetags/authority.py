"""Template tags of reviewed memory."""

from django import template
from django.utils.html import format_html

from authority.review_pages import STATE_STYLES, STATE_WORDS

register = template.Library()


@register.simple_tag
def state_badge(state: str) -> str:
    """The state of a nomination, in a word."""
    return format_html('<span class="badge {}">{}</span>', STATE_STYLES.get(state, ""), STATE_WORDS[state])

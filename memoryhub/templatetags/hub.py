"""Template tags of the console."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryhub.docs_pages import DocsPage

register = template.Library()


@register.simple_tag
def docs_html(page: DocsPage) -> SafeString:
    """The HTML of a page of the product's own documentation: sanitised when it was read, never made from user text."""
    return format_html("{}", SafeString(page.html))

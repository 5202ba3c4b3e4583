"""Markdown to HTML. Raw HTML in a text is shown as text, and what comes out is sanitised.

Two kinds of text: the product's own documentation, and whatever an agent wrote, which is trusted with nothing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

_TAGS = {
    *("a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "strong", "ul"),
    *("h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"),
}
_TAG = re.compile(r"(<[^>]*>)")
HEADING_LEVEL_MAX = 6
_SCROLLABLE = {
    "<pre>": '<pre tabindex="0">',
    "<table>": '<div class="wide" tabindex="0"><table>',
    "</table>": "</table></div>",
}


def make_scrollable(html: str) -> str:
    """Sanitised HTML, with what may be wider than the page in reach of the keyboard. In its texts `<` is escaped."""
    for plain, scrolling in _SCROLLABLE.items():
        html = html.replace(plain, scrolling)
    return html


def make_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _name_image(tokens: Sequence[Token], index: int, *_: Any) -> str:
    """An image is fetched from somewhere, so it is only named."""
    return f"[image: {escapeHtml(tokens[index].content)}]"


def _make_foreign_parser() -> MarkdownIt:
    parser = make_parser()
    parser.renderer.rules["image"] = _name_image  # type: ignore[attr-defined]
    return parser


_FOREIGN = _make_foreign_parser()


def render_foreign(text: str, *, write_text: Callable[[str], str]) -> str:
    """The HTML of a text that nobody vouches for, to stand below a page's own heading.

    No picture, no id, no class, no style, no address of this hub. `write_text`: what becomes of the (escaped) texts
    between the tags.
    """
    tokens = _FOREIGN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, HEADING_LEVEL_MAX)}"
    html = nh3.clean(
        _FOREIGN.renderer.render(tokens, _FOREIGN.options, {}),
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener nofollow ugc",
    )
    pieces = enumerate(_TAG.split(html))
    return make_scrollable("".join(piece if index % 2 else write_text(piece) for index, piece in pieces))

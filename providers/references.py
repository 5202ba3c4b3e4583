"""How a model is shown what was recalled: as references that say they are untrusted, and whose text cannot end them. Pure.

Source: contract of the memory provider, section 7.
"""

import html
from collections.abc import Iterable
from typing import Any


def render_reference(id_: str, text: str) -> str:
    shown, named = _escape(text), _escape(id_)
    return f'<reference source="memory" id="{named}" untrusted="true">\n{shown}\n</reference>'


def render_references(items: Iterable[tuple[str, str]]) -> str:
    """Of pairs of an id and a text."""
    return "\n".join(render_reference(id_, text) for id_, text in items)


def item_wire(id_: str, version: str, text: str) -> dict[str, Any]:
    """What is put into the conversation, as it is kept: the text is as it was written."""
    return {
        "source": "memory",
        "trust": "untrusted_reference",
        "origin": {"id": id_, "version": version},
        "text": text,
    }


def _escape(text: str) -> str:
    return html.escape(text, quote=True).replace("&#x27;", "&#39;")

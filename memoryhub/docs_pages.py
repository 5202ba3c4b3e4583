"""The documentation, served by the product: the Markdown of docs/, and a reference made from the OpenAPI document."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import nh3
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from markdown_it.token import Token

from memoryhub import openapi
from memoryhub.markdown import make_parser, make_scrollable

# The order of the contents page; what is not named here follows by title.
FIRST_PAGES = (
    "quickstart",
    "concepts",
    "api",
    "sdk",
    "console",
    "keys-and-people",
    "mcp",
    "files",
    "history",
    "search",
    "declared-memory",
    "documents",
    "sessions",
    "workers",
    "http-memory",
    "endpoints",
    "records",
    "session-records",
    "imports",
    "embeddings",
    "adapters",
    "authority",
    "webhooks",
    "client",
    "redaction",
    "archives",
    "errors",
    "permissions",
    "settings",
    "operations",
    "benchmarks",
    "promises",
    "decisions",
)
_LINK_TO_PAGE = re.compile(r'href="(?:\./)?([a-z-]+)\.md(#[^"]*)?"')
_SENTENCE = re.compile(r".+?[.?!](?=\s|$)")
_HEADINGS = ("h2", "h3")
_ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, **{tag: {"id"} for tag in _HEADINGS}}
_MARKDOWN = make_parser()


@dataclass(frozen=True, slots=True)
class DocsPage:
    """`opening`: the first sentence of the text, without markup."""

    name: str
    title: str
    opening: str
    html: str


@cache
def pages() -> dict[str, DocsPage]:
    """Every page by name, in reading order."""
    found = {path.stem: _read(path) for path in sorted((Path(settings.BASE_DIR) / "docs").glob("*.md"))}
    places = {name: place for place, name in enumerate(FIRST_PAGES)}
    order = sorted(found, key=lambda name: (places.get(name, len(places)), found[name].title))
    return {name: found[name] for name in order}


def _read(path: Path) -> DocsPage:
    text = path.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ").strip()
    return DocsPage(path.stem, title, read_opening(text), render_markdown(text))


def render_markdown(text: str) -> str:
    """Sanitised HTML, its headings with ids to link to; raw HTML in the text is shown as text."""
    tokens = _MARKDOWN.parse(text)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.tag in _HEADINGS:
            token.attrSet("id", slugify(_plain(inner)))
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    html = nh3.clean(html, attributes=_ATTRIBUTES, link_rel="noopener noreferrer")
    return _LINK_TO_PAGE.sub(r'href="/docs/\1\2"', make_scrollable(html))


def read_opening(text: str) -> str:
    """The first sentence of the first paragraph; empty when there is none."""
    for token, inner in pairwise(_MARKDOWN.parse(text)):
        if token.type == "paragraph_open":
            sentence = _SENTENCE.match(_plain(inner))
            return sentence[0] if sentence else ""
    return ""


def _plain(inline: Token) -> str:
    """The text of a paragraph or a heading, without its markup."""
    return "".join(" " if token.type == "softbreak" else token.content for token in inline.children or [])


@require_safe
def contents(request: HttpRequest) -> HttpResponse:
    return render(request, "memoryhub/docs.html", {"pages": pages().values(), "page": None})


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    shown = pages().get(name)
    if shown is None:
        raise Http404(name)
    return render(request, "memoryhub/docs.html", {"pages": pages().values(), "page": shown})


@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "memoryhub/reference.html",
        {"pages": pages().values(), "tags": _operations_by_tag(), "shapes": _shapes()},
    )


@cache
def _operations_by_tag() -> list[dict[str, Any]]:
    """`[{"name", "operations": [{"method", "path", "summary", "description", "parameters", "body", "answer"}]}]`."""
    document = openapi.document()
    tags: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append(_operation(document, path, method, operation))
    return [{"name": tag, "operations": operations} for tag, operations in tags.items()]


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    success = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "description": operation["description"],
        "parameters": [_parameter(parameter) for parameter in operation.get("parameters", [])],
        "body": _fields(document, operation.get("requestBody")),
        "answer": _fields(document, success),
    }


@cache
def _shapes() -> list[dict[str, Any]]:
    """The named shapes: `[{"name", "kind", "fields"}]`; one that is no object has a kind and no fields."""
    schemas = openapi.document()["components"]["schemas"]
    return [
        {"name": name, "kind": describe_schema(schema), "fields": _properties(schema)}
        for name, schema in schemas.items()
    ]


def _parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    kind = describe_schema(parameter["schema"])
    return {
        "name": parameter["name"],
        "in": parameter["in"],
        "kind": kind,
        "required": parameter.get("required", False),
    }


def _fields(document: dict[str, Any], holder: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The fields of a JSON body or answer: `[{"name", "kind", "required"}]`."""
    schema = (holder or {}).get("content", {}).get("application/json", {}).get("schema", {})
    return _properties(_resolve(document, schema))


def _properties(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "kind": describe_schema(inner),
            "shape": _shape_of(inner),
            "required": name in required,
        }
        for name, inner in schema.get("properties", {}).items()
    ]


def _shape_of(schema: dict[str, Any]) -> str | None:
    """The named shape that a field holds, itself or in a list."""
    first = schema.get("anyOf", [schema])[0]
    reference = first.get("$ref") or first.get("items", {}).get("$ref")
    return reference.rpartition("/")[2] if reference else None


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return document["components"]["schemas"][reference.rpartition("/")[2]] if reference else schema


def describe_schema(schema: dict[str, Any]) -> str:
    """A schema in a few words, such as `integer, 1 to 100`."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return " | ".join(describe_schema(inner) for inner in schema[word] if inner != {"const": ""})
    kind = schema.get("type", "value")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array":
        words = f"list of {describe_schema(schema['items'])}"
    if "minimum" in schema and "maximum" in schema:
        words += f", {schema['minimum']} to {schema['maximum']}"
    if "maxLength" in schema:
        words += f", at most {schema['maxLength']} characters"
    return words

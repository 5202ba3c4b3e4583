"""The YAML in front of a Markdown note, read as texts: no types, no aliases, little nesting.

Source: YAML 1.2 with the failsafe schema; the fences of Jekyll's frontmatter.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from providers.record_sources.items import read_moment

FRONTMATTER_LENGTH_MAX = 16_384
NESTING_MAX = 8
_FENCED = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSES = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class FrontmatterError(ValueError):
    """The message says what is wrong, without quoting."""


@dataclass(frozen=True, slots=True)
class Note:
    """`lines_before`: how many lines of the file stand before `text`."""

    facts: dict[str, Any]
    text: str
    lines_before: int = 0

    def text_of(self, name: str) -> str | None:
        """A fact that is one text, and is not empty."""
        value = self.facts.get(name)
        return value if isinstance(value, str) and value else None

    @property
    def tags(self) -> list[str]:
        """A list of texts, or texts between commas."""
        given = self.facts.get("tags") or []
        listed = given.split(",") if isinstance(given, str) else given
        named = [one.strip().removeprefix("#") for one in listed if isinstance(one, str)]
        return list(dict.fromkeys(filter(None, named)))

    @property
    def occurred_at(self) -> datetime | None:
        """What a note says of its day in one of the usual fields, if that is a time."""
        for name in ("created", "date"):
            try:
                moment = read_moment(self.text_of(name))
            except ValueError:
                continue
            if moment is not None:
                return moment
        return None


def read_note(text: str) -> Note:
    """Raises: FrontmatterError."""
    fenced = _FENCED.match(text)
    if fenced is None:
        return Note({}, text)
    facts = _read_yaml(fenced[1])
    return Note(facts, text[fenced.end() :], text[: fenced.end()].count("\n"))


def _read_yaml(text: str) -> dict[str, Any]:
    if len(text) > FRONTMATTER_LENGTH_MAX:
        raise FrontmatterError(f"it has more than {FRONTMATTER_LENGTH_MAX} characters")
    try:
        _check_events(text)
        facts = yaml.BaseLoader(text).get_single_data()
    except yaml.YAMLError as error:
        raise FrontmatterError("it is no YAML") from error
    if not isinstance(facts, dict | None):
        raise FrontmatterError("it is no list of names and values")
    return {name: value for name, value in (facts or {}).items() if isinstance(name, str)}


def _check_events(text: str) -> None:
    """Before anything is made of them: what refers to another place, or nests, would grow. Raises: FrontmatterError, YAMLError."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        depth += isinstance(event, _OPENS) - isinstance(event, _CLOSES)
        if isinstance(event, yaml.AliasEvent) or depth > NESTING_MAX:
            raise FrontmatterError("it refers to itself, or nests too deep")

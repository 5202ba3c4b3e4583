"""What notices there are: the ground floor and each room register theirs at the start.

A notice says that something happened and to which thing, so that its receiver can ask for the thing. It carries ids,
names of states and counts, each declared here by name; a value that could be somebody's text is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

type Fact = str | int | bool | None
type Topic = Literal["nominations", "needs_person"]

EVERY_TYPE = "*"
TOPICS: dict[str, str] = {
    "nominations": "Nominations wait for a reviewer",
    "needs_person": "Something needs a person",
}
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NoticeType:
    """`sentence`: what happened. `counted`: the same of several, before their number. `facts`: their names, each explained.

    `topic`: for whom it is by e-mail, None for nobody. `url_name`: the page on which a person settles it, of an environment;
    who may not do `operation` is sent none.
    """

    name: str
    sentence: str
    counted: str
    facts: Mapping[str, str]
    topic: Topic | None = None
    url_name: str = "overview"
    operation: str = "environments.get"


_types: dict[str, NoticeType] = {}


def register_notice_types(types: tuple[NoticeType, ...]) -> None:
    _types.update({one.name: one for one in types})


def list_notice_types() -> list[NoticeType]:
    """By name."""
    return sorted(_types.values(), key=lambda one: one.name)


def find_notice_type(name: str) -> NoticeType | None:
    """None for one of another version of the hub."""
    return _types.get(name)


def require_facts(name: str, facts: Mapping[str, Fact]) -> None:
    """Of a registered type, exactly the facts it declares, and no value that could be a text."""
    assert name in _types, name
    assert facts.keys() == _types[name].facts.keys(), (name, sorted(facts))
    texts = [value for value in facts.values() if isinstance(value, str)]
    assert all(_PLAIN.fullmatch(text) for text in texts), name


GROUND_TYPES = (
    NoticeType(
        "webhook.test",
        "Somebody asked for a test of the webhook; it goes to that webhook alone.",
        "Tests of a webhook",
        {"webhook_id": "the webhook"},
    ),
    NoticeType(
        "webhook.disabled",
        "The hub has disabled a webhook: its receiver is gone, or failed for too long.",
        "Webhooks that the hub has disabled",
        {"webhook_id": "the webhook", "reason": "`gone` or `failing`"},
        topic="needs_person",
        url_name="webhooks",
        operation="webhooks.list",
    ),
)

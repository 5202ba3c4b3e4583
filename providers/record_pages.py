"""What the pages of records share."""

from dataclasses import replace
from typing import Any

from memoryhub.actors import Actor
from memoryhub.pages import PageRequest
from providers.contract import EffectClass
from providers.effect_queue import count_unknown

# (title, name of the URL, operation)
_PAGES = [
    ("Scopes", "records", "records.search"),
    ("Unknown writes", "effects", "record_effects.list"),
    ("Dropped hits", "violations", "record_violations.list"),
]
STATE_WORDS = {
    "begun": "Under way",
    "done": "Done",
    "failed": "Not done",
    "unknown": "Unknown",
    "resolved": "Decided",
}
STATE_STYLES = {
    "begun": "running",
    "done": "done",
    "failed": "failed",
    "unknown": "ending",
    "resolved": "done",
}
TOOL_WORDS = {"save_memory": "Save", "forget_memory": "Forget"}
# What happens to a write that may have happened, by what its provider declares.
CLASS_WORDS: dict[EffectClass, str] = {
    "idempotent": "The provider does the same write once, however often it is sent: the hub sends it again by itself while the provider remembers its key.",
    "guarded": "The provider can be asked whether a write happened: the hub asks, and sends it again where it did not.",
    "unguarded": "The provider cannot tell, and might do it twice: the hub never sends it again by itself.",
    "read_only": "",
}


def room_facts(request: PageRequest, actor: Actor) -> dict[str, Any]:
    """`{"tabs": [{"title", "url"}]}`, of the pages that the person may open."""
    place = request.place
    waiting = count_unknown(replace(actor, environment_id=place.environment.id))
    titles = {"effects": f"Unknown writes ({waiting})" if waiting else "Unknown writes"}
    return {
        "tabs": [
            {"title": titles.get(name, title), "url": place.url(name)}
            for title, name, operation in _PAGES
            if place.may(operation)
        ]
    }

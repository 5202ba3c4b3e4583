"""Events for whoever watches: a sentence on a terminal, a line of JSON for a program. Both go to standard error."""

import json
import sys
import threading
from collections.abc import Callable, Mapping

from stores.mount.reports import Event, Listener

_lock = threading.Lock()


def choose_listener(names: Mapping[str, str], *, as_json: bool) -> Listener:
    """`names`: store id -> what people call it."""
    return json_listener() if as_json or not sys.stderr.isatty() else text_listener(names)


def json_listener(write: Callable[[str], object] | None = None) -> Listener:
    """One object a line: `kind`, `memory_store_id`, `path` when there is one, and the facts."""

    def listen(event: Event) -> None:
        about = {"kind": event.kind, "memory_store_id": event.store_id}
        if event.path is not None:
            about["path"] = event.path
        _write_line(json.dumps({**about, **event.facts}, ensure_ascii=True), write)

    return listen


def text_listener(names: Mapping[str, str], write: Callable[[str], object] | None = None) -> Listener:
    def listen(event: Event) -> None:
        name = names.get(event.store_id, event.store_id)
        words = [event.kind.replace("_", " "), *([event.path] if event.path else [])]
        facts = ", ".join(f"{key} {value}" for key, value in event.facts.items() if key != "digest")
        line = f"memoryhub: {name}: {' '.join(words)}{f' ({facts})' if facts else ''}"
        _write_line(_printable(line), write)

    return listen


def say_line(kind: str, *, as_json: bool, **facts: object) -> None:
    """About the run as a whole."""
    if as_json or not sys.stderr.isatty():
        _write_line(json.dumps({"kind": kind, **facts}), None)
    else:
        shown = ", ".join(f"{key} {value}" for key, value in facts.items())
        _write_line(_printable(f"memoryhub: {kind.replace('_', ' ')}{f': {shown}' if shown else ''}"), None)


def _printable(text: str) -> str:
    """A name of a file can hold what moves a terminal's cursor."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _write_line(line: str, write: Callable[[str], object] | None) -> None:
    with _lock:
        (write or sys.stderr.write)(line + "\n")

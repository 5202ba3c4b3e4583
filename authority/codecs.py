"""Which kinds of records an agent may write, and in which form. Sealed once the hub has started.

A codec takes a value and gives what is kept, or None for what it refuses; a field it does not know can be left out, so
the record's digest is of the codec's output.
"""

from collections.abc import Callable
from typing import Any

from authority.canonical import has_exact_keys, is_code
from authority.limits import KIND_LENGTH_MAX
from memoryhub.digests import sha256_hex

type Codec = Callable[[Any], Any]

_FILE = frozenset({"content", "path", "sha256", "storeId", "versionId"})
_RECORD = frozenset({"agent", "content", "origin", "recordId", "scope", "sha256", "version"})


class Registry:
    def __init__(self) -> None:
        self._codecs: dict[str, Codec] = {}
        self._is_sealed = False

    def register(self, kind: str, codec: Codec) -> None:
        if self._is_sealed:
            raise TypeError("The codec registry is sealed.")
        if not is_code(kind, length_max=KIND_LENGTH_MAX) or kind in self._codecs:
            raise TypeError("Invalid or duplicate codec kind.")
        self._codecs[kind] = codec

    def seal(self) -> None:
        self._is_sealed = True

    def names(self) -> list[str]:
        return sorted(self._codecs)

    def find(self, kind: Any) -> Codec | None:
        return self._codecs.get(kind) if isinstance(kind, str) else None


def parse_object(value: Any) -> Any:
    """Any object, as it is."""
    return value if type(value) is dict else None


def parse_memory(value: Any) -> Any:
    """A file of a memory store, at one version: `{"content", "path", "sha256", "storeId", "versionId"}`; or a record that an agent
    has of a principal: `{"agent", "content", "origin", "recordId", "scope", "sha256", "version"}`.
    """
    if not (has_exact_keys(value, _FILE) or has_exact_keys(value, _RECORD)):
        return None
    if not all(type(inner) is str for inner in value.values()):
        return None
    return value if value["sha256"] == sha256_hex(value["content"]) else None


KINDS = Registry()
for _kind in ("entity", "fact", "note"):
    KINDS.register(_kind, parse_object)
KINDS.register("memory", parse_memory)

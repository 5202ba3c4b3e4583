"""What the history of an archive leaves, and whether the heads that its manifest names are that. Pure."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stores.archives import MANIFEST_NAME, ArchivedHead, ArchivedVersion, archive_refused
from stores.paths import parent_keys


@dataclass(frozen=True, slots=True)
class LiveMemory:
    """A memory as the history leaves it. `begun_at`: of its first version; `is_whole`: which is its creation."""

    begun_at: datetime
    is_whole: bool
    head: ArchivedVersion


@dataclass
class History:
    """What the versions, read in order, add up to. `content_bytes` counts each version's text.

    `writers_after_freeze`: wire ids of who wrote on after a freeze, which agents may not.
    """

    live: dict[UUID, LiveMemory] = field(default_factory=dict)
    versions: int = 0
    redacted: int = 0
    content_bytes: int = 0
    writers_after_freeze: set[str] = field(default_factory=set)


def check_heads(heads: list[ArchivedHead], history: History) -> None:
    """The heads are what the history leaves: all of it, in path order, on free paths, and none redacted."""
    if len(heads) != len(history.live):
        raise archive_refused(
            MANIFEST_NAME, f"The history leaves {len(history.live)} heads, not {len(heads)}."
        )
    keys: list[bytes] = []
    for index, head in enumerate(heads):
        where = f"{MANIFEST_NAME}, heads[{index}]"
        live = history.live.get(head.memory_id)
        if live is None or live.head.id != head.version_id:
            raise archive_refused(where, "It does not point to the newest version of a memory.")
        if live.head.redacted_at is not None:
            raise archive_refused(where, "It points to a redacted version.")
        if live.head.path != head.path:
            raise archive_refused(where, "Its path is not that of its version.")
        if not _fits_creation(head, live):
            raise archive_refused(where, "It was created at another time than its first version says.")
        if keys and head.path.encode() <= keys[-1]:
            raise archive_refused(where, "The heads are not in path order, or two have one path.")
        keys.append(head.path.encode())
    taken = set(keys)
    for index, key in enumerate(keys):
        if not taken.isdisjoint(parent_keys(key)):
            raise archive_refused(f"{MANIFEST_NAME}, heads[{index}]", "Its path lies below another memory's.")


def _fits_creation(head: ArchivedHead, live: LiveMemory) -> bool:
    """Exactly when its first version was, unless that is gone."""
    if head.created_at is None:
        return live.is_whole
    return head.created_at == live.begun_at if live.is_whole else head.created_at <= live.begun_at

"""A version and what has become of its memory since: what may be done with it depends on both."""

from dataclasses import dataclass

from memoryhub.actors import Actor
from memoryhub.rows import find_row
from stores.memories import memories_of
from stores.memory_stores import get_store
from stores.memory_versions import get_version_of, versions_of
from stores.models import Memory, MemoryStore, MemoryVersion
from stores.word_diffs import WordDifference, diff_words


@dataclass(frozen=True, slots=True)
class Standing:
    """`memory` None: it is deleted. Its `head` holds the current text."""

    store: MemoryStore
    version: MemoryVersion
    memory: Memory | None

    @property
    def is_head(self) -> bool:
        return self.memory is not None and self.memory.head_id == self.version.id

    @property
    def has_text(self) -> bool:
        return self.version.content is not None

    @property
    def is_as_now(self) -> bool:
        """Whether the memory has this version's text and path, so that to restore it changes nothing."""
        return self.memory is not None and (self.memory.path, self.memory.content_sha256) == (
            self.version.path,
            self.version.content_sha256,
        )

    @property
    def can_be_restored(self) -> bool:
        return self.has_text and not self.is_as_now and self.store.archived_at is None

    @property
    def can_be_redacted(self) -> bool:
        return self.version.redacted_at is None and not self.is_head

    @property
    def is_move(self) -> bool:
        return self.memory is not None and self.memory.path != self.version.path

    def difference(self) -> WordDifference:
        """From the text as it is now to that of the version."""
        now = "" if self.memory is None else self.memory.head.content or ""
        return diff_words(now, self.version.content or "")


def get_standing(store_id: str, version_id: str, *, actor: Actor) -> Standing:
    """Raises: NotFound."""
    store = get_store(store_id, actor=actor)
    version = get_version_of(versions_of(store, with_content=True), version_id)
    memory = find_row(memories_of(store, with_content=True).filter(id=version.memory_id))
    return Standing(store, version, memory)

"""What became of a text while somebody was typing: what stands now, and what each side changed since both saw the same."""

from dataclasses import dataclass

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pagination import ListRequest
from stores.memory_stores import get_store
from stores.memory_versions import get_version, list_versions
from stores.merges import Merge, merge_texts
from stores.models import MemoryVersion
from stores.word_diffs import WordDifference, diff_words


@dataclass(frozen=True, slots=True)
class ThreeWay:
    """`newest`: what stands now, or the record of the deletion. `base`: the version typing began with.

    `theirs`, `mine`: the difference from the base to what stands and to what was typed; without a text of the base
    (`theirs` None) `mine` is that from what stands. `merge` None: there are no three texts to put together.
    """

    newest: MemoryVersion
    base: MemoryVersion
    theirs: WordDifference | None
    mine: WordDifference
    merge: Merge | None

    @property
    def is_deleted(self) -> bool:
        return self.newest.operation == "deleted"

    @property
    def is_moved(self) -> bool:
        return None not in (self.base.path, self.newest.path) and self.base.path != self.newest.path


def get_base(store_id: str, memory_id: str, version_id: str, *, actor: Actor) -> MemoryVersion:
    """The version of this memory that a form names, with its text. Raises: NotFound.

    One that was removed since, because it was old, has no text: what was typed is compared with what stands.
    """
    try:
        base = get_version(store_id, version_id, with_content=True, actor=actor)
    except NotFound:
        return _removed_base(store_id, memory_id, version_id, actor)
    if base.memory_wire_id != memory_id:
        raise NotFound("memory version")
    return base


def _removed_base(store_id: str, memory_id: str, version_id: str, actor: Actor) -> MemoryVersion:
    """Raises: NotFound where nothing was removed."""
    store, key = get_store(store_id, actor=actor), ids.from_wire(ids.MEMORY_VERSION, version_id)
    if store.history_from is None or key is None:
        raise NotFound("memory version")
    newest = get_newest(store_id, memory_id, actor=actor)
    return MemoryVersion(
        id=key,
        project_id=store.project_id,
        store_id=store.id,
        memory_id=newest.memory_id,
        operation="modified",
        created_at=store.history_from,
        created_by_type=newest.created_by_type,
        created_by_id=newest.created_by_id,
    )


def get_newest(store_id: str, memory_id: str, *, actor: Actor) -> MemoryVersion:
    """The last version of a memory, which records its deletion when it is deleted. Raises: NotFound."""
    last = ListRequest("newest", {"memory": memory_id}, 1, None)
    found = list_versions(
        store_id, last, memory_id=memory_id, created_by={}, with_content=True, actor=actor
    ).rows
    if not found:
        raise NotFound("memory")
    return found[0]


def compare(base: MemoryVersion, newest: MemoryVersion, typed: str) -> ThreeWay:
    if newest.content is None:
        return ThreeWay(newest, base, None, diff_words(base.content or "", typed), None)
    if base.content is None:
        return ThreeWay(newest, base, None, diff_words(newest.content, typed), None)
    return ThreeWay(
        newest,
        base,
        theirs=diff_words(base.content, newest.content),
        mine=diff_words(base.content, typed),
        merge=merge_texts(base.content, typed, newest.content),
    )

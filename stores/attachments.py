"""Stores that a session mounts: attached when it begins, listed as they were then, held until it is deleted.

Source: contract stores, sections 3.5, 6 and 7.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models.query import QuerySet

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.digests import canonical_json
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.models import Session
from stores.limits import STORES_PER_SESSION_MAX
from stores.memory_stores import get_store, share_store
from stores.models import Attachment, MemoryStore

MOUNTS_ROOT = "/mnt/memory"
SLUG_BYTES_MAX = 255  # contract: 3.5
_NOT_PLAIN = re.compile(r"[^a-z0-9]+", re.ASCII)
_SLUG_ID_DIGITS = 8

type FindStore = Callable[[str, Actor], MemoryStore]


@dataclass(frozen=True, slots=True)
class WantedStore:
    store_id: str
    access: str
    instructions: str | None


def slug_of(store: MemoryStore) -> str:
    """The name of a store's directory."""
    slug = _NOT_PLAIN.sub("-", store.name.lower()).strip("-")
    return slug[:SLUG_BYTES_MAX].rstrip("-") or f"store-{store.wire_id[-_SLUG_ID_DIGITS:].lower()}"


def attach_stores(session: Session, wanted: Sequence[WantedStore], *, actor: Actor) -> list[Attachment]:
    """A step, in the transaction that makes the session: nobody archives or deletes the stores before it ends.

    Raises: InvalidRequest, also for a store that the actor may not see or that is in another environment.
    """
    return Attachment.objects.bulk_create(_draft(session, wanted, share_store, actor))


def draft_attachments(session: Session, wanted: Sequence[WantedStore], *, actor: Actor) -> list[Attachment]:
    """The same, neither saved nor holding the stores. Raises: InvalidRequest."""
    return _draft(session, wanted, _look_at, actor)


def _look_at(store_id: str, actor: Actor) -> MemoryStore:
    return get_store(store_id, actor=actor)


def _draft(
    session: Session, wanted: Sequence[WantedStore], find: FindStore, actor: Actor
) -> list[Attachment]:
    if len(wanted) > STORES_PER_SESSION_MAX:
        raise InvalidRequest(
            f"resources: {len(wanted)} stores are named; a session has at most {STORES_PER_SESSION_MAX}."
        )
    held = {
        one.store_id: _find(session, one.store_id, find, actor)
        for one in sorted(wanted, key=lambda one: one.store_id)
    }
    attached: list[Attachment] = []
    for position, one in enumerate(wanted):
        attachment = _attachment(session, held[one.store_id], one, position)
        _require_apart(attachment, attached)
        attached.append(attachment)
    return attached


def _find(session: Session, store_id: str, find: FindStore, actor: Actor) -> MemoryStore:
    try:
        store = find(store_id, actor)
    except NotFound as error:
        raise _unknown() from error
    if store.environment_id != session.environment_id:
        raise _unknown()
    if store.archived_at is not None:
        raise InvalidRequest(
            f"resources: The memory store {store_id} is archived.", error_code="memory_store_archived"
        )
    return store


def _unknown() -> InvalidRequest:
    """Without the id: the answer is the same for a foreign store as for none."""
    return InvalidRequest("resources: There is no such memory store in this environment.")


def _attachment(session: Session, store: MemoryStore, wanted: WantedStore, position: int) -> Attachment:
    return Attachment(
        project_id=session.project_id,
        session=session,
        store=store,
        position=position,
        access=wanted.access,
        name=store.name,
        description=store.description,
        instructions=wanted.instructions,
        mount_path=f"{MOUNTS_ROOT}/{slug_of(store)}",
    )


def _require_apart(attachment: Attachment, others: Sequence[Attachment]) -> None:
    for other in others:
        if other.store_id == attachment.store_id:
            raise InvalidRequest(f"resources: The memory store {attachment.store.wire_id} is named twice.")
        if other.mount_path == attachment.mount_path:
            raise InvalidRequest(
                f"resources: {other.name} and {attachment.name} would both be mounted at {other.mount_path};"
                " rename one of them.",
                error_code="memory_store_slug_taken",
            )


def list_attachments(session: Session) -> list[Attachment]:
    """In the order in which they were named."""
    return list(Attachment.objects.filter(session_id=session.id).order_by("position"))


def attachment_facts(attachment: Attachment) -> dict[str, str | None]:
    """As the session's `resources` show it."""
    return {
        "type": "memory_store",
        "memory_store_id": ids.to_wire(ids.MEMORY_STORE, attachment.store_id),
        "access": attachment.access,
        "name": attachment.name,
        "description": attachment.description,
        "instructions": attachment.instructions,
        "mount_path": attachment.mount_path,
    }


# Spelled out in a line, so that no text can end the block or begin another line: "<", and what some take for a line end.
_STRUCTURE = re.compile("[<\x7f-\x9f\u2028\u2029]")
_OPENING = (
    "Directories of plain files that outlive this session. Look here before you start, and keep files small and named"
    " after one topic. What you write below a read_write mount_path is saved. A read_only one refuses write and edit."
    " Other paths below /mnt/memory are not saved."
)


def system_context(attachments: Sequence[Attachment]) -> str | None:
    """What an agent is told of its mounts; None without any. Each is one line of JSON, which no text can leave."""
    if not attachments:
        return None
    lines = [_context_line(attachment) for attachment in attachments]
    return "\n".join(["<memory_stores>", _OPENING, *lines, "</memory_stores>"])


def _context_line(attachment: Attachment) -> str:
    facts = {key: value for key, value in attachment_facts(attachment).items() if value is not None}
    del facts["type"]
    return _STRUCTURE.sub(lambda found: f"\\u{ord(found[0]):04x}", canonical_json(facts).decode())


def find_holders(store: MemoryStore) -> QuerySet[Attachment, UUID]:
    """The ids of the sessions that hold a store."""
    return Attachment.objects.filter(store_id=store.id).values_list("session_id", flat=True)

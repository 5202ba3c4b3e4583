"""A space at one of its heads as the archive of a store: each record a file, which an import makes a memory of.

The archive of a head is the same bytes each time, wherever it is made: ids come from the digests of the binding and the
record, times from the operations.
"""

from datetime import datetime
from typing import IO
from uuid import UUID

from authority.canonical import load
from authority.graph import Head, HeadReference, Wire
from authority.models import Operation, Space
from authority.space_history import head_at, reading, versions_at
from authority.spaces import get_space
from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.file_archives import PlainFile, PlainStore, write_file_archive
from memoryhub.strict_json import json_text

NAME_LENGTH_MAX = 255


def export_space(
    space_id: str, reference: HeadReference | None, out: IO[bytes], *, actor: Actor
) -> tuple[Head, str]:
    """(the head, the SHA-256 of the archive's manifest). `reference` None: the current head.

    Raises: NotFound, ConflictError, PurgedSpaceError; InvalidRequest, RequestTooLarge for what no store takes.
    """
    key = get_space(space_id, actor=actor).id
    with reading(key) as space:
        head = head_at(space, reference)
        rows = list(versions_at(key, head.sequence).values_list("body", "from_sequence"))
        written = {sequence for _, sequence in rows} | {head.sequence}
        operations = Operation.objects.filter(space=space, sequence__in=written)
        signed = {
            sequence: (datetime.fromisoformat(instant), actor_id)
            for sequence, instant, actor_id in operations.values_list("sequence", "instant", "actor_id")
        }
    files = [_file_of(space, load(body), *signed[sequence]) for body, sequence in rows]
    made_at = signed[head.sequence][0] if head.sequence else space.created_at
    return head, write_file_archive(_store_of(space, head, made_at), files, out)


def _store_of(space: Space, head: Head, made_at: datetime) -> PlainStore:
    return PlainStore(
        id=_id_of(space.binding_sha256, str(head.sequence)),
        name=f"{space.authority_id} at {head.sequence}"[:NAME_LENGTH_MAX],
        description=f"The records of the space {space.space_id} after its operation {head.sequence}.",
        metadata={
            "binding_sha256": space.binding_sha256,
            "operation_sha256": head.operation_sha256 or "",
            "records_sha256": head.records_sha256,
            "sequence": str(head.sequence),
        },
        created_at=made_at,
    )


def _file_of(space: Space, record: Wire, created_at: datetime, actor_id: str) -> PlainFile:
    path, content = path_and_text(record)
    return PlainFile(
        memory_id=_id_of(space.binding_sha256, record["key"]),
        version_id=_id_of(space.binding_sha256, record["key"], record["recordSha256"]),
        path=path,
        content=content,
        created_at=created_at,
        created_by_type="service_account_actor",
        created_by_id=ids.to_wire(ids.SERVICE_ACCOUNT, _id_of(space.binding_sha256, actor_id)),
    )


def path_and_text(record: Wire) -> tuple[str, str]:
    """`/KIND/KEY.json` with the whole record; of a file of a store its own text, at `/memory/KEY/text.md`.

    A slash within a name is a percent sign, which no name has; so no two records have one path.
    """
    kind, key = (record[name].replace("/", "%") for name in ("kind", "key"))
    if kind == "memory":
        return f"/memory/{key}/text.md", record["value"]["content"]
    return f"/{kind}/{key}.json", json_text(record) + "\n"


def _id_of(*parts: str) -> UUID:
    """An id that is made of texts alone, in the form of those that a hub gives out."""
    digits = int(sha256_hex("\n".join(parts))[:32], 16)
    return UUID(int=digits & ~(0xF << 76) & ~(0b11 << 62) | (0x7 << 76) | (0b10 << 62))

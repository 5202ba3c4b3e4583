"""The current files of a store as a ZIP, for people: without history, and not to be imported."""

import json
import zipfile
from dataclasses import dataclass
from typing import IO, Any

from django.db.models import Count, Sum

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.progress import Progress
from memoryhub.snapshots import snapshot
from memoryhub.spools import disk_room
from stores.disk_names import RENAMED_FOLDER, disk_names
from stores.exports import EXPORT_STATEMENT_SECONDS_MAX
from stores.memory_stores import get_store
from stores.models import Memory, MemoryStore

NAMES_FILE = f"{RENAMED_FOLDER}/names.json"
CHUNK_ROWS = 50
_MODE = 0o100644 << 16  # a plain file, which its owner writes


@dataclass(frozen=True, slots=True)
class StoreZip:
    memories: int
    size_bytes: int


def zip_files(
    store_id: str, out: IO[bytes], *, bytes_max: int | None, progress: Progress, actor: Actor
) -> StoreZip:
    """Write one moment of the store. Where a name on disk is not the path of the memory, names.json tells its path.

    Raises: NotFound; InvalidRequest for texts of more than `bytes_max`, before anything is written.
    """
    with snapshot(statement_seconds_max=EXPORT_STATEMENT_SECONDS_MAX), disk_room():
        store = get_store(store_id, actor=actor)
        count = _count(store, bytes_max)
        progress.require()
        progress.expect(count)
        files = Memory.objects.filter(store_id=store.id).order_by("path_key")
        names = disk_names(files.values_list("path", flat=True))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            rows = files.values_list("path", "head__content", "head__created_at")
            for path, content, written_at in rows.iterator(chunk_size=CHUNK_ROWS):
                _add(made, names[path], (content or "").encode(), written_at)
                progress.advance()
            renamed = {name: path for path, name in names.items() if f"/{name}" != path}
            if renamed:
                told = json.dumps(renamed, ensure_ascii=False, indent=2).encode()
                _add(made, NAMES_FILE, told, store.created_at)
        return StoreZip(count, out.tell())


def _count(store: MemoryStore, bytes_max: int | None) -> int:
    found = Memory.objects.filter(store_id=store.id).aggregate(
        count=Count("*"), size=Sum("head__content_size_bytes")
    )
    if bytes_max is not None and (found["size"] or 0) > bytes_max:
        raise InvalidRequest(
            f"The files have {found['size']} bytes, more than the {bytes_max} of a download.",
            error_code="archive_too_large",
        )
    return int(found["count"])


def _add(made: zipfile.ZipFile, name: str, content: bytes, written_at: Any) -> None:
    member = zipfile.ZipInfo(name, written_at.timetuple()[:6])
    member.external_attr = _MODE
    member.compress_type = zipfile.ZIP_DEFLATED
    made.writestr(member, content)

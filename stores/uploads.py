"""Files of a person's machine as memories: each is written by itself, and each tells what became of it."""

import unicodedata
from dataclasses import dataclass
from typing import IO, Literal

from memoryhub import strict_json
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.errors import HubError, InvalidRequest, MemoryPreconditionFailed, NotFound, RequestTooLarge
from stores.files import FilePrecondition, get_file, put_file
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory
from stores.paths import check_path

UPLOAD_FILES_MAX = 50
# Each file at its limit, and what a form adds to each.
UPLOAD_BYTES_MAX = UPLOAD_FILES_MAX * (MEMORY_CONTENT_BYTES_MAX + 4_096)

type Outcome = Literal["created", "updated", "unchanged", "refused"]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """`memory` None: refused, for the reason in `sentence`."""

    path: str
    outcome: Outcome
    sentence: str
    memory: Memory | None


def upload_file(
    store_id: str, directory: str, name: str, file: IO[bytes], *, replaces: bool, actor: Actor
) -> Uploaded:
    """Write one file below a directory, which ends with `/`. `replaces`: a memory that is there already, too.

    A name is brought to the form that paths have: some systems give an accent as a letter of its own.
    Raises: NotFound for the store; every other refusal is told in what comes back.
    """
    path = directory + unicodedata.normalize("NFC", name)
    try:
        check_path(path)
        return _write(store_id, path, _read(file), replaces=replaces, actor=actor)
    except NotFound:
        raise
    except HubError as error:
        return Uploaded(path, "refused", _sentence(error), None)


def _sentence(error: HubError) -> str:
    said = error.message.partition(": ")[2] or error.message
    return said[:1].upper() + said[1:].rstrip(".") + "."


def _read(file: IO[bytes]) -> str:
    """Raises: RequestTooLarge, InvalidRequest."""
    raw = file.read(MEMORY_CONTENT_BYTES_MAX + 1)
    if len(raw) > MEMORY_CONTENT_BYTES_MAX:
        raise RequestTooLarge(
            f"The file is too large; a memory holds at most {MEMORY_CONTENT_BYTES_MAX:,} bytes.",
            error_code="memory_content_too_large",
        )
    try:
        content = raw.decode()
        strict_json.check_text(content)
    except (UnicodeDecodeError, strict_json.StrictJSONError) as error:
        raise InvalidRequest("The file is not UTF-8 text; save it as UTF-8, or leave it out.") from error
    return content


def _write(store_id: str, path: str, content: str, *, replaces: bool, actor: Actor) -> Uploaded:
    try:
        absent = FilePrecondition("absent")
        created = put_file(store_id, path, content=content, precondition=absent, actor=actor)
        return Uploaded(path, "created", "", created)
    except MemoryPreconditionFailed as error:
        if not replaces:
            raise InvalidRequest("A memory is at this path already; tick the box to replace it.") from error
    held = get_file(store_id, path, with_content=False, actor=actor)
    if held.content_sha256 == sha256_hex(content):
        return Uploaded(path, "unchanged", "It held this text already.", held)
    updated = put_file(store_id, path, content=content, precondition=FilePrecondition(), actor=actor)
    return Uploaded(path, "updated", "", updated)

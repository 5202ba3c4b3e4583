"""One file to the server, under the precondition that the server still holds what was seen there. Source: section 9.4, outcomes."""

import unicodedata
from enum import StrEnum

from memoryhub.client.errors import ClientError, HubRefused
from memoryhub.digests import sha256_hex
from stores.mount.deadlines import Deadline
from stores.mount.folders import OpenFolder
from stores.mount.remote import RemoteMemory
from stores.mount.stores_on_disk import StoreOnDisk
from stores.paths import find_path_problem

_LOST = frozenset({409, 412})
_FINAL = frozenset({400, 413})
_FULL = "memory_store_full"
_ARCHIVED = "memory_store_archived"


class Sent(StrEnum):
    SAVED = "saved"
    LOST = "lost"  # somebody else was first
    REFUSED = "refused"  # until the file changes
    LATER = "later"  # nothing was done, or it is not known


def upload_file(
    store: StoreOnDisk,
    folder: OpenFolder,
    path: str,
    memory: RemoteMemory | None,
    *,
    scanned: str,
    deadline: Deadline,
) -> Sent:
    """`memory`: what the server holds there, None for nothing. `scanned`: the digest under which a refusal is remembered."""
    problem, text = _read_text(store, folder, path, scanned)
    if problem is not None:
        return refuse(store, path, scanned, problem)
    if text is None:  # gone, or no file any more
        return Sent.LATER
    deadline.check()
    store.sent[path] = sha256_hex(text)
    try:
        saved = store.remote.create(path, text) if memory is None else store.remote.update(memory, text)
    except HubRefused as refused:
        if refused.status == 404 and memory is not None:
            store.view.remove(memory.id)
            return upload_file(store, folder, path, None, scanned=scanned, deadline=deadline)
        return _answer_refusal(store, path, scanned, refused)
    except ClientError as error:
        store.reporter.say("upload_failed", path, error=str(error))
        return Sent.LATER
    store.settle(path, saved)
    store.reporter.say("uploaded", path, digest=saved.digest, new=memory is None)
    return Sent.SAVED


def _read_text(
    store: StoreOnDisk, folder: OpenFolder, path: str, scanned: str
) -> tuple[str | None, str | None]:
    """(why it can never be a memory, its text)"""
    if scanned.startswith("too large"):
        return "it is larger than a memory may be", None
    problem = find_path_problem(path)
    if problem is not None:
        return f"its path: {problem}", None
    content = folder.read(path)
    try:
        return None, None if content is None else content.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8 text", None


def refuse(store: StoreOnDisk, path: str, digest: str, reason: str) -> Sent:
    """It is not sent again until it changes; said once."""
    store.refused[path] = digest
    plain = unicodedata.normalize("NFC", path)
    hint = {} if plain == path else {"as_nfc": plain}
    store.reporter.say_once("refused", path, state=digest, reason=reason, **hint)
    return Sent.REFUSED


def _answer_refusal(store: StoreOnDisk, path: str, digest: str, refused: HubRefused) -> Sent:
    if refused.status in _LOST:
        store.reporter.say("lost_race", path, error=refused.message)
        return Sent.LOST
    store_state = _state_of(store, refused)
    if store_state is not None:
        store.sent.pop(path, None)
        store.reporter.say_once(store_state)
        return Sent.LATER
    if refused.status in _FINAL:
        store.sent.pop(path, None)
        return refuse(store, path, digest, refused.message)
    store.reporter.say_once("upload_failed", path, state=digest, error=str(refused))
    return Sent.LATER


def _state_of(store: StoreOnDisk, refused: HubRefused) -> str | None:
    """`full` or `archived`: what is wrong with the store, and not with the file."""
    if refused.error_code == _FULL:
        return "full"
    if refused.status != 400:
        return None
    if refused.error_code == _ARCHIVED or (refused.error_code is None and _is_archived(store)):
        store.is_archived = True
        return "archived"
    return None


def _is_archived(store: StoreOnDisk) -> bool:
    """For a server that has no codes."""
    try:
        return store.remote.get_store().get("archived_at") is not None
    except ClientError:
        return False

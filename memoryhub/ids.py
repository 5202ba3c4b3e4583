"""Ids: every row's key is a UUIDv7 made here; its wire form is a prefix and 32 hex digits.

Time-ordered, so that the order of ids follows the order of creation. Source: RFC 9562 section 5.7.
"""

import os
import re
import threading
import time
from uuid import UUID

PROJECT = "proj"
ENVIRONMENT = "env"
USER = "user"
MEMBERSHIP = "mship"
INVITATION = "inv"
API_KEY = "apikey"
AUDIT_EVENT = "audit"
JOB = "job"
MEMORY_STORE = "memstore"
MEMORY = "mem"
MEMORY_VERSION = "memver"
SESSION = "sesn"
SESSION_EVENT = "sevt"
WORK = "work"
SECRET = "secret"
DEPLOYMENT = "dep"
RESOURCE = "mres"
MODEL_REQUEST = "mrq"
TOOL_CALL = "toolcall"
HTTP_OPERATION = "httpop"
ENDPOINT = "endpoint"
ENDPOINT_CREDENTIAL = "epcred"
EXTERNAL_PARTITION = "expart"
EXTERNAL_RECORD = "exrec"
EXTERNAL_ITEM = "exitem"
RECORD_SCOPE = "rscope"
MEMORY_RECORD = "mrec"
MEMORY_EFFECT = "meffect"
SCOPE_VIOLATION = "violation"
RECORD_WRITE = "rwrite"
SERVICE_ACCOUNT = "svac"
REQUEST = "req"
SPACE = "space"
AUTHORITY = "authority"
HOST_CALL = "hostcall"
NOMINATION = "nomination"
WEBHOOK = "webhook"
WEBHOOK_DELIVERY = "whdelivery"
NOTICE = "notice"

_HEX32 = re.compile(r"[0-9a-f]{32}", re.ASCII)
_lock = threading.Lock()
_last_ticks = 0


def new_id() -> UUID:
    """A UUIDv7 with 12 bits below the millisecond, strictly increasing within this process."""
    global _last_ticks
    with _lock:
        # One tick is 1/4096 of a millisecond: 48 bits of Unix milliseconds, then 12 bits of fraction.
        ticks = max(time.time_ns() * 4096 // 1_000_000, _last_ticks + 1)
        _last_ticks = ticks
    milliseconds, fraction = divmod(ticks, 4096)
    random_bits = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return UUID(int=(milliseconds << 80) | (0x7 << 76) | (fraction << 64) | (0b10 << 62) | random_bits)


def first_id(seconds: float) -> UUID:
    """No id that was made from this moment on comes before it. `seconds`: of Unix time."""
    return UUID(int=int(seconds * 1_000) << 80)


def to_wire(prefix: str, key: UUID) -> str:
    return f"{prefix}_{key.hex}"


def from_wire(prefix: str, text: str) -> UUID | None:
    """The key of a wire id, or None when no such id can exist (wrong prefix, length or letters)."""
    head, _, digits = text.partition("_")
    if head != prefix or not _HEX32.fullmatch(digits):
        return None
    return UUID(hex=digits)

"""The names and digests of records: derived, so that a write that is sent again carries the same. Pure but for the key.

Source: contract of the memory provider, sections 5.1 and 8.1. What could tell of a text or a principal is sealed with the
hub's key for partitions: nobody who has the database alone can guess it.
"""

import base64
import hashlib
import hmac
from uuid import UUID

from django.conf import settings

from memoryhub.digests import frame
from memoryhub.errors import Unavailable
from memoryhub.ids import MEMORY_RECORD
from providers.contract import Scope


def namespace_of(scope: Scope) -> str:
    """Of the bindings in a scope."""
    sealed = _seal("memoryhub/ns/v1", scope.tenant_id, scope.agent, scope.scope)
    return "ns_" + base64.urlsafe_b64encode(sealed).decode()[:32]


def binding_id_of(namespace: str, key: str) -> str:
    return "rec_" + _sha256("memoryhub/rec/v1", namespace, key).hex()[:32]


def record_id_of(scope: Scope, key: str) -> str:
    """The id of a record of the built-in provider."""
    digest = _sha256("memoryhub/memory-id/v1", scope.tenant_id, scope.agent, scope.scope, key)
    return f"{MEMORY_RECORD}_{digest.hex()[:24]}"


def remote_record_id(provider: str, scope: Scope, key: str) -> str:
    """The id of a record that another service keeps: ours, so that it is known before anything is sent."""
    digest = _sha256("memoryhub/remote-id/v1", provider, scope.tenant_id, scope.agent, scope.scope, key)
    return f"{MEMORY_RECORD}_{digest.hex()[:24]}"


def seal_name(*parts: str) -> str:
    """32 hex digits in place of names that stay here."""
    return _seal(*parts).hex()[:32]


def thread_id_of(scope_id: UUID, thread: str) -> UUID:
    """A UUIDv8 in place of a thread's name."""
    sealed = int.from_bytes(_seal("memoryhub/thread/v1", str(scope_id), thread)[:16])
    return UUID(int=sealed & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62)


def seal_digest(canonical: bytes) -> bytes:
    """Of a record, or of what a write does."""
    return hmac.new(_key(), frame("memoryhub/record/v1") + canonical, hashlib.sha256).digest()


def _seal(*parts: str) -> bytes:
    return hmac.new(_key(), b"".join(map(frame, parts)), hashlib.sha256).digest()


def _sha256(*parts: str) -> bytes:
    return hashlib.sha256(b"".join(map(frame, parts))).digest()


def _key() -> bytes:
    """Raises: Unavailable."""
    if settings.PARTITION_KEY is None:
        raise Unavailable(
            "This hub has no key for partitions, so it keeps no records: set MEMORYHUB_PARTITION_KEY.",
            error_code="records_unavailable",
        )
    return settings.PARTITION_KEY

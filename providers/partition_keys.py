"""Partition keys: what another service sees instead of a namespace. Pure.

Source: contract of document and HTTP memory, section 5.
"""

import base64
import hashlib
import hmac
from uuid import UUID

from memoryhub.digests import frame

PREFIX = "ocmem_v1_"
_DOMAIN = "memoryhub/partition/v1"
KEY_BYTES = 32


def partition_key(
    key: bytes, *, project_id: UUID, environment_id: UUID, resource_id: str, namespace_id: str
) -> str:
    """52 characters; equal for equal input, and not to be guessed without the key."""
    assert len(key) == KEY_BYTES
    parts = (_DOMAIN, str(project_id), str(environment_id), resource_id, namespace_id)
    digest = hmac.new(key, b"".join(map(frame, parts)), hashlib.sha256).digest()
    return PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")

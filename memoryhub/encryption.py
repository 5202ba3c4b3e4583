"""Values that must be read back are sealed: AES-256-GCM under a key that is not in the database.

A seal is bound to what it belongs to, so that it opens nowhere else. The first key seals; every key of the list opens,
so that one can be replaced while the hub runs. Source: NIST SP 800-38D.
"""

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memoryhub.digests import sha256_hex

KEY_BYTES = 32
_NONCE_BYTES = 12
_NAME_DIGITS = 16


class CannotOpen(Exception):
    """The key that sealed the value is not there, or the value was changed or moved."""


def key_name(key: bytes) -> str:
    """Names a key without telling it."""
    return sha256_hex(b"memoryhub/key/v1" + key)[:_NAME_DIGITS]


def seal(keys: Sequence[bytes], text: str, *, belongs_to: str) -> tuple[str, bytes]:
    """(the name of the key that sealed it, the sealed bytes)."""
    nonce = os.urandom(_NONCE_BYTES)
    return key_name(keys[0]), nonce + AESGCM(keys[0]).encrypt(nonce, text.encode(), belongs_to.encode())


def open_seal(keys: Sequence[bytes], sealed_with: str, sealed: bytes, *, belongs_to: str) -> str:
    """Raises: CannotOpen."""
    key = next((one for one in keys if key_name(one) == sealed_with), None)
    if key is None:
        raise CannotOpen(f"the key {sealed_with} is not among those of this hub")
    try:
        opened = AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], belongs_to.encode())
    except InvalidTag as error:
        raise CannotOpen("the value was changed, or belongs to something else") from error
    return opened.decode()

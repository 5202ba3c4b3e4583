"""Digests: every SHA-256 in the product, and the canonical JSON they are taken over, are made here."""

import hashlib
import hmac
import re
from typing import Any

import rfc8785

SHA256_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


def sha256_hex(content: str | bytes) -> str:
    """64 lowercase hex digits over the bytes; text is encoded as UTF-8, nothing is normalised."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes. Raises: ValueError for what it cannot express (NaN, 2**53, lone surrogates)."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(f"not canonical JSON: {error}") from error


def is_sha256_hex(text: object) -> bool:
    return isinstance(text, str) and SHA256_HEX.fullmatch(text) is not None


def are_equal(left: bytes, right: bytes) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(left, right)

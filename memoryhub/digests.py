"""Digests: every SHA-256 in the product, and the canonical JSON they are taken over, are made here."""

import hashlib
import hmac
import json
import re
from typing import Any

import rfc8785

_INTEGER_MAX = 2**53 - 1  # RFC 8785, section 3.1: what a double holds exactly
_COMPACT = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False)
SHA256_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


def sha256_hex(content: str | bytes) -> str:
    """64 lowercase hex digits over the bytes; text is encoded as UTF-8, nothing is normalised."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def frame(text: str) -> bytes:
    """With its length before it, so that ("ab", "c") never meets ("a", "bc")."""
    raw = text.encode()
    return len(raw).to_bytes(4, "big") + raw


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes. Raises: ValueError for what it cannot express (NaN, 2**53, lone surrogates)."""
    try:
        return _COMPACT.encode(value).encode() if _is_plain(value) else rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(f"not canonical JSON: {error}") from error


def exact_json(value: Any) -> bytes:
    """Compact JSON with sorted keys, as exact as it was read: whole numbers beyond 2**53 too, which RFC 8785 has not."""
    return _COMPACT.encode(value).encode()


def _is_plain(value: Any) -> bool:
    """Whether the standard library's writer gives the canonical bytes: three times as fast, and most values are so.

    It spells floats otherwise and sorts keys by code points instead of UTF-16 units.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-_INTEGER_MAX <= value <= _INTEGER_MAX)
    if kind is dict:
        return all(type(key) is str and key.isascii() and _is_plain(item) for key, item in value.items())
    return kind in (list, tuple) and all(map(_is_plain, value))


def is_sha256_hex(text: object) -> bool:
    return isinstance(text, str) and SHA256_HEX.fullmatch(text) is not None


def are_equal(left: bytes, right: bytes) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(left, right)

"""Secret tokens: 256 random bits, shown once, kept as their SHA-256."""

import hashlib
import secrets

TOKEN_BYTES = 32


def new_token() -> str:
    """43 URL-safe letters over 32 random bytes."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_sha256(token: str) -> bytes:
    """32 bytes. A token has 256 random bits, so a plain digest cannot be searched."""
    return hashlib.sha256(token.encode()).digest()

"""A secret in the spellings in which something could show it, and the search for them."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from urllib.parse import quote

# A shorter one could stand in any page by chance.
SECRET_LETTERS_MIN = 10


def spellings(secret: str) -> Iterator[bytes]:
    assert len(secret) >= SECRET_LETTERS_MIN, "too short to be sought"
    raw = secret.encode()
    yield raw
    yield quote(secret, safe="").encode()
    for known in (raw, *_token_bytes(secret)):
        yield known.hex().encode()
        yield known.hex().upper().encode()
        for offset in range(3):  # wherever it begins in a longer text
            inner = base64.b64encode(b"x" * offset + known)[4 * (offset > 0) : -4].rstrip(b"=")
            yield inner
            yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def _token_bytes(secret: str) -> list[bytes]:
    """What a token's letters stand for, which would be the token too."""
    if len(secret) != 43:
        return []
    try:
        return [base64.b64decode(f"{secret}=".encode(), altchars=b"-_", validate=True)]
    except binascii.Error:
        return []


def hits(shown: bytes, secrets: Mapping[str, str]) -> list[str]:
    """The names of the secrets that `shown` holds."""
    return [name for name, secret in secrets.items() if any(form in shown for form in spellings(secret))]

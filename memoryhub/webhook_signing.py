"""How a request to a webhook is signed, by the Standard Webhooks specification. Pure.

The secret reads `whsec_` and the base64 of 32 random bytes. Signed is `id.timestamp.body`, as it is sent; a request that
is signed with several secrets names each signature, and a receiver takes any that fits.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

SECRET_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signed_headers(message_id: str, timestamp: int, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    """`timestamp`: seconds of Unix time. `keys`: secrets, the newest first."""
    signatures = " ".join(sign(message_id, timestamp, body, key) for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signatures,
    }


def sign(message_id: str, timestamp: int, body: bytes, key: str) -> str:
    raw = base64.b64decode(key.removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(raw, signed, hashlib.sha256).digest()).decode()

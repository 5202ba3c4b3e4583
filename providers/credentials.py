"""The headers of one request: what its pinned connection names, with the secrets as they are at this moment.

Source: contract of document and HTTP memory, sections 2.5, 14.1. They are kept in no row and shown in no log.
"""

from dataclasses import dataclass, field

from memoryhub import secrets
from memoryhub.encryption import CannotOpen
from providers.connections import Connection, HeaderValue
from providers.http_calls import http_provider
from providers.models import Deployment, HttpOperation
from providers.pins import Pinned


@dataclass(frozen=True, slots=True)
class SentHeaders:
    """`secrets`: every literal that must not be shown, should the endpoint echo it."""

    headers: dict[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def find_headers(operation: HttpOperation, pinned: Pinned) -> SentHeaders | None:
    """None when a secret is missing, cannot be opened, or is not for this origin."""
    provider = http_provider(pinned.manifest, operation.resource_id)
    connection = pinned.manifest.connections[provider.connection]
    headers: dict[str, str] = {}
    hidden: set[str] = set()
    for name, wanted in connection.headers.items():
        if wanted.secret is None:
            headers[name] = wanted.prefix
            continue
        value = _find_secret(operation, pinned.deployment, connection, wanted)
        if value is None:
            return None
        headers[name] = f"{wanted.prefix}{value}{wanted.suffix}"
        hidden |= {value, headers[name]}
    return SentHeaders(headers, frozenset(hidden))


def _find_secret(
    operation: HttpOperation, deployment: Deployment, connection: Connection, wanted: HeaderValue
) -> str | None:
    assert wanted.secret is not None
    try:
        value = secrets.find_value(
            operation.environment_id,
            agent_id=deployment.agent_id,
            name=wanted.secret,
            origin=connection.origin,
        )
    except CannotOpen:
        return None
    return value if value and value.isascii() and value.isprintable() else None

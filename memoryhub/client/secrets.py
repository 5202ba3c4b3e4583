"""Secrets: written and never read back; connections name them in their headers."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import Secret

ROOT = "/v1/secrets"

type Origins = list[str]


class Secrets:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self,
        name: str,
        value: str,
        *,
        allowed_origins: Origins,
        agent_id: str | None = None,
        environment: str | None = None,
    ) -> Secret:
        """Make the secret, or replace its value and origins. One of an agent wins over that of the environment."""
        body: dict[str, Any] = {"name": name, "value": value, "allowed_origins": allowed_origins}
        more = {"agent_id": agent_id, "environment": environment}
        body |= {key: given for key, given in more.items() if given is not None}
        return cast(Secret, self._transport.call("PUT", ROOT, body, repeatable=True))

    def list(self, *, environment: str | None = None) -> Iterator[Secret]:
        """Newest first, without values."""
        return self._transport.pages(ROOT, query={"environment": environment})

    def get(self, secret_id: str) -> Secret:
        return cast(Secret, self._transport.call("GET", _url(secret_id)))

    def delete(self, secret_id: str) -> None:
        self._transport.call("DELETE", _url(secret_id))


def _url(secret_id: str) -> str:
    return f"{ROOT}/{quote(secret_id, safe='')}"

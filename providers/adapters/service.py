"""A call of a memory service: REST through the egress guard, its secret by name, its status as one of the four errors.

Source: contract of the memory provider, section 9.1. A read is tried again; a write is sent once, and what may have happened is
`unavailable` or `timeout`, never `invalid`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import UUID

import structlog
from asgiref.sync import sync_to_async
from django.db import connection

from memoryhub import egress, secrets
from memoryhub.egress import AnswerTooLarge, DeadlineReached, EgressBlocked, Method, Outgoing, TransportFailed
from memoryhub.encryption import CannotOpen
from memoryhub.strict_json import StrictJSONError, parse
from providers.adapters.options import Target
from providers.contract import Err, ErrorCode, ProviderError, Scope
from providers.limits import DELAY_SECONDS, PROVIDER_SECONDS_MAX, READ_RETRIES_MAX, REMOTE_ANSWER_BYTES_MAX

log = structlog.get_logger("memoryhub.adapters")

_UNAVAILABLE = frozenset({401, 402, 403, 408, 429})
_REFUSED_CREDENTIAL = frozenset({401, 403})
_WORTH_ANOTHER_TRY = frozenset({408, 429, 500, 502, 503, 504})


class ServiceError(Exception):
    """`status` None: there was no answer."""

    def __init__(
        self, code: ErrorCode, message: str, *, sent: bool = True, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.error = ProviderError(code, message, sent)
        self.status = status

    @property
    def refuses_credential(self) -> bool:
        return self.status in _REFUSED_CREDENTIAL

    @property
    def result(self) -> Err:
        return Err(self.error)

    def of_write(self, *, is_certain: bool) -> "ServiceError":
        """The same of a write that was certainly not done, or that an earlier send may have done."""
        code, message = self.error.code, self.error.message
        if is_certain:
            is_sent = self.error.sent and not self.error.is_uncertain
            return ServiceError(code, message, sent=is_sent, status=self.status)
        return self if self.error.is_uncertain else ServiceError("unavailable", message, status=self.status)


@dataclass(frozen=True, slots=True)
class Request:
    """`path`: below the base, quoted by `path_of`. `writes`: it is sent once, and its failure may have come too late."""

    method: Method
    path: str
    body: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """`scheme`: what stands before the secret in its header."""

    target: Target
    scheme: str

    async def call(self, scope: Scope, request: Request) -> Any:
        """The JSON of its answer, None for an empty one. Raises: ServiceError."""
        headers = await self._headers(scope) | dict(request.headers)
        retries = 0 if request.writes else READ_RETRIES_MAX
        for number in range(retries):
            try:
                return await self._send(request, headers)
            except ServiceError as error:
                if not _is_worth_another_try(error):
                    raise
            await asyncio.sleep(DELAY_SECONDS[min(number, len(DELAY_SECONDS) - 1)])
        return await self._send(request, headers)

    async def _headers(self, scope: Scope) -> dict[str, str]:
        if self.target.secret is None:
            return {}
        value = await in_database(_find_secret, scope, self.target)
        if value is None:
            raise ServiceError(
                "unavailable", "The secret of this provider is not set for its origin.", sent=False
            )
        return {"Authorization": f"{self.scheme} {value}"}

    async def _send(self, request: Request, headers: Mapping[str, str]) -> Any:
        target = self.target
        body = b"" if request.body is None else _encode(request.body)
        outgoing = Outgoing(target.origin, f"{target.base}{request.path}", body, headers, request.method)
        try:
            reply = await egress.send(
                outgoing, seconds=PROVIDER_SECONDS_MAX, answer_bytes_max=REMOTE_ANSWER_BYTES_MAX
            )
        except EgressBlocked as error:
            raise ServiceError("unavailable", "The origin may not be called.", sent=False) from error
        except TransportFailed as error:
            raise ServiceError("unavailable", f"No whole answer ({error.reason}).") from error
        except DeadlineReached as error:
            raise ServiceError("timeout", "The service did not answer in time.") from error
        except AnswerTooLarge as error:
            raise _unreadable(request, error.reply.status, "is too large") from error
        _require_ok(reply.status, target.provider)
        if not reply.body.strip():
            return None
        try:
            return parse(reply.body)
        except StrictJSONError as error:
            raise _unreadable(request, reply.status, "is not JSON") from error


def path_of(*parts: str) -> str:
    """Each part is one segment, whatever it holds."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _require_ok(status: int, provider: str) -> None:
    """Raises: ServiceError. Source: section 9.1, rule 8."""
    if 200 <= status < 300:
        return
    if status in _REFUSED_CREDENTIAL:
        log.error("provider_credential_refused", provider=provider, status=status)
    is_unavailable = status in _UNAVAILABLE or status >= 500
    raise ServiceError(
        "unavailable" if is_unavailable else "invalid", f"The service answered {status}.", status=status
    )


def _unreadable(request: Request, status: int, how: str) -> ServiceError:
    """Of a write that was taken nobody knows more than that it was taken."""
    may_be_done = request.writes and 200 <= status < 300
    return ServiceError(
        "unavailable" if may_be_done else "invalid", f"The service's answer {how}.", status=status
    )


def malformed(*, writes: bool = False) -> ServiceError:
    """An answer of another shape than the service's."""
    return ServiceError("unavailable" if writes else "invalid", "The service's answer has another shape.")


def _is_worth_another_try(error: ServiceError) -> bool:
    if error.status is None:
        return error.error.code == "unavailable" and error.error.sent
    return error.status in _WORTH_ANOTHER_TRY


def _find_secret(scope: Scope, target: Target) -> str | None:
    environment_id = UUID(scope.tenant_id.partition(":")[2])
    assert target.secret is not None
    try:
        value = secrets.find_value(
            environment_id, agent_id=scope.agent, name=target.secret, origin=target.origin
        )
    except CannotOpen:
        return None
    return value if value and value.isascii() and value.isprintable() else None


async def in_database[**P, T](act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
    """In a thread of its own, since a provider runs in a loop; its connection goes back at once."""

    def run() -> T:
        try:
            return act(*values, **named)
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()

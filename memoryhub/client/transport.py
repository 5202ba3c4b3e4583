"""Requests with one key: what may be repeated safely is repeated twice, everything else is sent once."""

import random
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import httpx2

from memoryhub.client.errors import ConnectionFailed, HubRefused

TIMEOUT_SECONDS = 30.0
TRIES_MAX = 3
RETRY_SECONDS = 0.2
_BUSY = frozenset({429, 502, 503})
_REPEATABLE = frozenset({"GET", "HEAD"})


class Transport:
    def __init__(self, base_url: str, api_key: str, *, timeout_seconds: float) -> None:
        self._client = httpx2.Client(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout_seconds,
            follow_redirects=False,
        )

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Transport":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> Any:
        """The body of the answer, None when it has none. `repeatable`: the hub does it once, however often it is sent.

        Raises: HubRefused, ConnectionFailed.
        """
        response = self._send(method, path, body, query, headers, repeatable or method in _REPEATABLE)
        if response.status_code >= 400:
            raise HubRefused(response.status_code, _json(response))
        return _json(response) if response.content else None

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        may_repeat: bool,
    ) -> httpx2.Response:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        for tries in range(1, TRIES_MAX + 1):
            is_last = tries == TRIES_MAX or not may_repeat
            try:
                response = self._client.request(
                    method, path, json=body, params=given, headers=dict(headers or {})
                )
            except httpx2.TransportError as error:
                if is_last:
                    raise ConnectionFailed(f"The hub did not answer: {error}") from error
            else:
                if is_last or response.status_code not in _BUSY:
                    return response
            time.sleep(RETRY_SECONDS * 2 ** (tries - 1) * random.uniform(0.5, 1.5))
        raise AssertionError("unreachable")

    def lines(self, path: str, *, query: Mapping[str, Any] | None = None) -> Iterator[str]:
        """The lines of a streamed answer. Raises: HubRefused, ConnectionFailed."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            with self._client.stream("GET", path, params=given) as response:
                if response.status_code >= 400:
                    response.read()
                    raise HubRefused(response.status_code, _json(response))
                yield from response.iter_lines()
        except httpx2.TransportError as error:
            raise ConnectionFailed(f"The stream broke off: {error}") from error

    def pages(self, path: str, *, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Every item of a list, page after page. Raises: HubRefused, ConnectionFailed."""
        asked = dict(query or {})
        while True:
            page = self.call("GET", path, query=asked)
            yield from page["data"]
            if not page["has_more"]:
                return
            asked["page"] = page["next_page"]


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None

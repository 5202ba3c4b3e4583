"""Requests with one key: what may be repeated safely is repeated twice, everything else is sent once."""

import random
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import httpx2

from memoryhub.client.errors import ConnectionFailed, HubRefused, UnexpectedAnswer

TIMEOUT_SECONDS = 30.0
STREAM_SECONDS_MIN = 45.0  # the hub sends a comment into a quiet stream every 15 seconds
TRIES_MAX = 3
RETRY_SECONDS = 0.2
RETRY_AFTER_SECONDS_MAX = 5.0  # a hub that wants a longer pause gets it from the caller
_BUSY = frozenset({429, 503})
_OF_PROXIES = frozenset({502, 504})
_REPEATABLE = frozenset({"GET", "HEAD"})
_NOTHING_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Transport:
    def __init__(self, base_url: str, api_key: str, *, timeout_seconds: float) -> None:
        self._client = httpx2.Client(
            base_url=base_url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout_seconds,
            follow_redirects=False,
        )
        self._stream_timeout = httpx2.Timeout(timeout_seconds, read=max(timeout_seconds, STREAM_SECONDS_MIN))

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
        """The body of the answer, None when it has none. `body`: JSON, or bytes as they are.

        `repeatable`: the hub does it once, however often it is sent.

        Raises: HubRefused, UnexpectedAnswer, ConnectionFailed.
        """
        response = self._send(method, path, body, query, headers, repeatable or method in _REPEATABLE)
        _require_success(response)
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
        for tries in range(1, TRIES_MAX + 1):
            pause = RETRY_SECONDS * 2 ** (tries - 1) * random.uniform(0.5, 1.5)
            try:
                response = self._client.request(
                    method, path, params=_given(query), headers=dict(headers or {}), **_body(body)
                )
            except httpx2.RequestError as error:
                if tries == TRIES_MAX or not (may_repeat or isinstance(error, _NOTHING_SENT)):
                    raise ConnectionFailed(
                        f"The hub did not answer: {error or type(error).__name__}"
                    ) from error
            else:
                wanted = _wanted_pause(response)
                if tries == TRIES_MAX or not may_repeat or wanted is None or wanted > RETRY_AFTER_SECONDS_MAX:
                    return response
                pause = max(pause, wanted)
            time.sleep(pause)
        raise AssertionError("unreachable")

    def lines(self, path: str, *, query: Mapping[str, Any] | None = None) -> Iterator[str]:
        """The lines of a streamed answer, which only a line feed ends. Raises: HubRefused, UnexpectedAnswer, ConnectionFailed."""
        try:
            with self._client.stream(
                "GET", path, params=_given(query), timeout=self._stream_timeout
            ) as response:
                if not response.is_success:
                    response.read()
                    _require_success(response)
                yield from _split(response.iter_bytes())
        except httpx2.RequestError as error:
            raise ConnectionFailed(f"The stream broke off: {error or type(error).__name__}") from error

    def pages(self, path: str, *, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Every item of a list, page after page. Raises: HubRefused, UnexpectedAnswer, ConnectionFailed."""
        asked = dict(query or {})
        while True:
            page = self.call("GET", path, query=asked)
            yield from page["data"]
            if not page["has_more"]:
                return
            asked["page"] = page["next_page"]


def _body(body: Any) -> dict[str, Any]:
    return {"content": body} if isinstance(body, bytes) else {"json": body}


def _given(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _wanted_pause(response: httpx2.Response) -> float | None:
    """For how long to wait before the same again; None for an answer that is final.

    A 502 of the hub itself is one: a memory could not be recalled. One of a proxy before it is not.
    """
    is_busy = response.status_code in _BUSY
    if not is_busy and (response.status_code not in _OF_PROXIES or _is_json(response)):
        return None
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else 0.0


def _require_success(response: httpx2.Response) -> None:
    """Raises: HubRefused, also for a redirect, which is never followed: the key would go where it leads."""
    if not response.is_success:
        raise HubRefused(response.status_code, _json(response) if _is_json(response) else None)


def _is_json(response: httpx2.Response) -> bool:
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip() == "application/json"


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise UnexpectedAnswer(
            f"The answer with status {response.status_code} is not a hub's: is the address right?"
        ) from error


def _split(chunks: Iterator[bytes]) -> Iterator[str]:
    """httpx2's own lines end at U+2028 and others too, which JSON holds as they are."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()

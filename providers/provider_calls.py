"""A call of a provider: a coroutine that ends within its seconds, whose errors are values and whose answer is what it says.

It runs in a thread with a loop of its own: one that blocks instead of waiting is left behind, and nobody else waits for it.
Source: contract of the memory provider, sections 3 and 5.2.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from providers.contract import ERROR_CODES, LOOKED_UP, Err, MemoryHit, Ok, ProviderError, RecordRef, Result

log = structlog.get_logger("memoryhub.provider_calls")

# What may be a credential: after its name, or any long word with digits in it.
_SECRETS = re.compile(
    r"(?i)(?<=bearer )\S+|(?<=token )\S+|(?<=api-key )\S+|(?<=[=:])\s*\S{12,}|\b(?=\S*\d)[\w+/=-]{20,}"
)

type Act = Callable[[], Coroutine[Any, Any, Any]]


def call_provider(act: Act, read: Callable[[Any], Any], *, seconds: float) -> Result[Any]:
    """What `act()` answers, its value read strictly by `read`. Never raises for what a provider does."""
    answers: list[Result[Any]] = []

    def run() -> None:
        answers.append(asyncio.run(_answer(act, read, seconds)))

    thread = threading.Thread(target=run, name="provider-call", daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else _timed_out(seconds)


async def _answer(act: Act, read: Callable[[Any], Any], seconds: float) -> Result[Any]:
    try:
        async with asyncio.timeout(seconds):
            answer = await act()
    except TimeoutError:
        return _timed_out(seconds)
    except Exception as error:  # noqa: BLE001 - whatever a provider raises is an answer that did not come
        log.warning("provider_raised", cause=type(error).__name__)
        return Err(ProviderError("unavailable", without_secrets(f"{type(error).__name__}: {error}")))
    return read_answer(answer, read)


def _timed_out(seconds: float) -> Err:
    return Err(ProviderError("timeout", f"The provider did not answer within {seconds:.0f} s."))


def without_secrets(text: str) -> str:
    return _SECRETS.sub("…", text)


def read_answer(answer: object, read: Callable[[Any], Any]) -> Result[Any]:
    """Anything malformed is `invalid`; the message says how much of it, and nothing of what it was."""
    if type(answer) is Err and type(answer.error) is ProviderError and answer.error.code in ERROR_CODES:
        return Err(ProviderError(answer.error.code, without_secrets(answer.error.message), answer.error.sent))
    if type(answer) is not Ok:
        return _malformed(1)
    try:
        return Ok(read(answer.value))
    except (TypeError, ValueError):
        return _malformed(1)
    except MalformedHits as error:
        return _malformed(error.count)


def _malformed(count: int) -> Err:
    return Err(ProviderError("invalid", f"The provider's answer is malformed in {count} place(s)."))


class MalformedHits(Exception):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def read_ref(value: object) -> RecordRef:
    return RecordRef.read(value)


def read_nothing(value: object) -> None:
    if value is not None:
        raise TypeError("The answer to a forget holds nothing.")


def read_lookup(value: object) -> str:
    if value not in LOOKED_UP:
        raise ValueError(f"The answer to a lookup is one of {', '.join(LOOKED_UP)}.")
    return str(value)


def read_hits(value: object) -> list[MemoryHit]:
    """All of them, or none. Raises: TypeError, MalformedHits."""
    if not isinstance(value, list | tuple):
        raise TypeError("The answer to a recall is a list.")
    hits, malformed = [], 0
    for one in value:
        try:
            hits.append(MemoryHit.read(one))
        except (TypeError, ValueError):
            malformed += 1
    if malformed:
        raise MalformedHits(malformed)
    return hits

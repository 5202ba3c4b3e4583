"""The log of provider calls: that and how each went, with counts and sizes, and nothing of what was said."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from memoryhub import ids
from memoryhub.digests import sha256_hex
from providers.contract import Err, Result
from providers.record_models import ProviderCall, RecordScope

_COLUMNS = [field.attname for field in ProviderCall._meta.concrete_fields]
# As saving the model does, without what Django spends on writing it anew each time.
_INSERT = (
    f"INSERT INTO providers_providercall ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))})"  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class Clock:
    """When a call began, for people and for measuring."""

    started_at: datetime
    began: float


def start_clock() -> Clock:
    return Clock(timezone.now(), time.monotonic())


def log_call(
    held: RecordScope, provider: str, method: str, clock: Clock, result: Result[Any] | None, **facts: Any
) -> ProviderCall:
    """A step. `result` None: it has only begun. `facts`: `key`, and counts by the names of the columns."""
    key = facts.pop("key", None)
    call = ProviderCall(
        project_id=held.project_id,
        scope=held,
        provider=provider,
        method=method,
        started_at=clock.started_at,
        key_sha256=None if key is None else sha256_hex(key),
        **facts,
    )
    if result is not None:
        _set_outcome(call, clock, result)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [getattr(call, column) for column in _COLUMNS])
    return call


def end_call(call: ProviderCall, clock: Clock, result: Result[Any]) -> None:
    _set_outcome(call, clock, result)
    ProviderCall.objects.filter(id=call.id).update(duration_ms=call.duration_ms, code=call.code)


def _set_outcome(call: ProviderCall, clock: Clock, result: Result[Any]) -> None:
    call.duration_ms = (time.monotonic() - clock.began) * 1_000
    call.code = result.error.code if isinstance(result, Err) else "ok"


def clear_expired(*, days: int) -> None:
    """Nobody asks for it: calls are kept as long as those of HTTP memory."""
    before = timezone.now() - timedelta(days=days)
    ProviderCall.objects.filter(id__lt=ids.first_id(before.timestamp())).delete()

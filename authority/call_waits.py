"""Waiting for the end of a host call. Nobody holds a connection meanwhile."""

from functools import partial

from authority.models import HostCall
from memoryhub import wakeups


def wait_for_call(call: HostCall, seconds: float) -> HostCall:
    """The call as it is then: it goes on whatever happens to who waits. Who does not wait reads nothing after the change."""
    if not seconds:
        return call
    return wakeups.wait_for(call.wire_id, partial(_look, call), _has_ended, seconds=seconds)


def _look(call: HostCall) -> HostCall:
    call.refresh_from_db()
    return call


def _has_ended(call: HostCall) -> bool:
    return call.finished_at is not None

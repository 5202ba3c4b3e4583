"""Writes of sessions that wait for a person: how a write gets there. Source: contract of the memory provider, section 5.4."""

from datetime import timedelta
from typing import Any

from memoryhub import notices
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Session
from providers.contract import Origin
from providers.limits import WAITING_WRITE_DAYS, WAITING_WRITES_MAX
from providers.models import ToolCall
from providers.record_models import RecordScope
from providers.record_session_models import RecordWrite


def must_wait(policy: str, origin: Origin) -> bool:
    """`policy`: the memoryWrite of a declaration, other than deny."""
    return policy != "allow" and not (policy == "allow_principal" and origin == "user")


def add_waiting(
    session: Session, call: ToolCall, held: RecordScope, tool: str, key: str, payload: dict[str, Any]
) -> RecordWrite | None:
    """A step: the session is locked, so that its limit holds. None when as many wait as may."""
    waiting = RecordWrite.objects.filter(session_id=session.id, state="waiting")
    if waiting.count() >= WAITING_WRITES_MAX:
        return None
    write = RecordWrite.objects.create(
        project_id=session.project_id,
        scope=held,
        session=session,
        tool_call=call,
        tool=tool,
        key=key,
        payload=payload,
        state="waiting",
        expires_at=ClockTimestamp() + timedelta(days=WAITING_WRITE_DAYS),
    )
    notices.record(
        "record_write.waiting",
        write.wire_id,
        project_id=session.project_id,
        environment_id=session.environment_id,
        facts={"session_id": session.wire_id, "tool": tool},
    )
    return write

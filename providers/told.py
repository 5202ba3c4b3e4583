"""What is told of memory services and providers: that nobody knows whether a write was done."""

from memoryhub import notices
from memoryhub.notice_types import NoticeType
from providers.models import HttpOperation
from providers.record_models import MemoryEffect

NOTICE_TYPES = (
    NoticeType(
        "http_operation.uncertain",
        "Nobody knows whether a write at a memory service was done: it was sent, and no answer says so.",
        "Writes at memory services of uncertain outcome",
        {
            "session_id": "the session",
            "model_request_id": "the request of the model",
            "tool_call_id": "the call of the tool",
        },
        topic="needs_person",
        url_name="sessions",
        operation="sessions.list",
    ),
    NoticeType(
        "record_effect.unknown",
        "Nobody knows whether a provider of records did a write, and it may not be sent again: somebody decides.",
        "Writes of records that somebody must decide on",
        {"tool": "`save_memory` or `forget_memory`", "attempts": "how often it was sent"},
        topic="needs_person",
        url_name="effects",
        operation="record_effects.list",
    ),
    NoticeType(
        "record_write.waiting",
        "The model of a session wants to remember or forget something, and its declaration asks a person first.",
        "Writes of records that wait for approval",
        {"session_id": "the session", "tool": "`save_memory` or `forget_memory`"},
        topic="needs_person",
        operation="record_writes.list",
    ),
)


def tell_uncertain(operation: HttpOperation) -> None:
    """A step of the operation's end; it is locked with its session."""
    assert operation.tool_call is not None
    notices.record(
        "http_operation.uncertain",
        operation.wire_id,
        project_id=operation.project_id,
        environment_id=operation.session.environment_id,
        facts={
            "session_id": operation.session.wire_id,
            "model_request_id": operation.model_request.wire_id,
            "tool_call_id": operation.tool_call.wire_id,
        },
    )


def tell_unknown(effect: MemoryEffect) -> None:
    """A step of the effect's end."""
    notices.record(
        "record_effect.unknown",
        effect.wire_id,
        project_id=effect.project_id,
        environment_id=effect.scope.environment_id,
        facts={"tool": effect.tool, "attempts": effect.attempts},
    )

"""The id of the request being served, for logs and audit rows; None outside a request."""

from contextvars import ContextVar

_request_id: ContextVar[str | None] = ContextVar("memoryhub_request_id", default=None)


def current_request_id() -> str | None:
    return _request_id.get()


def set_request_id(request_id: str | None) -> None:
    _request_id.set(request_id)

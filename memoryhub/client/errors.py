"""What a call may end in beside an answer.

ClientError
 ├── HubRefused         the hub answered with an error: `status`, `type`, `error_code`, `details`, `request_id`
 └── ConnectionFailed   no answer came: a change may have been made, or not
"""

from typing import Any


class ClientError(Exception): ...


class HubRefused(ClientError):
    """`type` and `message` as in the hub's envelope; `error_code` is the finer word, None when there is none."""

    def __init__(self, status: int, body: Any) -> None:
        error = body.get("error", {}) if isinstance(body, dict) else {}
        self.status = status
        self.type: str = error.get("type", "unknown")
        self.message: str = error.get("message", "The hub answered with an error that has no envelope.")
        self.details: dict[str, Any] = error.get("details", {})
        self.error_code: str | None = self.details.get("error_code")
        self.request_id: str | None = body.get("request_id") if isinstance(body, dict) else None
        super().__init__(f"{status} {self.type}: {self.message}")


class ConnectionFailed(ClientError): ...

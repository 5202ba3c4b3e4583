"""What a call may end in beside an answer.

ClientError
 ├── HubRefused         the hub answered with an error: `status`, `type`, `error_code`, `details`, `request_id`
 ├── UnexpectedAnswer   something answered that is no hub
 └── ConnectionFailed   no answer came: a change may have been made, or not
"""

from typing import Any


class ClientError(Exception): ...


class HubRefused(ClientError):
    """`type` and `message` as in the hub's envelope; `error_code` is the finer word, None when there is none."""

    def __init__(self, status: int, body: Any) -> None:
        envelope = body if isinstance(body, dict) else {}
        error = envelope.get("error")
        error = error if isinstance(error, dict) else {}
        self.status = status
        self.type: str = error.get("type", "unknown")
        self.message: str = error.get("message", "The answer has no envelope of a hub.")
        self.details: dict[str, Any] = error.get("details") or {}
        self.error_code: str | None = self.details.get("error_code")
        self.request_id: str | None = envelope.get("request_id")
        super().__init__(f"{status} {self.type}: {self.message}")


class UnexpectedAnswer(ClientError): ...


class ConnectionFailed(ClientError): ...

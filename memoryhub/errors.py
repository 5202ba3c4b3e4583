"""What can go wrong, for every door. One class per error; `problems` turns each into its wire form.

    HubError
     ├── InvalidRequest            a value, a limit or the state of the thing forbids it
     ├── AuthenticationFailed      no key, or one that is unknown, revoked or expired
     ├── PermissionRefused         the credential may not do this
     ├── NotFound                  it does not exist, or the caller may not know of it
     ├── MethodNotAllowed
     ├── Conflict                  somebody else's change came first
     │    ├── RevisionConflict          a document is at another revision, or its id was used
     │    ├── AdoptionConflict          nominated records and the reviewed memory differ
     │    ├── MemoryPathConflict
     │    └── MemoryPreconditionFailed
     │         └── MemoryEtagMismatch   the same, asked by an If-Match header
     ├── LeaseLost                 the work is another worker's by now, or nobody's
     ├── PreconditionRequired      the change must say which state it was made for
     ├── Gone                      it was there, and its text has been erased
     ├── RecallFailed              a memory could not be recalled, so nothing may be inferred
     ├── RequestTooLarge
     ├── Unprocessable             well formed, and what it asks for cannot be kept
     ├── RateLimited
     ├── IntegrityBroken           what is kept contradicts itself, so nothing was changed
     ├── ProviderTimeout           a memory provider gave no answer in its time
     └── Unavailable               the database or another part did not answer; the outcome may be unknown

A message is one sentence a stranger can act on. `error_code` is the finer word for machines; `facts` stand beside it.
"""

from typing import Any


class HubError(Exception):
    def __init__(self, message: str, *, error_code: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code
        self.facts = facts


class InvalidRequest(HubError): ...


class AuthenticationFailed(HubError): ...


class PermissionRefused(HubError): ...


class NotFound(HubError):
    """The message never says which of the two it is: absent and foreign things answer the same bytes."""

    def __init__(self, noun: str = "resource") -> None:
        super().__init__(f"The {noun} was not found.")


class MethodNotAllowed(HubError):
    def __init__(self, method: str, allowed: list[str]) -> None:
        super().__init__(f"{method} is not allowed here; allowed: {', '.join(allowed)}.")
        self.allowed = allowed


class Conflict(HubError): ...


class RevisionConflict(Conflict): ...


class AdoptionConflict(Conflict): ...


class LeaseLost(HubError): ...


class PreconditionRequired(HubError): ...


class Gone(HubError): ...


class RecallFailed(HubError):
    """`resource`: the first that failed; `cause`: `{"code", "message"}`."""

    def __init__(self, resource: str, cause: dict[str, Any]) -> None:
        super().__init__(
            f"The memory {resource} could not be recalled: {cause['message']} Do not run inference on this request.",
            error_code="memory_recall_failed",
            resource=resource,
            cause=cause,
        )


class MemoryPathConflict(Conflict):
    """A live memory is at the path, above it or below it."""

    def __init__(self, path: str, *, conflicting_memory_id: str, conflicting_path: str) -> None:
        super().__init__(f"The path {path} is taken by the memory at {conflicting_path}.")
        self.conflicting_memory_id = conflicting_memory_id
        self.conflicting_path = conflicting_path


class MemoryPreconditionFailed(Conflict):
    """The caller's SHA-256 is not that of the stored content, or a memory is there, or not there, against its word."""

    def __init__(
        self,
        message: str = "The memory changed since it was read: its content_sha256 is not the expected one.",
    ) -> None:
        super().__init__(message)


class MemoryEtagMismatch(MemoryPreconditionFailed): ...


class RequestTooLarge(HubError): ...


class Unprocessable(HubError): ...


class IntegrityBroken(HubError): ...


class RateLimited(HubError):
    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(f"Too many requests with this credential; try again in {retry_after_seconds} s.")
        self.retry_after_seconds = retry_after_seconds


class ProviderTimeout(HubError): ...


class Unavailable(HubError): ...

"""What can go wrong with reviewed memory. Each class is one of the hub's own, so that every door knows its answer.

    ConflictError                 a head, a digest or an operation id is not the expected one
     └── AdoptionConflictError        nominated records differ from reviewed ones without leave
    AuthorityIntegrityError       a store contradicts itself, or what it was bound to
     └── ReexportError                the nominated records are not what the working memory gives out
    ContinuationError             a query's continuation is not one that was given out for this query
    ProfileError                  the thing is of the wrong kind, route, authority or time
     └── ExplanationAbsentError       there is no such explanation, or there is one no more
    ValidationTypeError           a value has the wrong form
    CapacityError                 a bound would be passed
     ├── BytesExceededError           one of bytes
     └── OperationSizeError           an operation's, with both numbers
    DependencyError               a record would name one that is not there
    PurgedSpaceError              the space was emptied; carries the receipt

A message is the contract's, word for word.
"""

from typing import Any

from memoryhub import errors

ADOPTION_CONFLICT = "The nominated records conflict with the current canonical memory head."


class ConflictError(errors.Conflict):
    def __init__(self, message: str) -> None:
        super().__init__(message, error_code="head_conflict")


class AdoptionConflictError(ConflictError, errors.AdoptionConflict):
    """`conflict`: the conflict object of the contract."""

    def __init__(self, conflict: dict[str, Any]) -> None:
        errors.HubError.__init__(self, ADOPTION_CONFLICT, error_code="adoption_conflict", conflict=conflict)
        self.conflict = conflict


class AuthorityIntegrityError(errors.IntegrityBroken):
    def __init__(self, message: str) -> None:
        super().__init__(message, error_code="integrity")


class ReexportError(errors.Unprocessable, AuthorityIntegrityError):
    def __init__(self) -> None:
        message = "The working authority did not re-export the nominated closure exactly."
        errors.HubError.__init__(self, message, error_code="reexport_mismatch")


class ContinuationError(errors.InvalidRequest, AuthorityIntegrityError):
    """`reason`: `encoding`, `authentication` or `identity`."""

    def __init__(self, message: str, reason: str) -> None:
        errors.HubError.__init__(self, message, error_code="memory-continuation", reason=reason)
        self.reason = reason


class ProfileError(errors.PermissionRefused):
    def __init__(self, message: str) -> None:
        super().__init__(message, error_code="profile")


class ExplanationAbsentError(errors.NotFound, ProfileError):
    def __init__(self) -> None:
        message = "The V2 memory explanation capability is absent, expired, or misbound."
        errors.HubError.__init__(self, message, error_code="explanation_absent")


class ValidationTypeError(errors.InvalidRequest, TypeError): ...


class CapacityError(errors.Unprocessable, ValueError):
    def __init__(self, message: str) -> None:
        errors.HubError.__init__(self, message, error_code="capacity")


class BytesExceededError(errors.RequestTooLarge, CapacityError):
    def __init__(self, message: str) -> None:
        errors.HubError.__init__(self, message, error_code="capacity_bytes")


class OperationSizeError(CapacityError):
    """Never means that the outcome is uncertain. Source: memoryhub.operation-size.v1."""

    def __init__(self, operation_bytes: int, operation_bytes_max: int) -> None:
        message = (
            f"The {operation_bytes}-byte operation exceeds the host-declared "
            f"{operation_bytes_max}-byte canonical bound."
        )
        errors.HubError.__init__(
            self,
            message,
            error_code="memoryhub.operation-size.v1",
            operationBytes=operation_bytes,
            maximumOperationBytes=operation_bytes_max,
        )
        self.operation_bytes = operation_bytes
        self.operation_bytes_max = operation_bytes_max


class DependencyError(errors.Unprocessable):
    def __init__(self, message: str) -> None:
        super().__init__(message, error_code="dependency_missing")


class PurgedSpaceError(errors.Gone):
    """`receipt`: what the purge left."""

    def __init__(self, receipt: dict[str, Any]) -> None:
        super().__init__("The space was purged.", error_code="space_purged", receipt=receipt)
        self.receipt = receipt

"""Errors on the wire: the only file that knows the envelope. Source: contract stores 2.5.

{"type": "error", "error": {"type", "message", "details"?: {"error_code", …}}, "request_id"}
"""

import json
import sys
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from gunicorn.http.errors import ParseException
from psycopg import errors as postgres

from memoryhub.errors import (
    AdoptionConflict,
    AuthenticationFailed,
    Conflict,
    Gone,
    HubError,
    IntegrityBroken,
    InvalidRequest,
    LeaseLost,
    MemoryEtagMismatch,
    MemoryPathConflict,
    MemoryPreconditionFailed,
    MethodNotAllowed,
    NotFound,
    PermissionRefused,
    PreconditionRequired,
    ProviderTimeout,
    RateLimited,
    RecallFailed,
    RequestTooLarge,
    RevisionConflict,
    Unavailable,
    Unprocessable,
)
from memoryhub.request_context import current_request_id
from memoryhub.typed import list_typed

log = structlog.get_logger("memoryhub.problems")

# error class -> (status, error.type); the first that fits is taken, so exact classes stand above wide ones.
ANSWERS: dict[type[HubError], tuple[int, str]] = {
    InvalidRequest: (400, "invalid_request_error"),
    AuthenticationFailed: (401, "authentication_error"),
    NotFound: (404, "not_found_error"),
    PermissionRefused: (403, "permission_error"),
    MethodNotAllowed: (405, "invalid_request_error"),
    RevisionConflict: (412, "revision_conflict_error"),
    MemoryPathConflict: (409, "memory_path_conflict_error"),
    MemoryEtagMismatch: (412, "memory_precondition_failed_error"),
    MemoryPreconditionFailed: (409, "memory_precondition_failed_error"),
    AdoptionConflict: (409, "adoption_conflict_error"),
    Conflict: (409, "conflict_error"),
    Gone: (410, "gone_error"),
    LeaseLost: (412, "precondition_failed_error"),
    RequestTooLarge: (413, "request_too_large"),
    Unprocessable: (422, "unprocessable_error"),
    PreconditionRequired: (428, "precondition_required_error"),
    RateLimited: (429, "rate_limit_error"),
    IntegrityBroken: (500, "api_error"),
    RecallFailed: (502, "recall_failed_error"),
    Unavailable: (503, "api_error"),
    ProviderTimeout: (504, "timeout_error"),
}
API_PREFIXES = ("/v1/", "/oc-memory/", "/openapi.yaml", "/healthz", "/readyz", "/metrics")


def status_of(error: HubError) -> int:
    return _answer_to(error)[0]


def _answer_to(error: HubError) -> tuple[int, str]:
    return next(answer for kind, answer in ANSWERS.items() if isinstance(error, kind))


def error_body(error: HubError) -> tuple[int, dict[str, Any]]:
    """(status, envelope)."""
    status, error_type = _answer_to(error)
    shown: dict[str, Any] = {"type": error_type, "message": error.message}
    if isinstance(error, MemoryPathConflict):
        shown |= {
            "conflicting_memory_id": error.conflicting_memory_id,
            "conflicting_path": error.conflicting_path,
        }
    if error.error_code is not None:
        shown["details"] = {"error_code": error.error_code, **error.facts}
    return status, {"type": "error", "error": shown, "request_id": current_request_id()}


def answer_error(error: HubError) -> HttpResponse:
    status, body = error_body(error)
    response = json_response(body, status=status)
    if status == 409:
        response["x-should-retry"] = "false"  # else the SDK sends a conflict three times
    if isinstance(error, MethodNotAllowed):
        response["Allow"] = ", ".join(error.allowed)
    if isinstance(error, RateLimited):
        response["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, AuthenticationFailed):
        response["WWW-Authenticate"] = "Bearer"
    return response


def json_response(body: Any, *, status: int = 200) -> HttpResponse:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text.encode(), status=status, content_type="application/json")


def translate(error: Exception) -> HubError | None:
    """The hub's error for one of Django's, gunicorn's or PostgreSQL's; None for a bug."""
    if isinstance(error, HubError):
        return error
    if isinstance(error, Http404):
        return NotFound("resource")
    if isinstance(error, RequestDataTooBig):
        told = error.args[0]  # a number: the limit of a form with files
        return body_too_large(told if isinstance(told, int) else settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if isinstance(error, TooManyFilesSent):
        return InvalidRequest(f"A form brings at most {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files at once.")
    if isinstance(error, DisallowedHost):
        return InvalidRequest("The Host header names a host that this hub does not answer for.")
    if isinstance(error, SuspiciousOperation):
        return InvalidRequest("The request is malformed.")
    if isinstance(error, UnreadablePostError | ParseException):
        return InvalidRequest("The body could not be read to its end.")
    return _translate_database(error) if isinstance(error, DatabaseError | InterfaceError) else None


def _translate_database(error: Exception) -> HubError | None:
    cause = error.__cause__
    if isinstance(cause, postgres.DiskFull):
        return Unavailable(
            "The database's disk is full, so nothing was saved; free space and repeat.",
            error_code="disk_full",
        )
    if isinstance(cause, postgres.QueryCanceled):
        return Unavailable(
            "The query took longer than the hub allows; ask for less at once, or repeat it later.",
            error_code="statement_timeout",
        )
    if isinstance(cause, postgres.ReadOnlySqlTransaction):
        return Unavailable(
            "The database is read-only at the moment, so nothing was saved; repeat the request later.",
            error_code="database_read_only",
        )
    if isinstance(error, OperationalError | InterfaceError):
        return Unavailable(
            "The database did not answer, so it is not known whether a change was saved; read, or repeat the request.",
            error_code="database_unavailable",
        )
    return None


def body_too_large(bytes_max: int) -> RequestTooLarge:
    return RequestTooLarge(f"The body is larger than {bytes_max} bytes.", error_code="body_too_large")


def answer_exception(error: Exception, context: Any = None) -> HttpResponse:
    """Any exception of an API view as its envelope; a bug is logged and answers 500."""
    translated = _report(error)
    return json_response(_bug_body(), status=500) if translated is None else answer_error(translated)


def exception_body(error: Exception) -> tuple[int, dict[str, Any]]:
    """(status, envelope) of any exception, for a door that is no HTTP answer; a bug is logged, and is a 500."""
    translated = _report(error)
    return (500, _bug_body()) if translated is None else error_body(translated)


def _report(error: Exception) -> HubError | None:
    translated = translate(error)
    if translated is None:
        log.error("bug", exc_info=error)
    elif isinstance(translated, Unavailable):
        log.warning("unavailable", error_code=translated.error_code, cause=type(error.__cause__).__name__)
    return translated


def _bug_body() -> dict[str, Any]:
    body = {"type": "api_error", "message": "The hub failed; the request id finds the cause in its log."}
    return {"type": "error", "error": body, "request_id": current_request_id()}


def is_api_path(path: str) -> bool:
    return path.startswith(API_PREFIXES)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, InvalidRequest("The request is malformed."), exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, PermissionRefused("You may not do this."), exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, NotFound("resource"), exception)


def server_error(request: HttpRequest) -> HttpResponse:
    failure = sys.exc_info()[1]
    error = failure if isinstance(failure, Exception) else RuntimeError("unknown failure")
    if is_api_path(request.path):
        return answer_exception(error)
    translated = translate(error)
    log.error("bug", exc_info=error)
    return _page(
        request,
        translated or Unavailable("The hub failed; the request id finds the cause in its log."),
        503 if isinstance(translated, Unavailable) else 500,
    )


def method_refused(request: HttpRequest, allowed: str) -> HttpResponse:
    """The page of a method that a console URL does not take."""
    error = MethodNotAllowed(request.method or "", [name.strip() for name in allowed.split(",")])
    response = answer_page(request, error)
    response["Allow"] = allowed
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    log.info("csrf_refused", reason=reason)
    message = "The form is no longer valid: go back, reload the page and send it again."
    return _answer(request, PermissionRefused(message), None)


def _answer(request: HttpRequest, error: HubError, cause: Exception | None) -> HttpResponse:
    translated = (translate(cause) if cause is not None else None) or error
    if is_api_path(request.path):
        return answer_error(translated)
    return answer_page(request, translated)


def answer_page(request: HttpRequest, error: HubError) -> HttpResponse:
    """An error as a page of the console."""
    return _page(request, error, status_of(error))


# status -> (heading, what to do about it)
PAGES: dict[int, tuple[str, str]] = {
    400: ("The request could not be read", "Go back, and try it again from the page you came from."),
    403: ("This was refused", ""),
    404: (
        "There is no such page",
        "It was never there, was deleted, or belongs to a project that you do not belong to.",
    ),
    405: (
        "This page cannot be asked for in this way",
        "Go back, and use the buttons of the page you came from.",
    ),
    409: ("Somebody else came first", "Go back, reload the page and look at what changed."),
    412: ("Somebody else came first", "Go back, reload the page and look at what changed."),
    413: ("That is too large", "Go back: what you typed is still there. Shorten it, or send less at once."),
    429: ("Too many tries", "Wait a moment, then try again."),
    503: ("Not possible at the moment", "Wait a moment, then reload the page."),
}
BROKEN = (
    "Something broke",
    "Try it again. If it happens twice, give the request id to whoever runs the hub.",
)


def _page(request: HttpRequest, error: HubError, status: int) -> HttpResponse:
    heading, advice = PAGES.get(status, BROKEN)
    facts = {
        "status": status,
        "heading": heading,
        "advice": advice,
        "error": error,
        "request_id": current_request_id(),
        "typed": list_typed(request),
    }
    return render(request, "memoryhub/problem.html", facts, status=status)


def signed_out(request: HttpRequest) -> HttpResponse:
    """Of a form that was sent after the session had ended, with what was typed into it."""
    message = "You were signed out meanwhile, so nothing was saved. Sign in, and send it again."
    return answer_page(request, PermissionRefused(message))

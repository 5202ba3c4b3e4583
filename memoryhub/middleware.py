"""What every request gets: an id, a log line without content, a metric. And what only console pages get: a session."""

import time
from collections.abc import Callable

import structlog
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from memoryhub import ids, metrics
from memoryhub.problems import is_api_path, method_refused
from memoryhub.request_context import set_request_id

type GetResponse = Callable[[HttpRequest], HttpResponse]
log = structlog.get_logger("memoryhub.requests")
PROBED_BY_ADDRESS = frozenset({"/healthz", "/readyz", "/metrics"})  # load balancers know no name


class RequestMiddleware:
    """Gives the request an id, answers it in the `request-id` header, logs and counts the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = ids.to_wire(ids.REQUEST, ids.new_id())
        set_request_id(request_id)
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            response["request-id"] = request_id
            if not response.streaming:  # without it the web server would send the body in chunks
                response["Content-Length"] = str(len(response.content))
                if request.method == "HEAD":
                    response.content = b""
            self._note(request, response, time.perf_counter() - started)
        finally:
            set_request_id(None)
        return response

    def _note(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        operation = metrics.operation_name(request)
        metrics.count_answer(operation, response.status_code, seconds)
        log.info(
            "request",
            method=request.method,
            operation=operation,
            status=response.status_code,
            ms=round(seconds * 1000, 1),
        )


class HostMiddleware:
    """Answers only for the hub's own names, so that no page of another site can reach it by a name of its own."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in PROBED_BY_ADDRESS:
            request.get_host()  # raises DisallowedHost
        return self.get_response(request)


class _ConsoleOnly:
    """The API reads no cookie, so it skips what is made of cookies."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api_path(request.path):
            passed: HttpResponse = self.get_response(request)  # type: ignore[attr-defined]
            return passed
        answer: HttpResponse = super().__call__(request)  # type: ignore[misc]
        return answer


class ConsoleMethodMiddleware:
    """Gives a page to the answer of a method that a URL of the console does not take: Django's own is empty."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not is_api_path(request.path):
            return method_refused(request, response["Allow"])
        return response


class ConsoleSessionMiddleware(_ConsoleOnly, SessionMiddleware): ...


class ConsoleUserMiddleware(_ConsoleOnly, AuthenticationMiddleware): ...


class ConsoleMessageMiddleware(_ConsoleOnly, MessageMiddleware): ...

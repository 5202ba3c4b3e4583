"""Glue of the REST door: key -> actor, strict input, one handler per operation, one dict out.

A view is a class with a method per HTTP method, each marked with `@operation(...)`: its name in the table of rights,
the shapes of body and query, and the shape of the answer. The order of checks is the contract's: authentication,
throttle, scope, body syntax and size, query values, body fields, and then the verb. One thing stands above it: a URL that names
something the caller may not see answers 404, whatever else is wrong with the request (architecture 6, item 5).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.serializers import Serializer, ValidationError
from rest_framework.views import APIView

from memoryhub import keys, metrics, strict_json
from memoryhub.actors import Actor
from memoryhub.errors import (
    AuthenticationFailed,
    InvalidRequest,
    MethodNotAllowed,
    PermissionRefused,
    RequestTooLarge,
)
from memoryhub.fields import StrictSerializer
from memoryhub.openapi import OperationSchema
from memoryhub.operations import OPERATIONS, Operation, allows
from memoryhub.problems import answer_exception, body_too_large, json_response
from memoryhub.throttles import count_request

type Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Door:
    """What an API method takes and gives. `body` None: no body is read. `raw_body`: the bytes themselves are."""

    operation: Operation
    summary: str
    body: type[StrictSerializer] | None
    query: type[StrictSerializer] | None
    answer: type[Serializer[Any]] | None
    raw_body: str | None
    answer_types: tuple[str, ...]
    lists: bool
    status: int
    also: tuple[int, ...]


def operation(
    name: str,
    summary: str,
    *,
    body: type[StrictSerializer] | None = None,
    query: type[StrictSerializer] | None = None,
    answer: type[Serializer[Any]] | None = None,
    raw_body: str | None = None,
    answer_types: tuple[str, ...] = ("application/json",),
    lists: bool = False,
    status: int = 200,
    also: tuple[int, ...] = (),
) -> Callable[[Handler], Handler]:
    """Mark a view's method as an operation of the table in `memoryhub.operations`. `also`: other statuses of success."""
    door = Door(OPERATIONS[name], summary, body, query, answer, raw_body, answer_types, lists, status, also)

    def mark(handler: Handler) -> Handler:
        handler.door = door  # type: ignore[attr-defined]
        return handler

    return mark


def authenticate(request: HttpRequest) -> Actor:
    """The actor of the key a request presents; cookies are never read here. Raises: AuthenticationFailed."""
    return keys.authenticate_key(presented_key(request.headers))


def presented_key(headers: Mapping[str, str]) -> str:
    """`Authorization: Bearer KEY` or `X-Api-Key: KEY`; given both, they must agree. Raises: AuthenticationFailed."""
    header, plain = headers.get("Authorization"), headers.get("X-Api-Key")
    scheme, _, bearer = (header or "").strip().partition(" ")
    bearer = bearer.strip()
    if header is not None and (scheme.lower() != "bearer" or not bearer):
        raise AuthenticationFailed("The Authorization header must read: Bearer KEY.")
    if header is not None and plain is not None and bearer != plain.strip():
        raise AuthenticationFailed("The Authorization and X-Api-Key headers name different keys.")
    key = bearer or (plain or "").strip()
    if not key:
        raise AuthenticationFailed("An API key is required: send Authorization: Bearer KEY.")
    return key


class HubView(APIView):
    """One URL of the API."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    schema = OperationSchema()
    body_bytes_max = settings.REQUEST_BODY_BYTES_MAX

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        try:
            return self._serve(request)
        except Exception as error:  # noqa: BLE001 - the door's one net: answer_exception reports what it cannot name
            return answer_exception(error)

    def _serve(self, request: HttpRequest) -> HttpResponseBase:
        handler = self._handler(request)
        door: Door = handler.door  # type: ignore[attr-defined]
        metrics.name_operation(request, door.operation.name)
        actor = self.authenticate(request)
        count_request(actor.credential_id, requests_max=settings.KEY_REQUESTS_PER_MINUTE_MAX)
        try:
            check_scope(actor, door.operation)
            arguments = self._arguments(request, door)
        except (PermissionRefused, InvalidRequest, RequestTooLarge):
            self.require_visible(actor)
            raise
        self.require_place(actor)
        self.request = cast(Any, request)
        result = handler(**self.kwargs, **arguments, actor=actor)
        return result if isinstance(result, HttpResponseBase) else json_response(result, status=door.status)

    def authenticate(self, request: HttpRequest) -> Actor:
        return authenticate(request)

    def require_visible(self, actor: Actor) -> None:
        """Raise NotFound when the URL names something the actor may not see. Views with ids in the URL override it."""

    def require_place(self, actor: Actor) -> None:
        """Raise NotFound when the URL leads through a place that no verb looks at and that is not the actor's."""

    def _handler(self, request: HttpRequest) -> Handler:
        method = (request.method or "").lower()
        if method == "head" and method in self.http_method_names and hasattr(self, "get"):
            method = "get"
        handler = getattr(self, method, None) if method in self.http_method_names else None
        if handler is None or not hasattr(handler, "door"):
            authenticate(request)
            raise MethodNotAllowed(request.method or "", self.allowed)
        return cast(Handler, handler)

    @property
    def allowed(self) -> list[str]:
        return [name.upper() for name in self.http_method_names if hasattr(getattr(self, name, None), "door")]

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        """What the handler takes besides ids: `body`, `raw`, `query`, as far as the door names them."""
        arguments: dict[str, Any] = {}
        optional = door.body is None or door.body.may_be_absent
        body = None
        if door.raw_body is None:
            body = read_json_body(request, optional=optional, bytes_max=self.body_bytes_max)
        if door.query is not None:
            arguments["query"] = read_query(request, door.query)
        if door.body is not None:
            arguments["body"] = read_shape(door.body, {} if body is None else body)
        elif body:
            raise InvalidRequest(f"{next(iter(body))}: this operation takes no body fields.")
        return arguments


def check_scope(actor: Actor, wanted: Operation) -> None:
    """Raises: PermissionRefused."""
    if not allows(actor.scopes, wanted):
        scopes = ", ".join(sorted(wanted.scopes))
        raise PermissionRefused(
            f"{wanted.name} needs a credential with one of the scopes {scopes}.", error_code="scope_missing"
        )
    if wanted.whole_project and actor.environment_id is not None:
        raise PermissionRefused(
            f"{wanted.name} needs a credential of the whole project; this one belongs to one environment.",
            error_code="environment_credential",
        )


def read_body(request: HttpRequest, *, bytes_max: int) -> bytes:
    """The body's bytes, also of a chunked request. Raises: RequestTooLarge, InvalidRequest for one that was cut off."""
    if request.META.get("CONTENT_LENGTH") or not request.META.get("wsgi.input_terminated"):
        announced = int(request.META.get("CONTENT_LENGTH") or 0)
        if announced > bytes_max:
            raise body_too_large(bytes_max)
        if len(request.body) < announced:  # else what arrived of a text would be taken for all of it
            raise InvalidRequest(f"The body ended after {len(request.body)} of {announced} bytes.")
        return request.body
    raw: bytes = request.META["wsgi.input"].read(bytes_max + 1)
    if len(raw) > bytes_max:
        raise body_too_large(bytes_max)
    return raw


def read_json_body(
    request: HttpRequest, *, optional: bool, bytes_max: int = settings.REQUEST_BODY_BYTES_MAX
) -> dict[str, Any] | None:
    """One JSON object, or None where no body came and none is needed. Raises: InvalidRequest, RequestTooLarge."""
    raw = read_body(request, bytes_max=bytes_max)
    if not raw:
        if optional:
            return None
        raise InvalidRequest("The body must be one JSON object.")
    check_content_type(request, "application/json")
    try:
        return strict_json.parse_object(raw)
    except strict_json.StrictJSONError as error:
        raise InvalidRequest(str(error)) from error


def check_content_type(request: HttpRequest, *wanted: str) -> str:
    """The media type of the body, one of `wanted`, in UTF-8. Raises: InvalidRequest."""
    media_type = (request.content_type or "").lower()
    if media_type not in wanted:
        raise InvalidRequest(f"Content-Type must be {' or '.join(wanted)}.")
    charset = (request.content_params or {}).get("charset", "utf-8").strip('"').lower()
    if charset not in ("utf-8", "utf8"):
        raise InvalidRequest("The body must be UTF-8; charset names another encoding.")
    return media_type


def read_query(request: HttpRequest, shape: type[StrictSerializer]) -> dict[str, Any]:
    """Query values; unknown parameters are ignored, an empty value counts as absent (unless the field says otherwise)."""
    names, values = {}, {}
    for name, field in _reader(shape, is_query=True).fields.items():
        source = names[name] = getattr(field, "query_name", None) or name
        if source not in request.GET:
            continue
        value = request.GET[source]
        if value != "" or getattr(field, "empty_is_a_value", False):
            values[name] = value
    return read_shape(shape, values, names=names, is_query=True)


def read_shape(
    shape: type[StrictSerializer],
    values: Any,
    *,
    names: Mapping[str, str] | None = None,
    is_query: bool = False,
) -> dict[str, Any]:
    """Values checked against a shape: fields left out are absent from the result.

    `names`: what the caller calls a field, where that differs. `is_query`: every value is text. Raises: InvalidRequest.
    """
    try:
        return cast(dict[str, Any], _reader(shape, is_query=is_query).run_validation(values))
    except ValidationError as error:
        errors, names = cast(dict[str, Any], error.detail), names or {}
        raise InvalidRequest(
            first_error({names.get(name, name): wrong for name, wrong in errors.items()})
        ) from error


@cache
def _reader(shape: type[StrictSerializer], *, is_query: bool) -> StrictSerializer:
    """The one instance for all requests: reading leaves nothing in it, and to make one is to copy every field."""
    return shape(context={"is_query": is_query})


def first_error(errors: Any, where: str = "") -> str:
    """`field.inner: sentence` of the first error in a serializer's tree."""
    while isinstance(errors, dict):
        name, errors = next(iter(errors.items()))
        if name != "non_field_errors":
            where = f"{where}.{name}" if where else str(name)
    if isinstance(errors, list) and errors and isinstance(errors[0], dict | list):
        return first_error(errors[0], where)
    sentence = str(errors[0] if isinstance(errors, list) else errors)
    return f"{where}: {sentence}" if where else sentence

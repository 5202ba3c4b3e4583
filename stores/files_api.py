"""The REST door of memories by path, with the conditions of HTTP. Source: RFC 9110 sections 8.8, 12 and 13.

The entity tag is the SHA-256 of the content, whether it is shown as JSON or as text.
"""

from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header, parse_etags

from memoryhub.actors import Actor
from memoryhub.api import (
    Door,
    check_content_type,
    operation,
    read_body,
    read_json_body,
    read_query,
    read_shape,
)
from memoryhub.digests import is_sha256_hex
from memoryhub.errors import InvalidRequest, MemoryEtagMismatch, MemoryPreconditionFailed, NotFound
from memoryhub.fields import StrictSerializer
from memoryhub.problems import json_response
from memoryhub.shapes import DeletedShape, deleted_wire
from stores import files
from stores.files import FilePrecondition
from stores.models import Memory
from stores.paths import check_path
from stores.serializers import MemoryContent, MemoryShape, ViewQuery, memory_wire
from stores.views import StoreView

type Values = dict[str, Any]
RAW_TYPES = ("text/plain", "application/octet-stream")


class FileBody(StrictSerializer):
    content = MemoryContent()


class File(StoreView):
    @operation(
        "files.get",
        "Get a memory by its path",
        query=ViewQuery,
        answer=MemoryShape,
        answer_types=("application/json", "text/plain"),
    )
    def get(self, store_id: str, file_path: str, *, query: Values, actor: Actor) -> HttpResponse:
        as_text = self.request.get_preferred_type(["application/json", "text/plain"]) == "text/plain"
        view = query.get("view", "full")
        memory = files.get_file(
            store_id, f"/{file_path}", with_content=as_text or view == "full", actor=actor
        )
        if _is_known(self.request, memory):
            response = HttpResponse(status=304)
            del response["Content-Type"]
        else:
            response = _text_answer(memory) if as_text else json_response(memory_wire(memory, view))
        response["Vary"] = "Accept"
        return _with_etag(response, memory)

    @operation(
        "files.put",
        "Create or update a memory by its path",
        body=FileBody,
        raw_body="text/plain",
        query=ViewQuery,
        answer=MemoryShape,
    )
    def put(
        self,
        store_id: str,
        file_path: str,
        *,
        content: str,
        precondition: FilePrecondition,
        query: Values,
        actor: Actor,
    ) -> HttpResponse:
        try:
            memory = files.put_file(
                store_id, f"/{file_path}", content=content, precondition=precondition, actor=actor
            )
        except MemoryPreconditionFailed as error:
            raise MemoryEtagMismatch(error.message) from error
        return _with_etag(json_response(memory_wire(memory, query.get("view", "basic"))), memory)

    @operation("files.delete", "Delete a memory by its path", answer=DeletedShape)
    def delete(
        self, store_id: str, file_path: str, *, precondition: FilePrecondition, actor: Actor
    ) -> Values:
        try:
            deleted = files.delete_file(
                store_id, f"/{file_path}", expected_sha256=precondition.sha256, actor=actor
            )
        except MemoryPreconditionFailed as error:
            raise MemoryEtagMismatch(error.message) from error
        return deleted_wire(deleted, "memory_deleted")

    def require_visible(self, actor: Actor) -> None:
        super().require_visible(actor)
        if self.request.method != "PUT":
            path = f"/{self.kwargs['file_path']}"
            files.get_file(self.kwargs["store_id"], path, with_content=False, actor=actor)

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        _check_url(request)
        if request.method == "PUT":
            check_path(f"/{self.kwargs['file_path']}")
            content, query = _read_content(request), read_query(request, ViewQuery)
            return {"content": content, "query": query, "precondition": _read_precondition(request)}
        arguments = super()._arguments(request, door)
        return arguments | (
            {"precondition": _read_precondition(request)} if request.method == "DELETE" else {}
        )


def _check_url(request: HttpRequest) -> None:
    """Django writes bytes that are no UTF-8 as `%FF`, which is the name of another file. Raises: NotFound."""
    try:
        unquote_to_bytes(request.META.get("RAW_URI", "").partition("?")[0]).decode()
    except UnicodeDecodeError as error:
        raise NotFound("memory") from error


def _read_content(request: HttpRequest) -> str:
    """Raises: InvalidRequest, RequestTooLarge."""
    if check_content_type(request, "application/json", *RAW_TYPES) == "application/json":
        return str(read_shape(FileBody, read_json_body(request, optional=False))["content"])
    raw = read_body(request, bytes_max=settings.REQUEST_BODY_BYTES_MAX)
    try:
        content = raw.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise InvalidRequest("The body is not valid UTF-8.") from error
    return str(read_shape(FileBody, {"content": content})["content"])


def _read_precondition(request: HttpRequest) -> FilePrecondition:
    """From `If-Match: "SHA-256"`, `If-Match: *` or `If-None-Match: *`. Raises: InvalidRequest for any other."""
    match, none_match = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    if match is not None and none_match is not None:
        raise InvalidRequest("Send If-Match or If-None-Match, not both.")
    if none_match is not None:
        if none_match.strip() != "*" or request.method != "PUT":
            raise InvalidRequest("If-None-Match: only * is known here, to create what is not there yet.")
        return FilePrecondition("absent")
    if match is None:
        return FilePrecondition()
    return FilePrecondition("present", _read_etag(match.strip()))


def _read_etag(text: str) -> str | None:
    if text == "*":
        return None
    if not (text.startswith('"') and text.endswith('"') and is_sha256_hex(text[1:-1])):
        raise InvalidRequest('If-Match: This must be one "content_sha256" in double quotes, or *.')
    return text[1:-1]


def _is_known(request: HttpRequest, memory: Memory) -> bool:
    """Whether the client's copy is current: the weak comparison of If-None-Match."""
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in known or memory.content_sha256 in (tag.removeprefix("W/").strip('"') for tag in known)


def _text_answer(memory: Memory) -> HttpResponse:
    """The content's own bytes, as a download that no browser shows."""
    content = memory.head.content or ""
    response = HttpResponse(content.encode(), content_type="text/plain; charset=utf-8")
    name = memory.path.rpartition("/")[2]
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Content-Security-Policy"] = "sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _with_etag(response: HttpResponse, memory: Memory) -> HttpResponse:
    response["ETag"] = f'"{memory.content_sha256}"'
    response["Cache-Control"] = "private, no-cache"
    return response

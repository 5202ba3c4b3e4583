"""The REST door of documents, with the conditions of HTTP. Source: contract, section 8.2; RFC 9110 section 13."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from memoryhub.actors import Actor
from memoryhub.api import Door, operation
from memoryhub.errors import InvalidRequest, PreconditionRequired
from memoryhub.problems import json_response
from providers import document_exports, documents
from providers.document_serializers import (
    DocumentItemShape,
    DocumentShape,
    ExportQuery,
    PutDocumentBody,
    UpdateDocumentBody,
    document_item_wire,
    document_wire,
)
from providers.documents import Document
from providers.limits import BODY_BYTES_MAX
from providers.serializers import EnvironmentPageQuery, EnvironmentQuery, list_request
from providers.views import ProjectMemoryView, no_content, read_revision

type Values = dict[str, Any]


class Documents(ProjectMemoryView):
    def require_resource(self, environment: str, actor: Actor) -> None:
        documents.get_document_store(environment, self.kwargs["resource_id"], actor=actor)

    @operation(
        "memory_documents.list",
        "List the documents of a resource",
        query=EnvironmentPageQuery,
        answer=DocumentItemShape,
        lists=True,
    )
    def get(self, project_id: str, resource_id: str, *, query: Values, actor: Actor) -> Values:
        environment = query["environment"]
        filters = {"project": project_id, "environment": environment, "resource": resource_id}
        page = documents.list_documents(
            environment, resource_id, list_request("memory_documents", query, filters), actor=actor
        )
        return page.as_wire(document_item_wire)


class DocumentUrl(ProjectMemoryView):
    body_bytes_max = BODY_BYTES_MAX

    @operation("memory_documents.get", "Get a document", query=EnvironmentQuery, answer=DocumentShape)
    def get(
        self, project_id: str, resource_id: str, document_id: str, *, query: Values, actor: Actor
    ) -> HttpResponse:
        return _answer(documents.get_document(query["environment"], resource_id, document_id, actor=actor))

    @operation(
        "memory_documents.put",
        "Create a document, or replace its text",
        body=PutDocumentBody,
        query=EnvironmentQuery,
        answer=DocumentShape,
        also=(201,),
    )
    def put(
        self,
        project_id: str,
        resource_id: str,
        document_id: str,
        *,
        body: Values,
        query: Values,
        revision: str | None,
        actor: Actor,
    ) -> HttpResponse:
        environment = query["environment"]
        if revision is None:
            if "title" not in body:
                raise InvalidRequest("title: A new document needs a title.")
            created = documents.create_document(
                environment,
                resource_id,
                document_id,
                title=body["title"],
                text=body.get("text", ""),
                summary=body.get("summary", ""),
                agent_writes=body.get("agent_writes") != "disabled",
                actor=actor,
            )
            return _answer(created, status=201)
        _refuse(body, ("title", "agent_writes"), "a replacement keeps it; change it with PATCH.")
        if "text" not in body:
            raise InvalidRequest("text: A replacement needs the whole text.")
        return _answer(
            documents.replace_document(
                environment,
                resource_id,
                document_id,
                text=body["text"],
                summary=body.get("summary"),
                expected_revision=revision,
                actor=actor,
            )
        )

    @operation(
        "memory_documents.update",
        "Rename, freeze or unfreeze a document",
        body=UpdateDocumentBody,
        query=EnvironmentQuery,
        answer=DocumentShape,
    )
    def patch(
        self,
        project_id: str,
        resource_id: str,
        document_id: str,
        *,
        body: Values,
        query: Values,
        revision: str,
        actor: Actor,
    ) -> HttpResponse:
        policy = body.get("agent_writes")
        changed = documents.change_card(
            query["environment"],
            resource_id,
            document_id,
            title=body.get("title"),
            agent_writes=None if policy is None else policy == "enabled",
            expected_revision=revision,
            actor=actor,
        )
        return _answer(changed)

    @operation("memory_documents.delete", "Delete a document", query=EnvironmentQuery, status=204)
    def delete(
        self,
        project_id: str,
        resource_id: str,
        document_id: str,
        *,
        query: Values,
        revision: str,
        actor: Actor,
    ) -> HttpResponse:
        documents.delete_document(
            query["environment"], resource_id, document_id, expected_revision=revision, actor=actor
        )
        return no_content()

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        arguments = super()._arguments(request, door)
        if request.method in ("PUT", "PATCH", "DELETE"):
            arguments["revision"] = _read_condition(request)
        return arguments


def _refuse(body: Values, names: tuple[str, ...], sentence: str) -> None:
    for name in names:
        if name in body:
            raise InvalidRequest(f"{name}: {sentence[0].upper()}{sentence[1:]}")


def _read_condition(request: HttpRequest) -> str | None:
    """The revision that a change was made for; None of a PUT that makes what is not there yet.

    Raises: InvalidRequest, PreconditionRequired.
    """
    match, none_match = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    if match is not None and none_match is not None:
        raise InvalidRequest("Send If-Match or If-None-Match, not both.")
    if none_match is not None:
        if none_match.strip() != "*" or request.method != "PUT":
            raise InvalidRequest("If-None-Match: only * is known here, to create what is not there yet.")
        return None
    revision = read_revision(match)
    if revision is None:
        creating = ", or If-None-Match: * to create it" if request.method == "PUT" else ""
        raise PreconditionRequired(
            f'Send If-Match with the "revision" that you read{creating}.', error_code="precondition_required"
        )
    return revision


def _answer(document: Document, *, status: int = 200) -> HttpResponse:
    response = json_response(document_wire(document), status=status)
    response["ETag"] = f'"{document.revision}"'
    response["Cache-Control"] = "private, no-cache"
    return response


class DocumentExport(ProjectMemoryView):
    @operation(
        "memory_documents.export",
        "Export the documents of an environment, a line of JSON each",
        query=ExportQuery,
        answer=DocumentShape,
        answer_types=("application/x-ndjson",),
    )
    def get(self, project_id: str, *, query: Values, actor: Actor) -> StreamingHttpResponse:
        wanted = self.request.GET.getlist("resource")
        lines = document_exports.export_documents(query["environment"], wanted, actor=actor)
        response = StreamingHttpResponse(_encoded(lines), content_type="application/x-ndjson")
        response["Content-Disposition"] = 'attachment; filename="documents.ndjson"'
        return response


def _encoded(lines: Iterator[str]) -> Iterator[bytes]:
    return (line.encode() for line in lines)

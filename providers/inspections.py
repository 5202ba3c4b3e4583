"""What an owner looks at: a model request with all that was given and called, as far as it is not erased."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, Func, IntegerField, Prefetch
from django.db.models.fields.json import KT
from django.db.models.query import QuerySet

from memoryhub import sessions
from memoryhub.actors import Actor
from memoryhub.models import Session
from memoryhub.pagination import ListRequest, Page, cut_page
from providers import model_requests
from providers.models import ModelRequest, Projection, ToolCall
from providers.offers import OfferedTool

COUNTED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Inspected:
    """`tools`: what the model was offered, empty before the render has selected. `calls`: as they came."""

    session: Session
    request: ModelRequest
    projections: list[Projection]
    tools: list[OfferedTool]
    calls: Page[ToolCall]


def inspect_request(session_id: str, request_id: str, page: ListRequest, *, actor: Actor) -> Inspected:
    """With projections and calls whose text was erased. Raises: NotFound, InvalidRequest for a foreign cursor."""
    session = sessions.get_session(session_id, actor=actor)
    request = model_requests.find_request(session, request_id)
    projections = Projection.objects.filter(model_request_id=request.id).order_by("resource_id")
    tools = model_requests.offered_tools(session, request)
    return Inspected(session, request, list(projections), list(tools.values()), _cut_calls(request, page))


def _cut_calls(request: ModelRequest, page: ListRequest) -> Page[ToolCall]:
    calls = _said(ToolCall.objects.filter(model_request_id=request.id))
    position = page.position()
    if position is not None:
        calls = calls.filter(id__gt=UUID(hex=position[0]))
    rows = list(calls.order_by("id")[: page.limit + 1])
    return cut_page(rows, page, lambda call: [call.id.hex])


def _said(calls: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
    """With `status` and `reason` of the outcome, None where it has none."""
    return calls.annotate(status=KT("output__status"), reason=KT("output__reason"))


def list_inspected(session_id: str, page: ListRequest, *, actor: Actor) -> Page[ModelRequest]:
    """Newest first: each with the sizes of what was recalled and the outcomes of its calls, without any text.

    Raises: NotFound, InvalidRequest for a foreign cursor.
    """
    session = sessions.get_session(session_id, actor=actor)
    size = Func(F("text"), function="octet_length", output_field=IntegerField())
    given = Projection.objects.defer("text", "sources").annotate(size_bytes=size).order_by("resource_id")
    calls = _said(ToolCall.objects.defer("arguments", "output")).order_by("id")
    held = ModelRequest.objects.filter(session_id=session.id).prefetch_related(
        Prefetch("projections", given), Prefetch("tool_calls", calls)
    )
    position = page.position()
    if position is not None:
        held = held.filter(id__lt=UUID(hex=position[0]))
    rows = list(held.order_by("-id")[: page.limit + 1])
    return cut_page(rows, page, lambda request: [request.id.hex])


def count_requests(session: Session) -> dict[str, int]:
    """`{"requests_count", "calls_count"}`, COUNTED_MAX at most."""
    requests = ModelRequest.objects.filter(session_id=session.id)
    calls = ToolCall.objects.filter(model_request__session_id=session.id)
    return {"requests_count": requests[:COUNTED_MAX].count(), "calls_count": calls[:COUNTED_MAX].count()}

"""What an owner looks at of other services: how they do, their calls with every attempt, the secrets that are sent to them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.db import connection
from django.db.models.query import QuerySet

from memoryhub import ids, sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.models import Secret, Session
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rooms import Need
from memoryhub.rows import find_row
from providers.models import Deployment, HttpOperation, ModelRequest, Projection, Resource
from providers.places import DONE
from providers.retries import Kind
from providers.service_figures import Figures, measure

FIGURES_HOURS = 24
FIGURES_COUNT_MAX = 1_000
CALLS_SHOWN = 10
CALLS_OF_REQUEST_MAX = 50
FAILING_HOURS, FAILING_OF, FAILING_LEAST = 1, 20, 3
# Codes of calls that ended well, or not by a fault of the service or of what is sent to it.
FAULTLESS = ("ok", "rejected", "cancelled", "session_closed", "host_overloaded")
_SECONDS_OF_HOUR = 3_600

_FAILING = """
SELECT r.resource_id, count(*), count(*) FILTER (WHERE o.code <> ALL (%(faultless)s))
  FROM providers_resource r
 CROSS JOIN LATERAL (
       SELECT code FROM providers_httpoperation
        WHERE environment_id = r.environment_id AND resource_id = r.resource_id AND id > %(since)s AND state = 'done'
        ORDER BY id DESC LIMIT %(last)s) o
 WHERE r.environment_id = %(environment)s AND r.kind = 'http'
 GROUP BY r.resource_id ORDER BY r.resource_id
"""


def _calls() -> QuerySet[HttpOperation]:
    return HttpOperation.objects.defer("body", "outcome").prefetch_related("attempts")


def _since(hours: int) -> UUID:
    return ids.first_id(time.time() - hours * _SECONDS_OF_HOUR)


def _of(resource: Resource) -> QuerySet[HttpOperation]:
    return _calls().filter(environment_id=resource.environment_id, resource_id=resource.resource_id)


def list_calls(resource: Resource, page: ListRequest) -> Page[HttpOperation]:
    """Newest first. Raises: InvalidRequest for a foreign cursor."""
    return cut_newest(_of(resource), page)


def newest_calls(resource: Resource) -> list[HttpOperation]:
    return list(_of(resource).order_by("-id")[:CALLS_SHOWN])


def list_session_calls(
    session_id: str, page: ListRequest, *, actor: Actor
) -> tuple[Session, Page[HttpOperation]]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    session = sessions.get_session(session_id, actor=actor)
    return session, cut_newest(_calls().filter(session_id=session.id), page)


def list_request_calls(request: ModelRequest) -> list[HttpOperation]:
    """Newest first, CALLS_OF_REQUEST_MAX at most."""
    return list(_calls().filter(model_request_id=request.id).order_by("-id")[:CALLS_OF_REQUEST_MAX])


def read_figures(resource: Resource) -> Figures:
    """Of the last FIGURES_HOURS, the newest FIGURES_COUNT_MAX calls at most: one query."""
    ended = HttpOperation.objects.filter(
        environment_id=resource.environment_id,
        resource_id=resource.resource_id,
        id__gt=_since(FIGURES_HOURS),
        state=DONE,
    )
    newest = ended.order_by("-id").values_list("code", "started_at", "finished_at")
    return measure(list(newest[: FIGURES_COUNT_MAX + 1]), count_max=FIGURES_COUNT_MAX)


def list_failing(actor: Actor) -> list[Need]:
    """Services of which half of the last calls failed, and some at least: one query."""
    environment_id = tenancy.choose_environment(None, actor=actor)
    wanted: dict[str, UUID | int | list[str]] = {
        "environment": environment_id,
        "since": _since(FAILING_HOURS),
        "last": FAILING_OF,
        "faultless": list(FAULTLESS),
    }
    with connection.cursor() as cursor:
        cursor.execute(_FAILING, wanted)
        rows = cursor.fetchall()
    return [
        Need(
            f"{failed} of the last {count} calls of {resource_id} failed.",
            "resource",
            {"resource_id": resource_id},
        )
        for resource_id, count, failed in rows
        if failed >= FAILING_LEAST and 2 * failed >= count
    ]


@dataclass(frozen=True, slots=True)
class InspectedCall:
    """`projection`: what a recall gave its request, once that is accepted; `cause`: why it failed, when by this recall.

    `has_doubt`: the error of a write says that it may be done.
    """

    operation: HttpOperation
    projection: Projection | None
    cause: Any
    has_doubt: bool


def inspect_call(operation_id: str, *, actor: Actor) -> InspectedCall:
    """Raises: NotFound."""
    key = ids.from_wire(ids.HTTP_OPERATION, operation_id)
    visible = _calls().filter(**actor.owners)
    related = ("session", "model_request", "tool_call", "binding__namespace", "binding__resource")
    operation = None if key is None else find_row(visible.filter(id=key).select_related(*related))
    if operation is None:
        raise NotFound("call")
    call, is_last = operation.tool_call, _is_of_last_round(operation)
    return InspectedCall(
        operation,
        _find_projection(operation) if is_last else None,
        _find_cause(operation) if is_last else None,
        call is not None and _says_doubt(call.output),
    )


def _is_of_last_round(operation: HttpOperation) -> bool:
    """What a request was told is of the recalls of its last round."""
    return operation.kind == Kind.RECALL and operation.model_request.round == operation.round


def _find_cause(operation: HttpOperation) -> Any:
    cause = operation.model_request.cause or {}
    return cause.get("cause") if cause.get("resource") == operation.resource_id else None


def _find_projection(operation: HttpOperation) -> Projection | None:
    request = operation.model_request
    held = Projection.objects.filter(model_request_id=request.id, resource_id=operation.resource_id)
    return find_row(held)


def _says_doubt(output: Any) -> bool:
    error = output.get("error") if isinstance(output, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return isinstance(details, dict) and details.get("mayHaveCommitted") is True


@dataclass(frozen=True, slots=True)
class SentSecret:
    """A secret that a connection names, as it stands: `ready`, `elsewhere` when it may not be sent there, or `missing`."""

    name: str
    agent_id: str
    state: Literal["ready", "elsewhere", "missing"]
    secret: Secret | None


def list_sent_secrets(
    resource: Resource, declared_connection: dict[str, Any], declaring: Sequence[Deployment]
) -> list[SentSecret]:
    """By name, of all agents first: one query."""
    headers = declared_connection.get("headers", {})
    names = sorted({one["secret"] for one in headers.values() if isinstance(one, dict) and one.get("secret")})
    agents = ["", *(one.agent_id for one in declaring)]
    rows = Secret.objects.filter(environment_id=resource.environment_id, name__in=names, agent_id__in=agents)
    held = list(rows.defer("sealed").order_by("name", "agent_id")) if names else []
    found = [_sent(one, resource.provider["origin"]) for one in held]
    missing = [
        SentSecret(name, "", "missing", None) for name in names if name not in {one.name for one in held}
    ]
    return sorted([*found, *missing], key=lambda one: (one.name, one.agent_id))


def _sent(secret: Secret, origin: str) -> SentSecret:
    state: Literal["ready", "elsewhere"] = "ready" if origin in secret.allowed_origins else "elsewhere"
    return SentSecret(secret.name, secret.agent_id, state, secret)

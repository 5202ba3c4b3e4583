"""Ask a service as a model request would, for a person: a session of one request, which ends when the recall has.

It is the very call that an agent's request makes, so the service cannot tell it from one, and its attempts are kept like any.
"""

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, NotFound, RecallFailed
from providers import declared, documents, model_requests, sessions
from providers.bindings import parse_bindings
from providers.model_requests import RECALLING
from providers.models import HttpOperation, Namespace, Resource
from providers.sessions import WantedSession

CLIENT_REQUEST_ID = "trial"
NAMESPACES_SHOWN_MAX = 20


def get_service(resource_id: str, *, actor: Actor) -> Resource:
    """Raises: NotFound, also for a resource of documents."""
    resource = documents.get_resource(None, resource_id, actor=actor)
    if resource.kind != "http":
        raise NotFound("service")
    return resource


def newest_namespaces(resource: Resource) -> list[str]:
    held = Namespace.objects.filter(resource_id=resource.id).order_by("-id")
    return list(held.values_list("namespace_id", flat=True)[:NAMESPACES_SHOWN_MAX])


def try_service(resource_id: str, *, namespace_id: str, input_text: str, actor: Actor) -> HttpOperation:
    """The recall, which may still be under way when nobody could wait for it; then its session is still live.

    Raises: NotFound; InvalidRequest, Conflict as the start of a session.
    """
    resource = get_service(resource_id, actor=actor)
    session_id = _open(resource, namespace_id, actor)
    if not _is_under_way(session_id, input_text, actor):
        sessions.end_session(session_id, actor=actor)
    return _find_recall(session_id)


def _is_under_way(session_id: str, input_text: str, actor: Actor) -> bool:
    try:
        accepted = model_requests.open_request(
            session_id, client_request_id=CLIENT_REQUEST_ID, input_text=input_text, waits=True, actor=actor
        )
    except RecallFailed:  # the call says why
        return False
    return accepted.request.state == RECALLING


def _open(resource: Resource, namespace_id: str, actor: Actor) -> str:
    declaring = declared.list_declaring(resource)
    if not declaring:
        raise Conflict(
            "No deployment that is in force here declares the resource.", error_code="deployment_not_promoted"
        )
    bound = {resource.resource_id: {"scope": "namespace", "id": namespace_id, "access": "read"}}
    wanted = WantedSession(
        environment=None,
        agent=declaring[0].agent_id,
        deployment_id=None,
        bindings=parse_bindings(bound),
        stores=[],
        title=f"Trial of {resource.resource_id}",
    )
    return sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id


def _find_recall(session_id: str) -> HttpOperation:
    session_key = ids.from_wire(ids.SESSION, session_id)
    assert session_key is not None
    return HttpOperation.objects.get(session_id=session_key)

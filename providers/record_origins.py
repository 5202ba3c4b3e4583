"""Whose records a session means, and where what it saves comes from: from what was recorded of the session, never from its model.

Source: contract of the memory provider, sections 1.1 and 5.3.
"""

from django.db.models import F, Q
from django.db.models.query import QuerySet

from memoryhub.models import Session
from providers.contract import Origin, Scope
from providers.models import ModelRequest, Projection, ToolCall
from providers.pins import Pinned
from providers.principals import OWN_ISSUER, Principal, read_principal
from providers.record_scopes import tenant_of
from stores.models import Attachment


def named_principal(request: ModelRequest, pinned: Pinned) -> Principal | None:
    """Whose input is current, as the application says; None when it named nobody. A request without input goes on with the last one."""
    named = read_principal(request.principal)
    if named is None and not request.has_input:
        named = _last_principal(request)
    return named or pinned.principal


def _last_principal(request: ModelRequest) -> Principal | None:
    """Who was named with the last input before a request."""
    before = ModelRequest.objects.filter(session_id=request.session_id, has_input=True, id__lt=request.id)
    return read_principal(before.order_by("-id").values_list("principal", flat=True).first())


def scope_of_request(session: Session, request: ModelRequest, pinned: Pinned) -> Scope:
    """Nobody named: the records are those of the credential that made the session."""
    principal = named_principal(request, pinned) or Principal(OWN_ISSUER, session.created_by_id)
    tenant = tenant_of(session.project_id, session.environment_id)
    return Scope(tenant, pinned.deployment.agent_id, principal.scope)


def origin_of(session: Session, request: ModelRequest, call: ToolCall, pinned: Pinned) -> Origin:
    """`user`: a principal's input began the turn, and nothing that is not theirs can be in the context."""
    if _has_untrusted(session, request, call, pinned):
        return "tool_output"
    return "user" if _is_theirs(session, request, pinned) else "model"


def _has_untrusted(session: Session, request: ModelRequest, call: ToolCall, pinned: Pinned) -> bool:
    """The result of a tool, a memory that was shown, another principal's input, or what the application says of."""
    if ToolCall.objects.filter(model_request__session_id=session.id).exclude(id=call.id).exists():
        return True
    requests = ModelRequest.objects.filter(session_id=session.id)
    if requests.filter(has_untrusted=True).exists() or _has_others(requests, request, pinned):
        return True
    shown = Projection.objects.filter(model_request__session_id=session.id)
    shown = shown.filter(~Q(text="") | Q(erased_at__isnull=False))
    return shown.filter(model_request__selected__contains=[F("resource_id")]).exists()


def _has_others(requests: QuerySet[ModelRequest], request: ModelRequest, pinned: Pinned) -> bool:
    """Whether the input of another principal came before."""
    current = named_principal(request, pinned)
    given = requests.filter(has_input=True).exclude(id=request.id)
    named = given.order_by("principal").values_list("principal", flat=True).distinct()[:3]
    return any((read_principal(one) or pinned.principal) != current for one in named)


def _is_theirs(session: Session, request: ModelRequest, pinned: Pinned) -> bool:
    """Of an agent with tools of its own, or with files, the hub does not see what it has read."""
    if not request.has_input or named_principal(request, pinned) is None or pinned.manifest.ordinary_tools:
        return False
    return not Attachment.objects.filter(session_id=session.id).exists()

"""Calls that come with a session's token: each is a call of the session's model, without a model request of its own.

It belongs to the request whose input is current, so whose records it means, what it was given and where its words come from are known
as of every call of the session. Order of locks: the session, its token, and then as in every call: whoever revokes a token has the
session before it.
"""

from dataclasses import replace
from typing import Any

from memoryhub import ids, sessions
from memoryhub.actors import Actor
from memoryhub.credentials import hold_credential
from memoryhub.models import Session
from providers.bindings import list_bindings
from providers.model_requests import OF_TOKENS
from providers.models import Binding, ModelRequest, ToolCall
from providers.sessions import session_actor

# Of the request that the hub makes where the application has made none yet.
OWN_REQUEST = "memoryhub:session-token"
CALL_PREFIX = "token:"  # of a call's id, in place of a model's


def is_session_token(actor: Actor) -> bool:
    """Whether it came with a token of a session, and with none of a work item."""
    return actor.token_id is not None and actor.work_id is None


def list_bound(actor: Actor) -> list[Binding]:
    """What the session of a token reaches now, by resource id; nothing without one."""
    session_id = ids.from_wire(ids.SESSION, actor.actor_id) if is_session_token(actor) else None
    if session_id is None:
        return []
    bound = Binding.objects.filter(session_id=session_id, revoked_at=None, project_id=actor.project_id)
    return list(bound.select_related("resource").order_by("resource__resource_id"))


def lock_own_session(actor: Actor) -> Session:
    """A step: the session of a token, held alone, and the token. Once the end of either has answered, nothing more commits.

    Raises: NotFound, AuthenticationFailed, Conflict.
    """
    session = sessions.lock_session(actor.actor_id, actor)
    hold_credential(actor)
    sessions.require_live(session)
    return session


def token_actor(session: Session, actor: Actor) -> Actor:
    """Who a write is made by: the session, and the trail says with which token. Not bound to the stores that the token names."""
    return replace(session_actor(session), token_id=actor.token_id)


def bindings_of(session: Session, *scopes: str) -> list[Binding]:
    """By resource id, revoked ones too."""
    return [one for one in list_bindings(session) if one.scope in scopes]


def lets_write(binding: Binding) -> bool:
    """By its access, and of records by what was declared last."""
    if binding.access != "read-write" or binding.scope not in ("document", "records"):
        return False
    return bool(binding.scope == "document" or binding.resource.provider["memoryWrite"] != "deny")


def find_current_request(session: Session) -> ModelRequest:
    """A step: the newest; where the application has begun none yet, one of the hub's own, without input."""
    newest = ModelRequest.objects.filter(session_id=session.id).order_by("-id").first()
    if newest is not None:
        return newest
    return ModelRequest.objects.create(
        project_id=session.project_id,
        session=session,
        client_request_id=OWN_REQUEST,
        state=OF_TOKENS,
        selected=[],
    )


def draft_call(
    request: ModelRequest,
    name: str,
    arguments: dict[str, Any],
    *,
    request_sha256: str,
    call_id: str | None = None,
) -> ToolCall:
    """Not saved. `call_id` None: it is never repeated."""
    return ToolCall(
        project_id=request.project_id,
        model_request=request,
        call_id=call_id or f"{CALL_PREFIX}{ids.new_id().hex}",
        name=name,
        arguments=arguments,
        request_sha256=request_sha256,
        state="done",
    )

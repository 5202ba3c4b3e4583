"""The REST door of the tokens of sessions."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.shapes import PageQuery
from providers import session_tokens
from providers.limits import SESSION_TOKEN_SECONDS_DEFAULT
from providers.serializers import list_request
from providers.session_token_serializers import (
    CreateTokenBody,
    IssuedTokenShape,
    TokenShape,
    issued_token_wire,
    token_wire,
)
from providers.views import SessionView

type Values = dict[str, Any]


class Tokens(SessionView):
    @operation(
        "session_tokens.create",
        "Create a token of a session",
        body=CreateTokenBody,
        answer=IssuedTokenShape,
        status=201,
    )
    def post(self, session_id: str, *, body: Values, actor: Actor) -> Values:
        seconds = body.get("expires_in_seconds", SESSION_TOKEN_SECONDS_DEFAULT)
        return issued_token_wire(session_tokens.create_token(session_id, seconds=seconds, actor=actor))

    @operation(
        "session_tokens.list", "List the tokens of a session", query=PageQuery, answer=TokenShape, lists=True
    )
    def get(self, session_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("session_tokens", query, {"session": session_id})
        return session_tokens.list_tokens(session_id, wanted, actor=actor).as_wire(token_wire)


class TokenRevoke(SessionView):
    @operation("session_tokens.revoke", "Revoke a token of a session", answer=TokenShape)
    def post(self, session_id: str, token_id: str, *, actor: Actor) -> Values:
        return token_wire(session_tokens.revoke_token(session_id, token_id, actor=actor))

"""The shapes of the tokens of sessions."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Integer, StrictSerializer
from memoryhub.keys import IssuedKey
from memoryhub.models import ApiKey
from providers.limits import (
    SESSION_TOKEN_SECONDS_DEFAULT,
    SESSION_TOKEN_SECONDS_MAX,
    SESSION_TOKEN_SECONDS_MIN,
)


class CreateTokenBody(StrictSerializer):
    expires_in_seconds = Integer(
        required=False,
        min_value=SESSION_TOKEN_SECONDS_MIN,
        max_value=SESSION_TOKEN_SECONDS_MAX,
        help_text=f"How long it works; {SESSION_TOKEN_SECONDS_DEFAULT} when left out. It ends with the session in any case.",
    )


class TokenShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["session_token"])
    session_id = serializers.CharField()
    hint = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField(), allow_null=True)
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class IssuedTokenShape(TokenShape):
    """`token` is shown this once."""

    token = serializers.CharField()


def token_wire(token: ApiKey) -> dict[str, Any]:
    assert token.session_id is not None
    return {
        "id": token.wire_id,
        "type": "session_token",
        "session_id": ids.to_wire(ids.SESSION, token.session_id),
        "hint": token.secret_hint,
        "created_at": to_wire(token.created_at),
        "created_by": actor_wire(token.created_by_type, token.created_by_id),
        "expires_at": optional_to_wire(token.expires_at),
        "revoked_at": optional_to_wire(token.revoked_at),
        "last_used_at": optional_to_wire(token.last_used_at),
    }


def issued_token_wire(issued: IssuedKey) -> dict[str, Any]:
    return token_wire(issued.key) | {"token": issued.secret}

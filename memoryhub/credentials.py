"""The credential of a change, held until the change commits: what is revoked before then changes nothing."""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.utils import timezone

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import AuthenticationFailed, NotFound, PermissionRefused
from memoryhub.operations import ROLES

type Row = tuple[Any, ...] | None
# Weaker than what revoking takes, and no hindrance to noting the key's last use.
_HOLD_KEY = "SELECT least(revoked_at, expires_at) FROM memoryhub_apikey WHERE id = %s FOR KEY SHARE"
_HOLD_MEMBERSHIP = (
    "SELECT role FROM memoryhub_membership WHERE project_id = %s AND user_id = %s FOR KEY SHARE"
)


def hold_credential(actor: Actor) -> None:
    """A step: the actor may still do what it set out to, and nobody can take that away before this transaction ends.

    A request is authenticated before its transaction begins, and may then wait for a lock while its key is revoked, or
    while its person is removed or given another role.
    Raises: AuthenticationFailed, NotFound for a person who belongs to the project no more, PermissionRefused.
    """
    ask_credential(actor)()


def ask_credential(actor: Actor) -> Callable[[], None]:
    """As `hold_credential` when what comes back is called, for who asks for other rows together with it."""
    if actor.type == "api_actor" or actor.token_id is not None:
        asked = _ask(_HOLD_KEY, [actor.token_id or ids.from_wire(ids.API_KEY, actor.actor_id)])
        return lambda: _require_key(asked())
    if actor.type == "user_actor":
        asked = _ask(_HOLD_MEMBERSHIP, [actor.project_id, ids.from_wire(ids.USER, actor.actor_id)])
        return lambda: _require_membership(actor, asked())
    return lambda: None


def _require_key(row: Row) -> None:
    if row is None or (row[0] is not None and row[0] <= timezone.now()):
        raise AuthenticationFailed("The API key is revoked or has expired.")


def _require_membership(actor: Actor, row: Row) -> None:
    if row is None:
        raise NotFound
    if not actor.scopes <= ROLES[row[0]]:
        raise PermissionRefused(f"Your role here was changed to {row[0]} meanwhile, so nothing was changed.")


def _ask(statement: str, values: list[Any]) -> Callable[[], Row]:
    cursor = connection.cursor()
    cursor.execute(statement, values)

    def read() -> Row:
        with cursor:
            row: Row = cursor.fetchone()
        return row

    return read

"""The credential of a change, held until the change commits: what is revoked before then changes nothing."""

from typing import Any

from django.db import connection
from django.utils import timezone

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import AuthenticationFailed, NotFound, PermissionRefused
from memoryhub.operations import ROLES

# Weaker than what revoking takes, and no hindrance to noting the key's last use.
_HOLD_KEY = "SELECT revoked_at FROM memoryhub_apikey WHERE id = %s FOR KEY SHARE"
_HOLD_MEMBERSHIP = (
    "SELECT role FROM memoryhub_membership WHERE project_id = %s AND user_id = %s FOR KEY SHARE"
)


def hold_credential(actor: Actor) -> None:
    """A step: the actor may still do what it set out to, and nobody can take that away before this transaction ends.

    A request is authenticated before its transaction begins, and may then wait for a lock while its key is revoked, or
    while its person is removed or given another role.
    Raises: AuthenticationFailed, NotFound for a person who belongs to the project no more, PermissionRefused.
    """
    if actor.type == "api_actor":
        _hold_key(actor)
    elif actor.type == "user_actor":
        _hold_membership(actor)


def _hold_key(actor: Actor) -> None:
    row = _read(_HOLD_KEY, [ids.from_wire(ids.API_KEY, actor.actor_id)])
    if row is None or (row[0] is not None and row[0] <= timezone.now()):
        raise AuthenticationFailed("The API key is revoked.")


def _hold_membership(actor: Actor) -> None:
    row = _read(_HOLD_MEMBERSHIP, [actor.project_id, ids.from_wire(ids.USER, actor.actor_id)])
    if row is None:
        raise NotFound
    if not actor.scopes <= ROLES[row[0]]:
        raise PermissionRefused(f"Your role here was changed to {row[0]} meanwhile, so nothing was changed.")


def _read(statement: str, values: list[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row

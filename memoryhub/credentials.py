"""The credential of a change, held until the change commits: what is revoked before then changes nothing."""

from django.db import connection
from django.utils import timezone

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import AuthenticationFailed

# Weaker than what revoking takes, and no hindrance to noting the key's last use.
_HOLD_KEY = "SELECT revoked_at FROM memoryhub_apikey WHERE id = %s FOR KEY SHARE"


def hold_credential(actor: Actor) -> None:
    """A step: the actor's key is not revoked, and nobody can revoke it before this transaction ends.

    A request is authenticated before its transaction begins, and may then wait for a lock while its key is revoked.
    Raises: AuthenticationFailed.
    """
    if actor.type != "api_actor":
        return
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_KEY, [ids.from_wire(ids.API_KEY, actor.actor_id)])
        row = cursor.fetchone()
    if row is None or (row[0] is not None and row[0] <= timezone.now()):
        raise AuthenticationFailed("The API key is revoked.")

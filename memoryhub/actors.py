"""Who asks. An actor is made by a door from a credential, and is the last argument of every verb."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memoryhub import ids

type ActorType = Literal["api_actor", "session_actor", "user_actor", "service_account_actor"]
type StoreAccess = Literal["read_only", "read_write"]

# The second key of an actor's wire form, and the prefix of its id. Source: contract stores 3.3.
ACTOR_ID_KEYS: dict[str, str] = {
    "api_actor": "api_key_id",
    "session_actor": "session_id",
    "user_actor": "user_id",
    "service_account_actor": "service_account_id",
}


@dataclass(frozen=True, slots=True)
class Actor:
    """`actor_id` is a wire id. `environment_id` None: every environment of the project.

    `stores` None: every store of its environments; else the only stores it may know of, with its access to each.
    """

    type: ActorType
    actor_id: str
    project_id: UUID
    environment_id: UUID | None
    scopes: frozenset[str]
    stores: Mapping[UUID, StoreAccess] | None = None

    @property
    def is_agent(self) -> bool:
        """Agents respect a freeze; owners and the trusted application write on."""
        return self.type == "session_actor" or "agent" in self.scopes

    def may_write_store(self, store_id: UUID) -> bool:
        return self.stores is None or self.stores.get(store_id) == "read_write"


def actor_wire(actor_type: str | None, actor_id: str | None) -> dict[str, str] | None:
    """`{"type": …, "<kind>_id": …}`, or None when nobody is recorded."""
    if actor_type is None or actor_id is None:
        return None
    return {"type": actor_type, ACTOR_ID_KEYS[actor_type]: actor_id}


def user_actor(user_id: UUID, project_id: UUID, scopes: frozenset[str]) -> Actor:
    return Actor("user_actor", ids.to_wire(ids.USER, user_id), project_id, None, scopes)

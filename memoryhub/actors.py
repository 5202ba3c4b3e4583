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


SCOPE_NAME_LENGTH_MAX = 256  # characters of each part of a record scope


@dataclass(frozen=True, slots=True)
class RecordScope:
    """Whose records are meant: an agent's memory of one principal, who is named by an issuer."""

    agent: str
    issuer: str
    subject: str


@dataclass(frozen=True, slots=True)
class Actor:
    """`actor_id` is a wire id. `environment_id` None: every environment of the project.

    `stores` None: every store of its environments; else the only stores it may know of, with its access to each.
    `record_scope`: the records that an agent's key reaches; None: none. `token_id`: of the token that a session came with;
    `work_id`: of the work item whose token that is.
    """

    type: ActorType
    actor_id: str
    project_id: UUID
    environment_id: UUID | None
    scopes: frozenset[str]
    stores: Mapping[UUID, StoreAccess] | None = None
    record_scope: RecordScope | None = None
    token_id: UUID | None = None
    work_id: UUID | None = None

    @property
    def is_agent(self) -> bool:
        """Agents respect a freeze; owners and the trusted application write on."""
        return self.type == "session_actor" or "agent" in self.scopes

    @property
    def credential_id(self) -> str:
        """The wire id of what it came with: of a session that has several tokens, of the one."""
        return self.actor_id if self.token_id is None else ids.to_wire(ids.API_KEY, self.token_id)

    @property
    def owners(self) -> dict[str, UUID]:
        """The columns that tell whose a row is, with the values they have in every row that exists for this actor."""
        if self.environment_id is None:
            return {"project_id": self.project_id}
        return {"project_id": self.project_id, "environment_id": self.environment_id}

    def may_write_store(self, store_id: UUID) -> bool:
        return self.stores is None or self.stores.get(store_id) == "read_write"


def actor_wire(actor_type: str | None, actor_id: str | None) -> dict[str, str] | None:
    """`{"type": …, "<kind>_id": …}`, or None when nobody is recorded."""
    if actor_type is None or actor_id is None:
        return None
    return {"type": actor_type, ACTOR_ID_KEYS[actor_type]: actor_id}


def user_actor(user_id: UUID, project_id: UUID, scopes: frozenset[str]) -> Actor:
    return Actor("user_actor", ids.to_wire(ids.USER, user_id), project_id, None, scopes)

"""Every kind of credential, and what the table of rights lets it do."""

from dataclasses import dataclass

from memoryhub.actors import StoreAccess
from memoryhub.operations import SCOPES, allows
from tests.authorization.plots import Plot
from tests.documented import DocumentedOperation
from tests.world import Caller

# Store operations 2 and 7 to 11 of the contract, and an authority's four: all that an agent's key reaches.
AGENT_OPERATIONS = frozenset(
    {
        "memory_stores.get",
        "memories.create",
        "memories.get",
        "memories.update",
        "memories.list",
        "memories.delete",
        "authorities.remember",
        "authorities.query",
        "authorities.explain",
        "authorities.nominate",
    }
)


@dataclass(frozen=True)
class Credential:
    """`whole`: of the whole project. `access`: an agent's, to the plot's store; None when the key names no stores."""

    kind: str
    scopes: frozenset[str]
    whole: bool = False
    access: StoreAccess | None = None

    def expected_status(self, operation: DocumentedOperation) -> int:
        """In its own environment, on stores that its key names."""
        rights = operation.rights
        if not allows(self.scopes, rights) or (rights.whole_project and not self.whole):
            return 403
        if self.access == "read_only" and rights.writes and "store_id" in operation.parameters("path"):
            return 403
        return operation.status


def make_caller(credential: Credential, plot: Plot) -> Caller:
    """With a new key of this kind for the plot's environment."""
    grants = {plot.store_key: credential.access} if credential.access else None
    key = plot.tenant.new_key(
        *sorted(credential.scopes), environment=plot.environment, stores=grants, whole=credential.whole
    )
    return Caller(key)


def _kinds() -> dict[str, Credential]:
    kinds = [Credential(scope, frozenset({scope})) for scope in SCOPES if scope != "agent"]
    kinds += [Credential(f"whole {kind.kind}", kind.scopes, whole=True) for kind in kinds]
    kinds.append(Credential("host and review", frozenset({"host", "review"})))
    kinds.append(Credential("agent read_write", frozenset({"agent"}), access="read_write"))
    kinds.append(Credential("agent read_only", frozenset({"agent"}), access="read_only"))
    return {kind.kind: kind for kind in kinds}


CREDENTIALS = _kinds()
OWNER = CREDENTIALS["whole admin"]

"""Every kind of credential, and what the table of rights lets it do."""

from dataclasses import dataclass

from memoryhub.actors import StoreAccess
from memoryhub.operations import SCOPES, SESSION, WORK, allows
from providers import session_tokens
from tests.authorization.plots import Plot
from tests.documented import DocumentedOperation
from tests.world import Caller

# Store operations 2 and 7 to 11 of the contract, an authority's four, records and nominating one: all that an agent's key reaches.
AGENT_OPERATIONS = frozenset(
    {
        "memory_stores.get",
        "memories.create",
        "memories.get",
        "memories.update",
        "memories.list",
        "memories.delete",
        "records.save",
        "records.search",
        "records.forget",
        "authorities.remember",
        "authorities.query",
        "authorities.explain",
        "authorities.nominate",
    }
)


# Seeds of these name another session or item than the one that a token is of.
OF_ANOTHER_SESSION = frozenset(
    {"work.queue", "work.ack", "http_operations.list", "http_operations.cancel", "model_requests.cancel"}
)

# Seeds of these name whose records are meant, which a session's token never does.
WITH_A_SCOPE = frozenset({"records.save", "records.search", "records.forget"})


@dataclass(frozen=True)
class Credential:
    """`whole`: of the whole project. `access`: an agent's, to the plot's store; None when the key names no stores.

    `of_session`: a token of the plot's session, which attaches a store of its own.
    """

    kind: str
    scopes: frozenset[str]
    whole: bool = False
    access: StoreAccess | None = None
    of_session: bool = False
    of_work: bool = False  # its token: the same stores, and the session itself

    def expected_status(self, operation: DocumentedOperation) -> int:
        """In its own environment, on stores that its key names."""
        rights = operation.rights
        if (self.of_session or self.of_work) and "store_id" in operation.parameters("path"):
            return 404  # what it does not attach does not exist for it
        if (self.of_session or self.of_work) and rights.name in OF_ANOTHER_SESSION:
            return 404
        if self.of_session and rights.name in WITH_A_SCOPE:
            return 403
        if self.of_session and "work_id" in operation.parameters("path"):
            return 404
        if self.of_work and rights.name == "session_events.create":
            return 403  # a worker sends what tools answered, and nothing else
        if not allows(self.scopes, rights) or (rights.whole_project and not self.whole):
            return 403
        if self.access == "read_only" and rights.writes and "store_id" in operation.parameters("path"):
            return 403
        return operation.status


def make_caller(credential: Credential, plot: Plot) -> Caller:
    """With a new key of this kind for the plot's environment."""
    if credential.of_session:
        issued = session_tokens.create_token(plot.session_id, seconds=3_600, actor=plot.tenant.actor)
        return Caller(issued.secret)
    if credential.of_work:
        return Caller(plot.work_token)
    grants = {plot.store_key: credential.access} if credential.access else None
    key = plot.tenant.new_key(
        *sorted(credential.scopes),
        environment=plot.environment,
        stores=grants,
        record_scope=plot.record_scope if credential.access else None,
        whole=credential.whole,
    )
    return Caller(key)


def _kinds() -> dict[str, Credential]:
    kinds = [Credential(scope, frozenset({scope})) for scope in SCOPES if scope != "agent"]
    kinds += [Credential(f"whole {kind.kind}", kind.scopes, whole=True) for kind in kinds]
    kinds.append(Credential("host and review", frozenset({"host", "review"})))
    kinds.append(Credential("agent read_write", frozenset({"agent"}), access="read_write"))
    kinds.append(Credential("agent read_only", frozenset({"agent"}), access="read_only"))
    kinds.append(Credential("session", frozenset({SESSION}), of_session=True))
    kinds.append(Credential("work", frozenset({WORK}), of_work=True))
    return {kind.kind: kind for kind in kinds}


CREDENTIALS = _kinds()
OWNER = CREDENTIALS["whole admin"]

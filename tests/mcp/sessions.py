"""Sessions that bind records and documents, and what runs one with its token."""

from typing import Any

from providers import session_tokens
from providers.session_tokens import IssuedKey
from tests.providers.desk import Desk
from tests.providers.record_sessions import ALICE, RecordSessions
from tests.world import Tenant

RECORDS = {"notes": {"scope": "records", "access": "read-write"}}
DOCUMENT = {"playbook": {"scope": "document", "id": "team-a", "access": "read-write"}}
COLLECTION = {"playbooks": {"scope": "collection"}}
EVERYTHING = RECORDS | DOCUMENT | COLLECTION


class Bound:
    """A tenant's resources `notes`, `playbook` with the document `team-a` and `playbooks` with `one`, and a session on some of them."""

    def __init__(self, tenant: Tenant, memory: dict[str, Any] | None = None, policy: str = "allow") -> None:
        self.tenant = tenant
        self.desk = Desk(tenant)
        self.desk.declare()
        self.desk.declare("playbooks")
        self.notes = RecordSessions(tenant, policy)
        self.document = self.desk.put()
        self.desk.put("one", "Of the collection.", resource_id="playbooks", title="One")
        self.session = self.open(memory)
        self.issued = self.issue()

    def open(self, memory: dict[str, Any] | None = None, **more: Any) -> str:
        return self.notes.open(ALICE, memory=EVERYTHING if memory is None else memory, **more)

    def issue(self, session: str | None = None) -> IssuedKey:
        return session_tokens.create_token(session or self.session, seconds=600, actor=self.tenant.actor)

    @property
    def token(self) -> str:
        return self.issued.secret


def bind_everything(tenant: Tenant) -> Bound:
    return Bound(tenant)

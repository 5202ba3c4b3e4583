"""A record as what may be nominated for reviewed memory."""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor, RecordScope
from memoryhub.digests import sha256_hex
from memoryhub.errors import Conflict, NotFound
from memoryhub.nomination_sources import RecordSource
from memoryhub.rows import find_row
from providers.recalled_items import share_scope
from providers.record_access import WantedScope, require_scope
from providers.record_models import MemoryRecord
from providers.record_scopes import find_scope
from providers.remote_models import RemoteRecord


def read_record(environment_id: UUID, of: RecordScope | None, record_id: str, actor: Actor) -> RecordSource:
    """A step: the text of a record, which is not forgotten before the transaction ends. Raises: NotFound, PermissionRefused, InvalidRequest; Conflict where another service keeps it."""
    scope = require_scope(WantedScope(ids.to_wire(ids.ENVIRONMENT, environment_id), of), actor=actor)
    held = find_scope(scope)
    if held is None or "\0" in record_id:
        raise NotFound("record")
    share_scope(held)  # whoever forgets it is answered after what is kept of it stands
    row = find_row(MemoryRecord.objects.filter(scope_id=held.id, record_id=record_id, forgotten_at=None))
    if row is None:
        if RemoteRecord.objects.filter(scope_id=held.id, record_id=record_id, forgotten_at=None).exists():
            raise Conflict(
                "Another service keeps this record, and its text is not here.", error_code="records_elsewhere"
            )
        raise NotFound("record")
    assert row.text is not None, "a record that is not forgotten has its text"
    return RecordSource(
        environment_id=environment_id,
        record_id=row.record_id,
        version=row.version,
        agent=held.agent,
        scope=held.scope,
        origin=row.origin,
        content=row.text,
        content_sha256=sha256_hex(row.text),
    )

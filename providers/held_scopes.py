"""The scopes of an environment as people see them: whose records they hold, how many, and when one was written last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.db.models.query import QuerySet

from memoryhub import ids, tenancy
from memoryhub.actors import Actor
from memoryhub.actors import RecordScope as ActorScope
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.ranking import EVERY_ROW
from memoryhub.rows import find_row
from providers.effect_queue import count_unknown
from providers.limits import SCOPE_PART_BYTES_MAX
from providers.record_models import RecordScope

RECORDS_COUNTED_MAX = 10_000
SCOPES_COUNTED_MAX = 1_000
SCOPES_ON_PANEL_MAX = 3

# Of the built-in provider what is found is not forgotten.
_COUNTS = f"""
SELECT s.id,
       (SELECT count(*) FROM (SELECT 1 FROM providers_recordindex WHERE scope_id = s.id AND {EVERY_ROW}
                               LIMIT %(most)s) AS here)
       + (SELECT count(*) FROM (SELECT 1 FROM providers_remoterecord WHERE scope_id = s.id AND forgotten_at IS NULL
                                 LIMIT %(most)s) AS there),
       greatest((SELECT created_at FROM providers_memoryrecord WHERE scope_id = s.id ORDER BY id DESC LIMIT 1),
                (SELECT max(created_at) FROM providers_remoterecord WHERE scope_id = s.id))
  FROM providers_recordscope s WHERE s.id = ANY(%(scopes)s)
"""  # noqa: S608 - a constant condition


@dataclass(frozen=True, slots=True)
class HeldScope:
    """`records`: that are not forgotten, wherever they are, counted no further than one past RECORDS_COUNTED_MAX.

    `written_at`: when the newest was written, forgotten ones too; None where none ever was.
    """

    scope: RecordScope
    records: int
    written_at: datetime | None

    @property
    def is_more(self) -> bool:
        """There are more than were counted."""
        return self.records > RECORDS_COUNTED_MAX


def visible_scopes(actor: Actor) -> QuerySet[RecordScope]:
    """Those of people's pages; an agent's key has its one scope and none of these."""
    scopes = RecordScope.objects.filter(project_id=actor.project_id)
    return scopes if actor.environment_id is None else scopes.filter(environment_id=actor.environment_id)


def list_scopes(page: ListRequest, *, named: str, actor: Actor) -> Page[HeldScope]:
    """The newest first. `named`: a part of the agent's or the principal's name. Raises: InvalidRequest."""
    if "\0" in named or len(named) > SCOPE_PART_BYTES_MAX:
        raise InvalidRequest(f"A name has at most {SCOPE_PART_BYTES_MAX} characters.")
    scopes = visible_scopes(actor)
    if named:
        escaped = named.replace("%", "%25").replace("/", "%2F")
        named_so = Q(agent__icontains=named) | Q(scope__icontains=named) | Q(scope__icontains=escaped)
        scopes = scopes.filter(named_so)
    shown = cut_newest(scopes, page)
    return Page(describe_scopes(shown.rows), shown.next_page)


def describe_scopes(scopes: Sequence[RecordScope]) -> list[HeldScope]:
    """One query, however many there are."""
    values: dict[str, Any] = {"most": RECORDS_COUNTED_MAX + 1, "scopes": [one.id for one in scopes]}
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, values)
        counted = {key: (records, written_at) for key, records, written_at in cursor.fetchall()}
    return [HeldScope(one, *counted.get(one.id, (0, None))) for one in scopes]


def get_scope(scope_id: str, *, actor: Actor) -> RecordScope:
    """Raises: NotFound."""
    key = ids.from_wire(ids.RECORD_SCOPE, scope_id)
    held = None if key is None else find_row(visible_scopes(actor).filter(id=key))
    if held is None:
        raise NotFound("scope")
    return held


def name_scope(scope_id: str, actor: Actor) -> tuple[UUID, ActorScope]:
    """Its environment, and whose records it holds. Raises: NotFound."""
    held = get_scope(scope_id, actor=actor)
    return held.environment_id, ActorScope(held.agent, held.issuer, held.subject)


def read_panel(actor: Actor) -> dict[str, Any]:
    """`{"scopes_count", "counted_max", "unknown_count", "newest": [HeldScope]}`; scopes counted no further than one past SCOPES_COUNTED_MAX."""
    environment_id: UUID = tenancy.choose_environment(None, actor=actor)
    scopes = visible_scopes(actor).filter(environment_id=environment_id)
    return {
        "scopes_count": len(scopes.order_by("id").values_list("id", flat=True)[: SCOPES_COUNTED_MAX + 1]),
        "counted_max": SCOPES_COUNTED_MAX,
        "unknown_count": count_unknown(actor),
        "newest": describe_scopes(list(scopes.order_by("-id")[:SCOPES_ON_PANEL_MAX])),
    }

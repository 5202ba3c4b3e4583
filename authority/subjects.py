"""How authorities and what is in them are found by their ids, for the pages that name them."""

from uuid import UUID

from authority.authorities import visible_authorities
from authority.models import HostCall
from authority.review_queue import visible_nominations
from authority.spaces import visible_spaces
from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.subjects import FindSubjects, Subject


def _spaces(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_spaces(actor).filter(id__in=keys)
    return {row.id: Subject(f"the space {row.space_id}", environment_id=row.environment_id) for row in rows}


def _authorities(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_authorities(actor).filter(id__in=keys)
    return {
        row.id: Subject(
            row.canonical.authority_id, "authority", {"authority_id": row.wire_id}, row.environment_id
        )
        for row in rows
    }


def _nominations(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_nominations(actor).filter(id__in=keys).select_related("authority").defer("body")
    found = {}
    for row in rows:
        names = {"authority_id": row.authority.wire_id, "nomination_sha256": row.nomination_sha256}
        found[row.id] = Subject(
            f"a nomination for {row.destination_purpose}", "nomination", names, row.environment_id
        )
    return found


def _calls(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    calls = HostCall.objects.filter(id__in=keys, authority__in=visible_authorities(actor).values("id"))
    found = {}
    for row in calls.select_related("authority").defer("request"):
        names = {"authority_id": row.authority.wire_id, "call_id": row.wire_id}
        found[row.id] = Subject(f"host call {row.ordinal}", "host-call", names, row.authority.environment_id)
    return found


SUBJECTS: dict[str, FindSubjects] = {
    ids.SPACE: _spaces,
    ids.AUTHORITY: _authorities,
    ids.NOMINATION: _nominations,
    ids.HOST_CALL: _calls,
}

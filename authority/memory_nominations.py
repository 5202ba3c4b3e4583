"""Other memory of the hub as a proposal: a file of a store, or a document, is remembered as a record and nominated.

The record is of the kind `memory`, and names the store, the path and the version whose text it holds. It is written to the
working memory as an agent's would be, unless it is there already.
"""

from django.db.transaction import atomic

from authority.agent import nominate_records, remember_records
from authority.authorities import get_authority
from authority.explanations import lock_clock
from authority.graph import Wire
from authority.models import Authority, Nomination, RecordVersion
from authority.nominations_kept import find_nomination
from authority.spaces import lock_space
from memoryhub.actors import Actor
from memoryhub.erasure import hold_copies
from memoryhub.errors import Conflict
from memoryhub.nomination_sources import NominationSource, read_nomination_source


@atomic(durable=True)
def nominate_memory(
    authority_id: str, *, store_id: str, memory_id: str, route: str, actor: Actor
) -> Nomination:
    """As it is now. The same version again, while the working memory stands still, is the same nomination.

    Raises: NotFound, ValidationTypeError for a route that there is not, CapacityError, PurgedSpaceError, Conflict.
    """
    authority = get_authority(authority_id, actor=actor)
    hold_copies(authority.environment_id)
    source = read_nomination_source(store_id, memory_id, actor=actor)
    if source.environment_id != authority.environment_id:
        raise Conflict("The memory and the authority are of one environment.", error_code="two_environments")
    _remember(authority, source, actor)
    asked = {"nominationId": route, "roots": [key_of(source)], "v": 1}
    made = nominate_records(authority, asked, actor=actor)
    return find_nomination(authority, made.sha256)


def key_of(source: NominationSource) -> str:
    return f"memory:{source.store_id.replace('_', ':')}:{source.memory_id.replace('_', ':')}"


def value_of(source: NominationSource) -> Wire:
    return {
        "content": source.content,
        "path": source.path,
        "sha256": source.content_sha256,
        "storeId": source.store_id,
        "versionId": source.version_id,
    }


def _remember(authority: Authority, source: NominationSource, actor: Actor) -> None:
    """A step: commit the record at the head of now, unless it is the current one. Locks as an agent's call: clock, space."""
    lock_clock(authority)
    space, key, value = lock_space(authority.working_id), key_of(source), value_of(source)
    current = RecordVersion.objects.filter(space=space, key=key, to_sequence=None).first()
    if current is not None and (current.kind, current.value, current.dependencies) == ("memory", value, []):
        return
    remembered = {
        "expectedHead": {"generation": space.sequence, "operationSha256": space.operation_sha256},
        "puts": [{"dependencies": [], "key": key, "kind": "memory", "v": 1, "value": value}],
        "requestId": f"memory.{source.version_id.replace('_', '.')}.at{space.sequence}",
        "tombstones": [],
        "v": 1,
    }
    remember_records(authority, remembered, actor=actor)

"""Other memory of the hub as a proposal: a file of a store, a document, or what an agent has of a principal is remembered and nominated.

What is written to the working memory is of the kind `memory`, and names the source whose text it holds: store, path and version of a file;
agent, scope, id and origin of a record. It is written as an agent's would be, unless it is there already.
"""

from dataclasses import dataclass

from django.db.transaction import atomic

from authority.agent import nominate_records, remember_records
from authority.authorities import get_authority
from authority.explanations import lock_clock
from authority.graph import Wire
from authority.held_versions import key_of
from authority.models import Authority, Nomination, RecordVersion
from authority.nominations_kept import find_nomination
from authority.spaces import lock_space
from memoryhub.actors import Actor, RecordScope
from memoryhub.erasure import hold_copies
from memoryhub.errors import Conflict
from memoryhub.nomination_sources import (
    NominationSource,
    RecordSource,
    read_nomination_source,
    read_record_source,
)


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A working record to be: under `key`, with `value`; `revision`: what of its source it holds, for the name of the request."""

    key: str
    value: Wire
    revision: str


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
    return _propose(authority, _file_proposal(source), route, actor)


@atomic(durable=True)
def nominate_record(
    authority_id: str, *, of: RecordScope | None, record_id: str, route: str, actor: Actor
) -> Nomination:
    """A record of the authority's environment. `of` None: of the scope of the credential.

    Raises: NotFound, also for a forgotten record; PermissionRefused for another's scope; InvalidRequest; ValidationTypeError,
    CapacityError, PurgedSpaceError, Conflict as `nominate_memory`, and where another service keeps the record.
    """
    authority = get_authority(authority_id, actor=actor)
    hold_copies(authority.environment_id)
    source = read_record_source(authority.environment_id, of, record_id, actor=actor)
    return _propose(authority, _record_proposal(source), route, actor)


def _file_proposal(source: NominationSource) -> _Proposal:
    value = {
        "content": source.content,
        "path": source.path,
        "sha256": source.content_sha256,
        "storeId": source.store_id,
        "versionId": source.version_id,
    }
    key = key_of(source.store_id, source.memory_id)
    return _Proposal(key, value, source.version_id.replace("_", "."))


def _record_proposal(source: RecordSource) -> _Proposal:
    value = {
        "agent": source.agent,
        "content": source.content,
        "origin": source.origin,
        "recordId": source.record_id,
        "scope": source.scope,
        "sha256": source.content_sha256,
        "version": source.version,
    }
    key = f"memory:{source.record_id.replace('_', ':')}"
    return _Proposal(key, value, f"{source.record_id.replace('_', '.')}.v{source.version}")


def _propose(authority: Authority, proposal: _Proposal, route: str, actor: Actor) -> Nomination:
    """A step."""
    _remember(authority, proposal, actor)
    asked = {"nominationId": route, "roots": [proposal.key], "v": 1}
    made = nominate_records(authority, asked, actor=actor)
    return find_nomination(authority, made.sha256)


def _remember(authority: Authority, proposal: _Proposal, actor: Actor) -> None:
    """A step: commit the record at the head of now, unless it is the current one. Locks as an agent's call: clock, space."""
    lock_clock(authority)
    space, key, value = lock_space(authority.working_id), proposal.key, proposal.value
    current = RecordVersion.objects.filter(space=space, key=key, to_sequence=None).first()
    if current is not None and (current.kind, current.value, current.dependencies) == ("memory", value, []):
        return
    remembered = {
        "expectedHead": {"generation": space.sequence, "operationSha256": space.operation_sha256},
        "puts": [{"dependencies": [], "key": key, "kind": "memory", "v": 1, "value": value}],
        "requestId": f"memory.{proposal.revision}.at{space.sequence}",
        "tombstones": [],
        "v": 1,
    }
    remember_records(authority, remembered, actor=actor)

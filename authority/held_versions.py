"""The versions of memories that records of spaces were made of: they stay, so that what is held to be true has its source."""

from collections.abc import Collection
from uuid import UUID

from authority.models import RecordVersion
from memoryhub import ids
from memoryhub.version_holders import VersionKey


def key_of(store_id: str, memory_id: str) -> str:
    """Of the record that a memory is proposed as; both are wire ids."""
    return f"memory:{store_id.replace('_', ':')}:{memory_id.replace('_', ':')}"


def find_held(environment_id: UUID, versions: Collection[VersionKey]) -> set[UUID]:
    """The ids of those among the versions that a record of a space names as its source, be it current or past."""
    keys = {_key_of(version) for version in versions}
    records = RecordVersion.objects.filter(
        space__environment_id=environment_id, key__in=keys, kind="memory"
    ).values_list("value__versionId", flat=True)
    named = {ids.from_wire(ids.MEMORY_VERSION, str(wire_id)) for wire_id in records}
    return {version.version_id for version in versions if version.version_id in named}


def _key_of(version: VersionKey) -> str:
    return key_of(ids.to_wire(ids.MEMORY_STORE, version.store_id), ids.to_wire(ids.MEMORY, version.memory_id))

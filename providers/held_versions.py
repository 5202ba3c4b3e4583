"""The versions of documents that stand in what models were given: they stay, so that an erasure finds every copy by them."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection

from memoryhub.version_holders import VersionKey

_SHOWN = """
SELECT unnest(version_ids) FROM providers_projection WHERE version_ids && %(keys)s::uuid[]
UNION SELECT unnest(version_ids) FROM providers_toolcall WHERE version_ids && %(keys)s::uuid[]
"""


def find_held(environment_id: UUID, versions: Collection[VersionKey]) -> set[UUID]:
    """The ids of those among the versions whose text or title a projection or a tool call shows."""
    keys = [version.version_id for version in versions]
    with connection.cursor() as cursor:
        cursor.execute(_SHOWN, {"keys": keys})
        shown = {row[0] for row in cursor.fetchall()}
    return shown.intersection(keys)

"""What an erasure says of records at other services: it reaches none of them, so it names where the text may be.

No text of a record stands here, only a seal of it as a whole. So a record whose whole text is sought is named, to be forgotten; of one
that holds the text among others nobody here can know, and every scope that a service keeps is named.
"""

from memoryhub.digests import sha256_hex
from memoryhub.erasure import Elsewhere, TextErasure
from providers.remote import list_remote_scopes
from providers.remote_models import RemoteRecord
from providers.remote_records import seal_text


def name_text(erasure: TextErasure) -> Elsewhere:
    """A step. `known`: a record whose whole text it is stands there."""
    sought = erasure.sought
    text_sha256 = sought.content_sha256 or sha256_hex(sought.contains or "")
    records = RemoteRecord.objects.filter(
        scope__environment_id=erasure.environment_id, text_seal=seal_text(text_sha256)
    )
    held = list(records.select_related("scope").order_by("id"))
    known = {(one.provider, f"{one.scope.agent} {one.scope.scope}") for one in held}
    remote = [
        one | {"known": (one["resource"], one["namespace"]) in known}
        for one in list_remote_scopes([erasure.environment_id])
    ]
    left = [
        {"type": "memory_record", "id": one.record_id, "agent": one.scope.agent, "scope": one.scope.scope}
        for one in held
    ]
    return Elsewhere(left=left, remote=sorted(remote, key=lambda one: not one["known"]))

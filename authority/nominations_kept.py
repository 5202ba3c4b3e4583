"""The nominations that have arrived at an authority."""

from authority.authorities import get_authority
from authority.canonical import is_digest
from authority.models import Authority, Nomination
from memoryhub.actors import Actor
from memoryhub.errors import NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row


def get_nomination(authority_id: str, nomination_sha256: str, *, actor: Actor) -> Nomination:
    """Raises: NotFound."""
    return find_nomination(get_authority(authority_id, actor=actor), nomination_sha256)


def find_nomination(authority: Authority, nomination_sha256: str) -> Nomination:
    """A step: one of an authority that the actor may see. Raises: NotFound."""
    rows = Nomination.objects.filter(authority=authority, nomination_sha256=nomination_sha256)
    nomination = find_row(rows) if is_digest(nomination_sha256) else None
    if nomination is None:
        raise NotFound("nomination")
    return nomination


def list_nominations(
    authority_id: str, request: ListRequest, *, state: str | None, actor: Actor
) -> Page[Nomination]:
    """Newest first, without their texts."""
    nominations = Nomination.objects.filter(authority=get_authority(authority_id, actor=actor)).order_by(
        "-id"
    )
    if state is not None:
        nominations = nominations.filter(state=state)
    position = request.position()
    if position is not None:
        nominations = nominations.filter(id__lt=position[0])
    rows = list(nominations.defer("body")[: request.limit + 1])
    return cut_page(rows, request, lambda nomination: [nomination.id.hex])

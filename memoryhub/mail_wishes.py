"""What members want to hear of by e-mail: topics, per project."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.transaction import atomic

from memoryhub import audit, ids
from memoryhub.actors import user_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import NotFound
from memoryhub.models import Membership
from memoryhub.notice_models import MailItem, MailWish
from memoryhub.notice_types import TOPICS
from memoryhub.operations import ROLES
from memoryhub.rows import find_row


@dataclass(frozen=True, slots=True)
class Wishes:
    """Of one membership, with its project."""

    membership: Membership
    topics: list[str]


def list_wishes(user_id: UUID) -> list[Wishes]:
    """Of every project of a person, by name."""
    memberships = list(
        Membership.objects.filter(user_id=user_id).select_related("project").order_by("project__name", "id")
    )
    topics = dict(MailWish.objects.filter(membership__in=memberships).values_list("membership_id", "topics"))
    return [Wishes(one, topics.get(one.id, [])) for one in memberships]


@atomic(durable=True)
def change_wishes(user_id: UUID, member_id: str, *, topics: Sequence[str]) -> None:
    """What is not wished any more and not sent yet is sent no more. Raises: NotFound for a membership that is another's."""
    key = ids.from_wire(ids.MEMBERSHIP, member_id)
    mine = Membership.objects.filter(user_id=user_id).select_for_update(no_key=True)
    membership = None if key is None else find_row(mine.filter(id=key))
    if membership is None:
        raise NotFound("member")
    wanted = sorted(topic for topic in TOPICS if topic in topics)
    wish = find_row(MailWish.objects.filter(membership=membership))
    if wanted == ([] if wish is None else wish.topics):
        return
    MailWish.objects.update_or_create(
        membership=membership, defaults={"project_id": membership.project_id, "topics": wanted}
    )
    MailItem.objects.filter(membership=membership).exclude(topic__in=wanted).delete()
    audit.record(
        AuditAction.MAIL_WISHES_CHANGED,
        membership.wire_id,
        environment_id=None,
        details={"topics": ", ".join(wanted) or "none"},
        actor=user_actor(user_id, membership.project_id, ROLES[membership.role]),
    )

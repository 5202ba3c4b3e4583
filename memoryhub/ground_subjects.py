"""How the things of the ground floor are found by their ids, for the pages that name them."""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.models import ApiKey, Environment, Invitation, Membership, User
from memoryhub.notice_models import Webhook
from memoryhub.subjects import FindSubjects, Subject


def _keys(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = ApiKey.objects.filter(project_id=actor.project_id, session=None, id__in=keys).only("id", "name")
    return {row.id: Subject(row.name, "key", {"key_id": row.wire_id}) for row in rows}


def _members(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = Membership.objects.filter(project_id=actor.project_id, id__in=keys).select_related("user")
    return {row.id: Subject(row.user.name or row.user.email, "people") for row in rows}


def _invitations(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = Invitation.objects.filter(project_id=actor.project_id, id__in=keys).only("id", "email")
    return {row.id: Subject(row.email, "invitations") for row in rows}


def _environments(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = Environment.objects.filter(project_id=actor.project_id, id__in=keys)
    return {row.id: Subject(row.name, "overview", environment_id=row.id) for row in rows}


def _people(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = User.objects.filter(id__in=keys, memberships__project_id=actor.project_id).only(
        "id", "name", "email"
    )
    return {row.id: Subject(row.name or row.email) for row in rows}


def _webhooks(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    """Not by the URL, which may hold a secret."""
    rows = Webhook.objects.filter(project_id=actor.project_id, id__in=keys)
    return {
        row.id: Subject(
            row.description or "A webhook",
            "webhook",
            {"webhook_id": row.wire_id},
            environment_id=row.environment_id,
        )
        for row in rows.only("id", "description", "environment_id")
    }


GROUND_SUBJECTS: dict[str, FindSubjects] = {
    ids.API_KEY: _keys,
    ids.MEMBERSHIP: _members,
    ids.INVITATION: _invitations,
    ids.ENVIRONMENT: _environments,
    ids.USER: _people,
    ids.WEBHOOK: _webhooks,
}

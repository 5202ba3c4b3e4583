"""How sessions, deployments and secrets are found by their ids, for the pages that name them."""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.secrets import visible_secrets
from memoryhub.sessions import visible_sessions
from memoryhub.subjects import FindSubjects, Subject
from providers.deployments import visible_deployments


def _sessions(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_sessions(actor).filter(id__in=keys).only("id", "title", "environment_id")
    return {
        row.id: Subject(row.title or "a session", "session", {"session_id": row.wire_id}, row.environment_id)
        for row in rows
    }


def _deployments(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_deployments(actor).filter(id__in=keys).only("id", "agent_id", "environment_id")
    return {
        row.id: Subject(
            f"a deployment of {row.agent_id}",
            "deployment",
            {"deployment_id": row.wire_id},
            row.environment_id,
        )
        for row in rows
    }


def _secrets(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_secrets(actor).filter(id__in=keys).only("id", "name", "environment_id")
    return {
        row.id: Subject(row.name, "replace-secret", {"secret_id": row.wire_id}, row.environment_id)
        for row in rows
    }


SUBJECTS: dict[str, FindSubjects] = {
    ids.SESSION: _sessions,
    ids.DEPLOYMENT: _deployments,
    ids.SECRET: _secrets,
}

"""How the things of this room are found by their ids, for the pages that name them."""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.secrets import visible_secrets
from memoryhub.sessions import visible_sessions
from memoryhub.subjects import FindSubjects, Subject
from providers.deployments import visible_deployments
from providers.endpoint_models import EndpointCredential, ExternalPartition, ExternalRecord
from providers.endpoints import visible_endpoints
from providers.models import HttpOperation
from providers.record_models import MemoryEffect


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


def _calls(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = HttpOperation.objects.filter(**actor.owners, id__in=keys)
    return {
        row.id: Subject(
            f"a {row.tool or 'recall'} of {row.resource_id}",
            "call",
            {"operation_id": row.wire_id},
            row.environment_id,
        )
        for row in rows.only("id", "tool", "resource_id", "environment_id")
    }


def _effects(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    """By no text of theirs, and no name of anybody."""
    rows = MemoryEffect.objects.filter(project_id=actor.project_id, id__in=keys).select_related("scope")
    if actor.environment_id is not None:
        rows = rows.filter(scope__environment_id=actor.environment_id)
    return {
        row.id: Subject("a write of a record", "effect", {"effect_id": row.wire_id}, row.scope.environment_id)
        for row in rows.defer("payload", "outcome")
    }


def _endpoints(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    rows = visible_endpoints(actor).filter(id__in=keys).only("id", "name", "environment_id")
    return {
        row.id: Subject(row.name, "endpoint", {"endpoint_id": row.wire_id}, row.environment_id)
        for row in rows
    }


def _credentials(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    held = EndpointCredential.objects.filter(endpoint__in=visible_endpoints(actor), id__in=keys)
    return {
        row.id: Subject(
            row.name, "endpoint", {"endpoint_id": row.endpoint.wire_id}, row.endpoint.environment_id
        )
        for row in held.select_related("endpoint")
    }


def _partitions(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    held = ExternalPartition.objects.filter(endpoint__in=visible_endpoints(actor), id__in=keys)
    return {row.id: _partition(row, row.partition) for row in held.select_related("endpoint")}


def _records(keys: list[UUID], actor: Actor) -> dict[UUID, Subject]:
    """By no text of theirs: they lead to their partition."""
    held = ExternalRecord.objects.filter(partition__endpoint__in=visible_endpoints(actor), id__in=keys)
    rows = held.defer("terms", "text").select_related("partition__endpoint")
    return {row.id: _partition(row.partition, "a record") for row in rows}


def _partition(partition: ExternalPartition, name: str) -> Subject:
    endpoint = partition.endpoint
    named = {"endpoint_id": endpoint.wire_id, "partition_id": partition.wire_id}
    return Subject(name, "partition", named, endpoint.environment_id)


SUBJECTS: dict[str, FindSubjects] = {
    ids.SESSION: _sessions,
    ids.DEPLOYMENT: _deployments,
    ids.SECRET: _secrets,
    ids.HTTP_OPERATION: _calls,
    ids.MEMORY_EFFECT: _effects,
    ids.ENDPOINT: _endpoints,
    ids.ENDPOINT_CREDENTIAL: _credentials,
    ids.EXTERNAL_PARTITION: _partitions,
    ids.EXTERNAL_RECORD: _records,
}

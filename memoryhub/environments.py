"""The verbs of an environment: create, list, rename. Raises of each: NotFound, InvalidRequest, Conflict."""

from django.conf import settings
from django.db import IntegrityError
from django.db.transaction import atomic

from memoryhub import audit, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest
from memoryhub.models import Environment
from memoryhub.projects import check_name, require_name


def list_environments(*, actor: Actor) -> list[Environment]:
    """All that the actor may see, by name: a project has few."""
    return tenancy.visible_environments(actor)


@atomic(durable=True)
def create_environment(*, name: str, actor: Actor) -> Environment:
    check_name(name)
    tenancy.lock_project(actor.project_id)
    taken = set(Environment.objects.filter(project_id=actor.project_id).values_list("name", flat=True))
    if name in taken:
        raise Conflict(f"An environment named {name} exists already.", error_code="environment_name_taken")
    if len(taken) >= settings.ENVIRONMENTS_MAX:
        raise InvalidRequest(
            f"The project has {len(taken)} environments already, its quota.", error_code="environments_full"
        )
    environment = Environment.objects.create(project_id=actor.project_id, name=name)
    audit.record(
        AuditAction.ENVIRONMENT_CREATED, environment.wire_id, environment_id=environment.id, actor=actor
    )
    return environment


@atomic(durable=True)
def rename_environment(
    name_or_id: str, *, name: str, expected_name: str | None = None, actor: Actor
) -> Environment:
    check_name(name)
    tenancy.lock_project(actor.project_id)
    environment = tenancy.get_environment(name_or_id, actor=actor)
    if environment.name == name:
        return environment
    require_name(environment.name, expected_name)
    environment.name = name
    try:
        with atomic():
            environment.save(update_fields=["name"])
    except IntegrityError as error:
        raise Conflict(
            f"An environment named {name} exists already.", error_code="environment_name_taken"
        ) from error
    audit.record(
        AuditAction.ENVIRONMENT_UPDATED, environment.wire_id, environment_id=environment.id, actor=actor
    )
    return environment

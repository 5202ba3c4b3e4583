"""The verbs of a project: create (with its environments and owner), update."""

import re

from django.db.transaction import atomic

from memoryhub import audit, tenancy
from memoryhub.actors import Actor, user_actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest, PermissionRefused
from memoryhub.models import Environment, Membership, Project, User
from memoryhub.operations import ROLES

FIRST_ENVIRONMENTS = ("development", "production")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?", re.ASCII)


def check_name(name: str) -> None:
    """Names of projects and environments: they stand in URLs and commands. Raises: InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "name: Use 1 to 64 lowercase letters, digits and hyphens, with no hyphen at either end."
        )


def require_name(name: str, expected_name: str | None) -> None:
    """Raises: Conflict."""
    if expected_name is not None and name != expected_name:
        raise Conflict(f"Somebody else renamed it to {name} meanwhile.", error_code="name_changed")


@atomic(durable=True)
def create_project(*, name: str, owner: User) -> Project:
    """A project with environments `development` and `production`, owned by `owner`.

    Raises: InvalidRequest, PermissionRefused for one who is no operator of this hub.
    """
    if not owner.is_operator:
        raise PermissionRefused(
            "Only an operator of this hub may create projects.", error_code="not_an_operator"
        )
    return add_project(name=name, owners=[owner])


def add_project(*, name: str, owners: list[User]) -> Project:
    """The step of `create_project`: in the caller's transaction, with at least one owner."""
    check_name(name)
    project = Project.objects.create(name=name)
    for environment_name in FIRST_ENVIRONMENTS:
        Environment.objects.create(project=project, name=environment_name)
    for owner in owners:
        Membership.objects.create(project=project, user=owner, role="owner")
    first_owner = owner_actor(project, owners[0])
    audit.record(AuditAction.PROJECT_CREATED, project.wire_id, environment_id=None, actor=first_owner)
    return project


def owner_actor(project: Project, owner: User) -> Actor:
    return user_actor(owner.id, project.id, ROLES["owner"])


@atomic(durable=True)
def update_project(
    project_id: str,
    *,
    name: str | None = None,
    http_memory: str | None = None,
    expected_name: str | None = None,
    actor: Actor,
) -> Project:
    """Rename it, let its sessions bind HTTP memory or not; None stays.

    Raises: NotFound, InvalidRequest, Conflict when it is not called `expected_name` any more.
    """
    project = tenancy.get_project_by_id(project_id, actor=actor)
    tenancy.lock_project(project.id)
    project.refresh_from_db(fields=["name", "http_memory"])
    wanted = {"name": name, "http_memory": http_memory}
    changed = {key: value for key, value in wanted.items() if value not in (None, getattr(project, key))}
    if name is not None:
        check_name(name)
    if "name" in changed:
        require_name(project.name, expected_name)
    if not changed:
        return project
    for key, value in changed.items():
        setattr(project, key, value)
    project.save(update_fields=list(changed))
    audit.record(
        AuditAction.PROJECT_UPDATED,
        project.wire_id,
        environment_id=None,
        details={"fields": sorted(changed)},
        actor=actor,
    )
    return project


@atomic(durable=True)
def create_operator(*, email: str, name: str, password: str | None) -> User:
    """A person who may create projects on this hub; without a password only a sign-in link lets them in."""
    user = User(email=email.lower(), name=name, is_operator=True)
    if password is None:
        user.set_unusable_password()
    else:
        user.set_password(password)
    user.save(force_insert=True)
    return user

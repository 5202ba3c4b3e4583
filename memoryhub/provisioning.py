"""A further project, made by an application: the project, its owners, and the first key of it."""

from dataclasses import dataclass

from django.db.transaction import atomic

from memoryhub.actors import Actor
from memoryhub.errors import PermissionRefused
from memoryhub.keys import IssuedKey, issue_key
from memoryhub.models import Project, User
from memoryhub.projects import add_project, owner_actor


@dataclass(frozen=True, slots=True)
class ProvisionedProject:
    """`issued` is an admin key of the whole new project, shown this once."""

    project: Project
    issued: IssuedKey


@atomic(durable=True)
def provision_project(*, name: str, actor: Actor) -> ProvisionedProject:
    """A project owned by the operators who own the caller's project.

    Raises: PermissionRefused when none of its owners is an operator of this hub; InvalidRequest.
    """
    owners = User.objects.filter(
        is_operator=True, is_active=True, memberships__project_id=actor.project_id, memberships__role="owner"
    )
    operators = list(owners.order_by("id"))
    if not operators:
        raise PermissionRefused(
            "Only a project that is owned by an operator of this hub may create projects.",
            error_code="not_an_operator",
        )
    project = add_project(name=name, owners=operators)
    first_owner = owner_actor(project, operators[0])
    issued = issue_key(environment_id=None, name="first key", scopes=["admin"], actor=first_owner)
    return ProvisionedProject(project, issued)

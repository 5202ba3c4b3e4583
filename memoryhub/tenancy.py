"""Who may see what: every row of a project is found through an actor, here and nowhere else.

What the actor may not see does not exist: the answer is the same as for an id that was never given out.
"""

from uuid import UUID

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, NotFound
from memoryhub.models import Environment, Project


def visible_environments(actor: Actor) -> list[Environment]:
    """The environments the actor may ask about, by name."""
    environments = Environment.objects.filter(project_id=actor.project_id)
    if actor.environment_id is not None:
        environments = environments.filter(id=actor.environment_id)
    return list(environments.order_by("name"))


def get_environment(name_or_id: str, *, actor: Actor) -> Environment:
    """Raises: NotFound, also for an environment that is not the credential's."""
    key = ids.from_wire(ids.ENVIRONMENT, name_or_id)
    for environment in visible_environments(actor):
        if environment.id == key or environment.name == name_or_id:
            return environment
    raise NotFound("environment")


def choose_environment(name_or_id: str | None, *, actor: Actor) -> UUID:
    """The environment a new thing goes into: the one named, else the credential's own.

    Raises: NotFound; InvalidRequest when the credential reaches several and none is named.
    """
    if name_or_id is not None:
        return get_environment(name_or_id, actor=actor).id
    if actor.environment_id is None:
        raise InvalidRequest(
            "environment: this credential reaches every environment of its project, so name one."
        )
    return actor.environment_id


def get_project(actor: Actor) -> Project:
    """The actor's own project."""
    return Project.objects.get(id=actor.project_id)


def get_project_by_id(project_id: str, *, actor: Actor) -> Project:
    """Raises: NotFound for every project but the actor's own."""
    if ids.from_wire(ids.PROJECT, project_id) != actor.project_id:
        raise NotFound("project")
    return get_project(actor)


def lock_project(project_id: UUID) -> None:
    """A step: two that meet at a limit of the project wait for each other; writes that name the project do not."""
    Project.objects.select_for_update(no_key=True).only("id").get(id=project_id)

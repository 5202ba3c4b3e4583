"""What the management commands share: an operator's actor, a new file, and errors as one sentence."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO

from django.core.management.base import CommandError

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.errors import HubError
from memoryhub.models import Membership, Project
from memoryhub.projects import owner_actor


@contextmanager
def one_sentence() -> Iterator[None]:
    """A verb's refusal ends the command with its message and exit code 1."""
    try:
        yield
    except HubError as error:
        raise CommandError(error.message) from error


def get_project_named(name_or_id: str) -> Project:
    """Raises: CommandError, also for a name that several projects have."""
    key = ids.from_wire(ids.PROJECT, name_or_id)
    found = list(Project.objects.filter(id=key) if key else Project.objects.filter(name=name_or_id)[:2])
    if not found:
        raise CommandError(f"There is no project {name_or_id}.")
    if len(found) > 1:
        raise CommandError(f"Several projects are named {name_or_id}: give the id of one.")
    return found[0]


def operator_actor(project: Project) -> Actor:
    """Who runs commands on the hub's machine acts as the project's first owner. Raises: CommandError."""
    owners = Membership.objects.filter(project=project, role="owner").select_related("user").order_by("id")
    owner = owners.first()
    if owner is None:
        raise CommandError(f"The project {project.name} has no owner.")
    return owner_actor(project, owner.user)


def open_new(name: str) -> AbstractContextManager[IO[bytes]]:
    """Raises: CommandError for a file that is there already or cannot be made."""
    if name == "-":
        return nullcontext(sys.stdout.buffer)
    try:
        return open(name, "xb")
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror}.") from error

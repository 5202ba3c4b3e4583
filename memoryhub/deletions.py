"""Deletion of an environment or a project: no row of it stays here, and what lies with other services is listed.

Nobody else is called. The ground floor knows no room, so a room registers how it lists what remains elsewhere, and what its writers hold.
Keys go with the environment, and a writer holds its key last. So whoever deletes waits first for what writers hold before it, in
their order: sessions, copies, then the rooms, one after the other; else each might wait for the other.
Source: contract of document and HTTP memory, section 12.5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.apps import apps
from django.db import connection
from django.db.models import Model
from django.db.transaction import atomic

from memoryhub import audit, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.credentials import hold_credential
from memoryhub.erasure import hold_all_copies
from memoryhub.errors import InvalidRequest
from memoryhub.models import Environment, Project, Session
from memoryhub.snapshots import allow_seconds

log = structlog.get_logger("memoryhub.deletions")

DELETE_STATEMENT_SECONDS_MAX = 600

type ListRemote = Callable[[Sequence[UUID]], list[dict[str, Any]]]

type Hold = Callable[[UUID], None]

_registered: list[ListRemote] = []
_holds: list[Hold] = []


def register_remote(list_remote: ListRemote) -> None:
    """`list_remote(environment_ids)` gives `[{"resource", "namespace", "partition", "endpoint", …}]`."""
    _registered.append(list_remote)


def register_hold(hold: Hold) -> None:
    """`hold(environment_id)` locks what writers of the room lock first, in their order, alone to the end of the transaction.

    Rooms are asked in the order in which they are installed.
    """
    _holds.append(hold)


@dataclass(frozen=True, slots=True)
class Deleted:
    """`remaining`: what other services keep, which is theirs to delete."""

    wire_id: str
    remaining: list[dict[str, Any]]


def list_remaining(environment_ids: Sequence[UUID]) -> list[dict[str, Any]]:
    return [one for list_remote in _registered for one in list_remote(environment_ids)]


@atomic(durable=True)
def delete_environment(name_or_id: str, *, expected_name: str, actor: Actor) -> Deleted:
    """Everything in it goes for good, keys too. `expected_name` is its name.

    Raises: NotFound; InvalidRequest for another name or for the project's last environment.
    """
    tenancy.lock_project(actor.project_id)
    environment = tenancy.get_environment(name_or_id, actor=actor)
    _require_name(environment.name, expected_name)
    if Environment.objects.filter(project_id=actor.project_id).count() == 1:
        raise InvalidRequest(
            "A project needs one environment at least: delete the project instead.",
            error_code="last_environment",
        )
    allow_seconds(DELETE_STATEMENT_SECONDS_MAX)
    _wait_for_writers(environment.id)
    deleted = Deleted(environment.wire_id, list_remaining([environment.id]))
    audit.record(
        AuditAction.ENVIRONMENT_DELETED,
        environment.wire_id,
        environment_id=environment.id,
        details={"remaining": len(deleted.remaining)},
        actor=actor,
    )
    _delete_row(Environment, environment.id)  # the database removes what belongs to it
    return deleted


@atomic(durable=True)
def delete_project(project_id: str, *, expected_name: str, actor: Actor) -> Deleted:
    """Everything of it goes for good: environments, members, keys and the audit trail. `expected_name` is its name.

    The hub's log keeps that it was deleted, and by whom. Raises: NotFound, InvalidRequest for another name.
    """
    project = tenancy.get_project_by_id(project_id, actor=actor)
    _require_name(project.name, expected_name)
    hold_credential(actor)
    tenancy.lock_project(project.id)
    environments = list(
        Environment.objects.filter(project=project).order_by("id").values_list("id", flat=True)
    )
    allow_seconds(DELETE_STATEMENT_SECONDS_MAX)
    for environment_id in environments:
        _wait_for_writers(environment_id)
    deleted = Deleted(project.wire_id, list_remaining(environments))
    _delete_row(Project, project.id)  # first: audit rows go only when their project is gone
    _delete_rows_of(project.id)
    log.warning("project_deleted", project=project.wire_id, actor=actor.actor_id)
    return deleted


def _wait_for_writers(environment_id: UUID) -> None:
    """A step."""
    list(Session.objects.select_for_update().filter(environment_id=environment_id).order_by("id").only("id"))
    hold_all_copies(environment_id)
    for hold in _holds:
        hold(environment_id)


def _delete_row(model: type[Model], key: UUID) -> None:
    """The row alone, by the database: what points at it goes by its own rules, or is checked when the change commits."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id = %s", [key])  # noqa: S608 - a table of ours


def _delete_rows_of(project_id: UUID) -> None:
    """Every row that carries the project: environments first, with which most of the others go."""
    tables = [model._meta.db_table for model in apps.get_models() if _names_project(model)]
    with connection.cursor() as cursor:
        for table in sorted(tables, key=lambda table: table != Environment._meta.db_table):
            cursor.execute(f"DELETE FROM {table} WHERE project_id = %s", [project_id])  # noqa: S608 - a table of ours


def _names_project(model: type[Model]) -> bool:
    return any(field.column == "project_id" for field in model._meta.concrete_fields)


def _require_name(name: str, expected_name: str) -> None:
    if name != expected_name:
        raise InvalidRequest(
            f"expected_name: To delete it for good, give its name, {name}.", error_code="name_differs"
        )

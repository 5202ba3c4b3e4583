"""The verbs of an authority: create, get, list, delete. Its stores are borrowed: deleting one leaves both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from authority.canonical import is_code, is_integer
from authority.failures import AuthorityIntegrityError, CapacityError, ProfileError, ValidationTypeError
from authority.graph import Head, find_head
from authority.limits import (
    EXPLANATION_MILLISECONDS,
    EXPLANATION_MILLISECONDS_DEFAULT,
    OPERATION_BYTES_MAX,
)
from authority.models import Authority, Clock, HostCall, Program, Route, Space, Turn
from authority.programs import read_programs, read_routes
from authority.proof import load_snapshot
from authority.receipts import Side
from authority.spaces import CanonicalSpace, WorkingSpace, get_space
from authority.terms import Terms
from memoryhub import audit, ids
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row


@dataclass(frozen=True, slots=True)
class Lane:
    """One store of an authority, as its creator knows it."""

    space: str
    authority_id: str
    binding_sha256: str


@dataclass(frozen=True, slots=True)
class Options:
    """What an authority is created with. `programs`, `routes`, `expected_head`: as JSON brought them."""

    canonical: Lane
    working: Lane
    actor_id: str
    adoption_actor_id: str
    expected_head: Any
    programs: Any
    routes: Any
    operation_bytes_max: Any = OPERATION_BYTES_MAX
    explanation_milliseconds: Any = EXPLANATION_MILLISECONDS_DEFAULT


def visible_authorities(actor: Actor) -> QuerySet[Authority]:
    authorities = Authority.objects.filter(project_id=actor.project_id).select_related("canonical", "working")
    return (
        authorities
        if actor.environment_id is None
        else authorities.filter(environment_id=actor.environment_id)
    )


def get_authority(authority_id: str, *, actor: Actor) -> Authority:
    """Raises: NotFound."""
    key = ids.from_wire(ids.AUTHORITY, authority_id)
    authority = None if key is None else find_row(visible_authorities(actor).filter(id=key))
    if authority is None:
        raise NotFound("authority")
    return authority


def list_authorities(request: ListRequest, *, actor: Actor) -> Page[Authority]:
    """Newest first."""
    authorities = visible_authorities(actor).order_by("-id")
    position = request.position()
    if position is not None:
        authorities = authorities.filter(id__lt=position[0])
    rows = list(authorities[: request.limit + 1])
    return cut_page(rows, request, lambda authority: [authority.id.hex])


@atomic(durable=True)
def create_authority(options: Options, *, actor: Actor) -> Authority:
    """Nothing exists before everything was checked, the snapshot at the first pin too.

    Raises: NotFound for a space that is not the actor's; ValidationTypeError, ProfileError, AuthorityIntegrityError,
    ConflictError, CapacityError.
    """
    canonical = get_space(options.canonical.space, actor=actor)
    working = get_space(options.working.space, actor=actor)
    _check_names(options)
    _check_lane(canonical, options.canonical, "canonical")
    _check_lane(working, options.working, "working")
    if canonical.environment_id != working.environment_id:
        raise Conflict("Both spaces of an authority are of one environment.", error_code="two_environments")
    head = find_head(options.expected_head)
    if head is None:
        raise ValidationTypeError("Invalid initial canonical memory head.")
    programs, routes = read_programs(options.programs), read_routes(options.routes)
    if not is_integer(options.explanation_milliseconds, *EXPLANATION_MILLISECONDS):
        raise CapacityError("Invalid memory explanation capability lifetime.")
    load_snapshot(CanonicalSpace(canonical), head)
    authority = _insert(options, canonical, working, head)
    authority.refresh_from_db(fields=["created_at"])
    Program.objects.bulk_create(
        Program(
            project_id=authority.project_id,
            authority=authority,
            program_id=program.program_id,
            program_sha256=program.sha256,
            body=program.text.decode(),
        )
        for program in programs
    )
    Route.objects.bulk_create(
        Route(
            project_id=authority.project_id,
            authority=authority,
            nomination_id=name,
            destination_purpose=purpose,
        )
        for name, purpose in routes.items()
    )
    audit.record(
        AuditAction.AUTHORITY_CREATED,
        authority.wire_id,
        environment_id=authority.environment_id,
        details={"canonical": canonical.wire_id, "working": working.wire_id, "sequence": head.sequence},
        actor=actor,
    )
    return authority


def _check_names(options: Options) -> None:
    if not is_integer(options.operation_bytes_max, 1, OPERATION_BYTES_MAX):
        raise ValidationTypeError("Invalid canonical memory operation byte bound.")
    if not is_code(options.actor_id) or not is_code(options.adoption_actor_id):
        raise ValidationTypeError("Invalid host-bound memory authority actor ID.")
    if not is_code(options.canonical.authority_id) or not is_code(options.working.authority_id):
        raise ValidationTypeError("Invalid memory authority ID.")
    if options.canonical.authority_id == options.working.authority_id:
        raise ProfileError("Working and canonical memory must be distinct physical authorities.")


def _check_lane(space: Space, lane: Lane, kind: str) -> None:
    if (space.binding_sha256, space.authority_id) != (lane.binding_sha256, lane.authority_id):
        raise AuthorityIntegrityError(f"The {kind} store is not the host-bound authority.")
    if space.profile_kind != kind:
        raise ProfileError(f"The {kind} memory lane has the wrong store profile.")


def _insert(options: Options, canonical: Space, working: Space, head: Head) -> Authority:
    authority = Authority.objects.create(
        project_id=canonical.project_id,
        environment_id=canonical.environment_id,
        canonical=canonical,
        working=working,
        actor_id=options.actor_id,
        adoption_actor_id=options.adoption_actor_id,
        pin_sequence=head.sequence,
        pin_operation_sha256=head.operation_sha256,
        pin_graph_revision_sha256=head.graph_revision_sha256,
        pin_records_sha256=head.records_sha256,
        operation_bytes_max=options.operation_bytes_max,
        explanation_milliseconds=options.explanation_milliseconds,
    )
    Turn.objects.create(project_id=authority.project_id, authority=authority)
    Clock.objects.create(project_id=authority.project_id, authority=authority)
    return authority


@atomic(durable=True)
def delete_authority(authority_id: str, *, actor: Actor) -> None:
    """Both spaces stay; calls that wait go with it. Raises: NotFound, Conflict while a host call runs."""
    key = get_authority(authority_id, actor=actor).id
    authority = Authority.objects.select_for_update(of=("self",)).get(id=key)
    if HostCall.objects.filter(authority=authority, state="running").exists():
        raise Conflict("A host call of the authority runs at this moment.", error_code="host_call_running")
    audit.record(
        AuditAction.AUTHORITY_DELETED,
        authority.wire_id,
        environment_id=authority.environment_id,
        actor=actor,
    )
    with connection.cursor() as cursor:  # the database takes along what belongs to it
        cursor.execute("DELETE FROM authority_authority WHERE id = %s", [key])


def hold_authorities(environment_id: UUID) -> None:
    """A step: every authority of the environment and its spaces, once whoever writes in one is done. Locks as an agent's call."""
    clocks = Clock.objects.select_for_update(of=("self",))
    list(clocks.filter(authority__environment_id=environment_id).order_by("pk"))
    for model in (Authority, Space):
        rows = model._default_manager.select_for_update().filter(environment_id=environment_id)
        list(rows.order_by("id").values_list("id", flat=True))


def terms_of(authority: Authority, *, fence: Callable[[], None]) -> Terms:
    """What its host methods work with. `fence` runs in each commit's transaction, before anything is written."""
    canonical, working = authority.canonical, authority.working
    routes = Route.objects.filter(authority=authority).values_list("nomination_id", "destination_purpose")
    return Terms(
        CanonicalSpace(canonical, fence=fence),
        WorkingSpace(working),
        Side(canonical.authority_id, canonical.binding_sha256),
        Side(working.authority_id, working.binding_sha256),
        authority.adoption_actor_id,
        dict(routes),
        authority.operation_bytes_max,
    )

"""The verbs of a space, and the two ports through which host methods know one.

Locks: a commit takes the space row FOR NO KEY UPDATE, so that commits follow one another and readers go on; a purge
takes it FOR UPDATE, so that no reader meets a half-emptied space.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from authority import space_history
from authority.bindings import Binding, ProfileKind, make_binding
from authority.canonical import is_code, load, text_of
from authority.clocks import instant_now
from authority.commits import check_commit, commit_operation
from authority.failures import ProfileError, ValidationTypeError
from authority.graph import EMPTY_HEAD, HeadReference
from authority.limits import FEED_OPERATIONS_DEFAULT
from authority.models import Explanation, RecordVersion, Space
from authority.models import Operation as OperationRow
from authority.operations import Operation
from authority.ports import Commit
from authority.receipts import purge_receipt
from authority.verification import find_space_faults
from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from memoryhub.snapshots import allow_seconds

COMMIT_SECONDS_MAX = 60
FAULTS_SHOWN_MAX = 20


def visible_spaces(actor: Actor) -> QuerySet[Space]:
    spaces = Space.objects.filter(project_id=actor.project_id)
    return spaces if actor.environment_id is None else spaces.filter(environment_id=actor.environment_id)


def get_space(space_id: str, *, actor: Actor) -> Space:
    """Raises: NotFound."""
    key = ids.from_wire(ids.SPACE, space_id)
    space = None if key is None else find_row(visible_spaces(actor).filter(id=key))
    if space is None:
        raise NotFound("space")
    return space


def list_spaces(request: ListRequest, *, actor: Actor) -> Page[Space]:
    """Newest first."""
    spaces = visible_spaces(actor).order_by("-id")
    position = request.position()
    if position is not None:
        spaces = spaces.filter(id__lt=position[0])
    return cut_page(list(spaces[: request.limit + 1]), request, lambda space: [space.id.hex])


@atomic(durable=True)
def create_space(
    space_id: str,
    *,
    realm_id: str,
    profile_kind: ProfileKind,
    authority_id: str,
    environment: str | None,
    actor: Actor,
) -> Space:
    """Bind a new, empty space for ever. Raises: ValidationTypeError, Conflict for a name that is taken."""
    environment_id = tenancy.choose_environment(environment, actor=actor)
    if not is_code(authority_id):
        raise ValidationTypeError("Invalid memory authority ID.")
    binding = make_binding(profile_kind, realm_id=realm_id, space_id=space_id)
    if Space.objects.filter(environment_id=environment_id, space_id=space_id).exists():
        raise ProfileError("The space is already bound to a different realm or profile.")
    space = _insert(binding, authority_id, environment_id, actor)
    space.refresh_from_db(fields=["created_at"])
    details = {"profile_kind": profile_kind}
    audit.record(
        AuditAction.SPACE_CREATED, space.wire_id, environment_id=environment_id, details=details, actor=actor
    )
    return space


def _insert(binding: Binding, authority_id: str, environment_id: UUID, actor: Actor) -> Space:
    try:
        with atomic():
            return Space.objects.create(
                project_id=actor.project_id,
                environment_id=environment_id,
                space_id=binding.space_id,
                realm_id=binding.realm_id,
                authority_id=authority_id,
                profile_kind=binding.kind,
                binding_text=binding.text.decode(),
                binding_sha256=binding.sha256,
                records_sha256=EMPTY_HEAD.records_sha256,
            )
    except IntegrityError as error:
        raise Conflict(
            "A space of this environment has this name already.", error_code="name_taken"
        ) from error


@atomic(durable=True)
def commit_to_space(space_id: str, commit: Commit, *, actor: Actor) -> Operation:
    """Raises: NotFound, and what a commit refuses."""
    space = get_space(space_id, actor=actor)
    changes = check_commit(commit)
    space = lock_space(space.id)
    operation, is_new = commit_operation(space, commit, changes)
    if is_new:
        audit.record(
            AuditAction.SPACE_COMMITTED,
            space.wire_id,
            environment_id=space.environment_id,
            details={"sequence": operation.sequence, "changes": len(changes), "bytes": len(operation.text)},
            actor=actor,
        )
    return operation


def lock_space(key: UUID) -> Space:
    """A step: the space, for its next commit. Raises: PurgedSpaceError."""
    allow_seconds(COMMIT_SECONDS_MAX)
    space = Space.objects.select_for_update(no_key=True).get(id=key)
    space_history.require_kept(space)
    return space


def verify_space(space_id: str, *, actor: Actor) -> tuple[Space, list[str]]:
    """The space, and what in it is not what its operations say; the first faults. Raises: NotFound."""
    space = get_space(space_id, actor=actor)
    with atomic():
        allow_seconds(COMMIT_SECONDS_MAX)
        faults = list(islice(find_space_faults(space), FAULTS_SHOWN_MAX))
    return space, faults


@atomic(durable=True)
def purge_space(space_id: str, *, expected_sequence: int, actor: Actor) -> Space:
    """Empty a working space for ever; a receipt is left. Raises: NotFound, ProfileError, PurgedSpaceError, Conflict."""
    key = get_space(space_id, actor=actor).id
    allow_seconds(COMMIT_SECONDS_MAX)
    space = Space.objects.select_for_update().get(id=key)
    space_history.require_kept(space)
    if space.profile_kind != "working":
        raise ProfileError("Only a working space can be purged.")
    if space.sequence != expected_sequence:
        raise Conflict("The space has gone on since it was looked at.", error_code="head_conflict")
    receipt = purge_receipt(
        space.binding_sha256, space_id=space.space_id, prior=space.head, purged_at=instant_now()
    )
    space.purge_receipt = text_of(receipt).decode()
    space.save(update_fields=["purge_receipt"])
    RecordVersion.objects.filter(space=space).delete()
    OperationRow.objects.filter(space=space).delete()
    Explanation.objects.filter(authority__working=space).delete()  # their rows show what was in it
    audit.record(
        AuditAction.SPACE_PURGED,
        space.wire_id,
        environment_id=space.environment_id,
        details={"sequence": space.sequence},
        actor=actor,
    )
    return space


def head_reference(sequence: int, operation_sha256: str | None) -> HeadReference:
    """Raises: InvalidRequest."""
    if (sequence == 0) != (operation_sha256 is None):
        raise InvalidRequest("operation: A head has an operation exactly when its sequence is not 0.")
    return HeadReference(sequence, operation_sha256)


# The ports.


class CanonicalSpace:
    """What host methods may do with a reviewed memory. `fence` raises where the turn was lost, before a commit writes."""

    def __init__(self, space: Space, *, fence: Callable[[], None] = lambda: None) -> None:
        self._key, self._fence = space.id, fence
        self.binding = space_history.binding_of(space)

    def head(self) -> Any:
        with space_history.reading(self._key) as space:
            return space.head.as_wire()

    def snapshot(self, reference: HeadReference, *, records_max: int) -> Any:
        return space_history.read_snapshot_wire(self._key, reference, records_max=records_max)

    def changes_since(
        self, reference: HeadReference, *, limit: int = FEED_OPERATIONS_DEFAULT, through: HeadReference
    ) -> Any:
        return space_history.read_changes(self._key, reference, limit=limit, through=through).as_wire()

    def commit(self, commit: Commit) -> Any:
        changes = check_commit(commit)
        with atomic(durable=True):
            self._fence()
            operation, _ = commit_operation(lock_space(self._key), commit, changes)
        return load(operation.text)


class WorkingSpace:
    """What host methods may do with a working memory."""

    def __init__(self, space: Space) -> None:
        self._key = space.id
        self.binding = space_history.binding_of(space)

    def export_dependency_closure(
        self, roots: list[str], reference: HeadReference, *, records_max: int
    ) -> Any:
        return load(space_history.export_closure(self._key, roots, reference, records_max=records_max))

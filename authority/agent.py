"""The four calls of an agent: remember, query, explain, nominate. None of them moves what is reviewed.

No input selects a store, an actor, a time, a purpose or a page's size. A query keeps the heads that it began with.
"""

from typing import Any

from django.db.transaction import atomic

from authority import space_history
from authority.authorities import get_authority
from authority.canonical import detach, digest_of, has_exact_keys, is_code, parse
from authority.codecs import KINDS
from authority.commits import commit_operation, read_current
from authority.explanations import explain_row, read_asked, read_wall_clock, take_entry
from authority.failures import AuthorityIntegrityError, ValidationTypeError
from authority.graph import Head
from authority.limits import (
    CLOSURE_RECORDS_MAX,
    KEY_LENGTH_MAX,
    NOMINATE_REQUEST_BYTES_MAX,
    REMEMBERED_OPERATION_BYTES_MAX,
    ROOTS_MAX,
)
from authority.models import WAITING_STATES, Authority, Nomination, Operation, Route, Space
from authority.models import Program as ProgramRow
from authority.nominations import Nomination as MadeNomination
from authority.nominations import make_nomination
from authority.ports import Commit
from authority.programs import Program, parse_program
from authority.queries import (
    bindings_digest,
    read_continuation,
    read_query,
    require_same_query,
)
from authority.query_pages import Reading, answer, continuation_key
from authority.receipts import Receipt, Side, remember_receipt
from authority.remembering import Remembering, operation_id_of, read_remembering, require_room
from authority.snapshots import Closure, parse_closure
from authority.spaces import lock_space
from authority.told import tell_waiting
from memoryhub import audit
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.errors import HubError

type Wire = dict[str, Any]

_NOMINATE = frozenset({"nominationId", "roots", "v"})


# Remember.


@atomic(durable=True)
def remember(authority_id: str, value: Any, *, actor: Actor) -> Receipt:
    """Commit to the working memory; the same request again has the same receipt.

    Raises: NotFound, ValidationTypeError, CapacityError, ConflictError, DependencyError, ProfileError, PurgedSpaceError.
    """
    return remember_records(get_authority(authority_id, actor=actor), value, actor=actor)


def remember_records(authority: Authority, value: Any, *, actor: Actor) -> Receipt:
    """A step: the same."""
    asked = read_remembering(value, KINDS)
    instant = read_wall_clock(authority)
    space = lock_space(authority.working_id)
    commit = Commit(
        actor_id=authority.actor_id,
        operation_id=operation_id_of(
            asked.request_id, actor_id=authority.actor_id, binding_sha256=space.binding_sha256
        ),
        changes=asked.changes,
        expected=asked.expected,
        instant=instant,
        operation_bytes_max=REMEMBERED_OPERATION_BYTES_MAX,
    )
    _require_room(space, asked, commit.operation_id)
    operation, is_new = commit_operation(space, commit, asked.changes)
    if (operation.actor_id, operation.operation_id, operation.space_id) != (
        commit.actor_id,
        commit.operation_id,
        space.space_id,
    ):
        raise AuthorityIntegrityError("The working authority returned a different memory operation.")
    if is_new:
        audit.record(
            AuditAction.AGENT_REMEMBERED,
            authority.wire_id,
            environment_id=authority.environment_id,
            details={"sequence": operation.sequence, "changes": len(asked.changes)},
            actor=actor,
        )
    side = Side(space.authority_id, space.binding_sha256)
    return remember_receipt(side, operation, request_id=asked.request_id)


def _require_room(space: Space, asked: Remembering, operation_id: str) -> None:
    """Only at the expected head: elsewhere the store finds what was committed before, or refuses."""
    if asked.expected != space.head.reference:
        return
    if Operation.objects.filter(space=space, operation_id=operation_id).exists():
        return
    current, sizes = read_current(space)
    require_room(asked, current, sizes, sequence=space.sequence)


# Query.


@atomic(durable=True)
def query_memory(authority_id: str, value: Any, *, actor: Actor) -> Wire:
    """One page of a program's rows at the pin and the working head.

    Raises: NotFound, ValidationTypeError, CapacityError, ContinuationError, ProfileError, PurgedSpaceError.
    """
    authority = get_authority(authority_id, actor=actor)
    query = read_query(value)
    program = _find_program(authority, query.program_id)
    bindings_sha256 = bindings_digest(query, program)
    position = None
    if query.continuation is not None:
        position = read_continuation(query.continuation, continuation_key())
        require_same_query(position, program, bindings_sha256)
    with space_history.reading(authority.working_id) as working:
        reading = Reading(authority, program, query, bindings_sha256, authority.pin, working.head)
        return answer(reading, position)


def _find_program(authority: Authority, program_id: str) -> Program:
    row = ProgramRow.objects.filter(authority=authority, program_id=program_id).first()
    if row is None:
        raise ValidationTypeError("Unknown named V2 memory program.")
    return parse_program(parse(row.body))


# Explain.


def explain(authority_id: str, value: Any, *, actor: Actor) -> Wire:
    """What a row of a page rests on, at the heads its query had.

    Raises: NotFound, ValidationTypeError, ExplanationAbsentError, CapacityError, ProfileError.
    """
    authority = get_authority(authority_id, actor=actor)
    asked = read_asked(value)
    return explain_row(take_entry(authority, asked), asked)


# Nominate.


@atomic(durable=True)
def nominate(authority_id: str, value: Any, *, actor: Actor) -> MadeNomination:
    """A proposal of working records with all that they depend on; it waits for a reviewer, once.

    Raises: NotFound, ValidationTypeError, CapacityError, DependencyError, AuthorityIntegrityError, PurgedSpaceError.
    """
    return nominate_records(get_authority(authority_id, actor=actor), value, actor=actor)


def nominate_records(authority: Authority, value: Any, *, actor: Actor) -> MadeNomination:
    """A step: the same."""
    value = detach(value, label="The memory nomination request", bytes_max=NOMINATE_REQUEST_BYTES_MAX)
    route, roots = _read_route(authority, value)
    with space_history.reading(authority.working_id) as space:
        head = space.head
        text = space_history.export_closure(space.id, roots, head.reference, records_max=CLOSURE_RECORDS_MAX)
        closure = _require_closure(text, space, head, roots)
    nomination = make_nomination(
        closure,
        route=route.nomination_id,
        destination_purpose=route.destination_purpose,
        authority_id=space.authority_id,
    )
    keep_nomination(authority, nomination, actor=actor)
    return nomination


def _read_route(authority: Authority, value: Any) -> tuple[Route, list[str]]:
    if (
        not has_exact_keys(value, _NOMINATE)
        or type(value["roots"]) is not list
        or not 1 <= len(value["roots"]) <= ROOTS_MAX
    ):
        raise ValidationTypeError("Invalid memory nomination request.")
    name, roots = value["nominationId"], value["roots"]
    if not is_code(name) or not all(is_code(root, length_max=KEY_LENGTH_MAX) for root in roots):
        raise ValidationTypeError("Invalid memory nomination identity.")
    if len(set(roots)) != len(roots):
        raise ValidationTypeError("Invalid memory nomination identity.")
    route = Route.objects.filter(authority=authority, nomination_id=name).first()
    if route is None:
        raise ValidationTypeError("Unknown named memory nomination route.")
    return route, roots


def _require_closure(text: bytes, space: Space, head: Head, roots: list[str]) -> Closure:
    try:
        closure = parse_closure(parse(text))
    except HubError as error:
        raise AuthorityIntegrityError("The working nomination closure failed exact verification.") from error
    if closure.binding.sha256 != space.binding_sha256 or closure.head != head:
        raise AuthorityIntegrityError("The working nomination closure failed exact verification.")
    if list(closure.roots) != sorted(roots):
        raise AuthorityIntegrityError("The working nomination closure substituted different roots.")
    return closure


def keep_nomination(authority: Authority, nomination: MadeNomination, *, actor: Actor) -> None:
    """A step: one row for a proposal, however often it is made."""
    made = Nomination.objects.bulk_create(
        [
            Nomination(
                project_id=authority.project_id,
                environment_id=authority.environment_id,
                authority=authority,
                nomination_sha256=nomination.sha256,
                nomination_id=nomination.route,
                destination_purpose=nomination.destination_purpose,
                roots_sha256=digest_of(list(nomination.closure.roots)),
                source_sequence=nomination.source_head.sequence,
                records_count=len(nomination.records),
                body=nomination.text.decode(),
                body_bytes=len(nomination.text),
                created_by_type=actor.type,
                created_by_id=actor.actor_id,
            )
        ],
        ignore_conflicts=True,
    )
    kept = Nomination.objects.filter(authority=authority, nomination_sha256=nomination.sha256, id=made[0].id)
    if kept.exists():
        _supersede(made[0])
        audit.record(
            AuditAction.NOMINATION_ARRIVED,
            made[0].wire_id,
            environment_id=authority.environment_id,
            parent_id=authority.wire_id,
            details={"records": len(nomination.records), "bytes": len(nomination.text)},
            actor=actor,
        )
        tell_waiting(authority, made[0])


def _supersede(nomination: Nomination) -> None:
    """A step: a later proposal of the same records takes the place of those that wait, when the working memory went on."""
    Nomination.objects.filter(
        authority_id=nomination.authority_id,
        nomination_id=nomination.nomination_id,
        roots_sha256=nomination.roots_sha256,
        source_sequence__lt=nomination.source_sequence,
        state__in=WAITING_STATES,
    ).update(state="superseded")

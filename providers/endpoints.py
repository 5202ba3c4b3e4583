"""The verbs of endpoints: make one, its credentials, its limits, its end. Source: contract, section 13."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.errors import Conflict, InvalidRequest, NotFound
from memoryhub.pagination import ListRequest, Page, cut_page
from memoryhub.rows import find_row
from memoryhub.tokens import new_token, token_sha256
from providers.endpoint_models import OWN, Endpoint, EndpointCredential, ExternalPartition
from providers.limits import ENDPOINT_CREDENTIALS_MAX


@dataclass(frozen=True, slots=True)
class IssuedCredential:
    """A new credential with its token, which is shown this once."""

    credential: EndpointCredential
    token: str


def visible_endpoints(actor: Actor) -> QuerySet[Endpoint]:
    endpoints = Endpoint.objects.filter(project_id=actor.project_id)
    return (
        endpoints if actor.environment_id is None else endpoints.filter(environment_id=actor.environment_id)
    )


def get_endpoint(endpoint_id: str, *, actor: Actor) -> Endpoint:
    """Raises: NotFound."""
    return _get(visible_endpoints(actor), endpoint_id)


def lock_endpoint(endpoint_id: str, actor: Actor) -> Endpoint:
    """A step. Raises: NotFound."""
    return _get(visible_endpoints(actor).select_for_update(no_key=True, of=("self",)), endpoint_id)


def _get(endpoints: QuerySet[Endpoint], endpoint_id: str) -> Endpoint:
    key = ids.from_wire(ids.ENDPOINT, endpoint_id)
    endpoint = None if key is None else find_row(endpoints.filter(id=key))
    if endpoint is None:
        raise NotFound("endpoint")
    return endpoint


def list_endpoints(page: ListRequest, *, environment: str | None, actor: Actor) -> Page[Endpoint]:
    """Newest first. Raises: NotFound for a foreign environment, InvalidRequest for a foreign cursor."""
    endpoints = visible_endpoints(actor)
    if environment is not None:
        endpoints = endpoints.filter(environment_id=tenancy.get_environment(environment, actor=actor).id)
    position = page.position()
    if position is not None:
        endpoints = endpoints.filter(id__lt=UUID(hex=position[0]))
    return cut_page(
        list(endpoints.order_by("-id")[: page.limit + 1]), page, lambda endpoint: [endpoint.id.hex]
    )


@dataclass(frozen=True, slots=True)
class EndpointUse:
    """`live`: its credentials that are not revoked. `last_used_at`: of all of them, None when it was never called."""

    endpoint: Endpoint
    live: int = 0
    last_used_at: datetime | None = None


def describe_use(endpoints: Sequence[Endpoint]) -> list[EndpointUse]:
    """One query, however many there are."""
    held = EndpointCredential.objects.filter(endpoint_id__in=[one.id for one in endpoints])
    live = Count("id", filter=Q(revoked_at=None))
    rows = held.values_list("endpoint_id").annotate(live=live, used=Max("last_used_at"))
    uses = {endpoint_id: (count, used) for endpoint_id, count, used in rows}
    return [EndpointUse(one, *uses.get(one.id, (0, None))) for one in endpoints]


@atomic(durable=True)
def create_endpoint(
    *,
    environment: str | None,
    name: str,
    bytes_max: int,
    retention_days: int | None,
    backing: str = OWN,
    actor: Actor,
) -> Endpoint:
    """`backing`: who keeps its records, for as long as it is there. Raises: NotFound; Conflict (`endpoint_name_taken`)."""
    environment_id = tenancy.choose_environment(environment, actor=actor)
    endpoint = Endpoint(
        project_id=actor.project_id,
        environment_id=environment_id,
        name=name,
        backing=backing,
        bytes_max=bytes_max,
        retention_days=retention_days,
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )
    _save_named(endpoint, force_insert=True)
    details = {"backing": backing}
    _record(AuditAction.ENDPOINT_CREATED, endpoint, endpoint.wire_id, actor, details=details)
    endpoint.refresh_from_db(fields=["created_at"])
    return endpoint


def _save_named(endpoint: Endpoint, **options: Any) -> None:
    try:
        with transaction.atomic():
            endpoint.save(**options)
    except IntegrityError as error:
        raise Conflict(
            f"The environment has an endpoint with the name {endpoint.name} already.",
            error_code="endpoint_name_taken",
        ) from error


@atomic(durable=True)
def update_endpoint(endpoint_id: str, *, changes: dict[str, Any], actor: Actor) -> Endpoint:
    """`changes`: any of `name`, `bytes_max`, `retention_days`. The same again: unchanged. Raises: NotFound, Conflict."""
    endpoint = lock_endpoint(endpoint_id, actor)
    changed = {field: value for field, value in changes.items() if getattr(endpoint, field) != value}
    if not changed:
        return endpoint
    for field, value in changed.items():
        setattr(endpoint, field, value)
    _save_named(endpoint, update_fields=sorted(changed))
    _record(
        AuditAction.ENDPOINT_UPDATED, endpoint, endpoint.wire_id, actor, details={"fields": sorted(changed)}
    )
    return endpoint


@atomic(durable=True)
def delete_endpoint(endpoint_id: str, *, expected_name: str, actor: Actor) -> str:
    """With its partitions, records and credentials.

    Raises: NotFound; InvalidRequest for another name; Conflict (`endpoint_holds_partitions`) while a memory provider may keep something.
    """
    endpoint = lock_endpoint(endpoint_id, actor)
    if expected_name != endpoint.name:
        raise InvalidRequest("expected_name: It is not the name of this endpoint.")
    Endpoint.objects.select_for_update().only("id").get(id=endpoint.id)  # once who makes a partition is done
    if endpoint.has_provider and ExternalPartition.objects.filter(endpoint=endpoint).exists():
        raise Conflict(
            "A memory provider keeps what hosts wrote in this endpoint: delete its partitions first, and wait until they are gone.",
            error_code="endpoint_holds_partitions",
        )
    wire_id = endpoint.wire_id
    Endpoint.objects.filter(id=endpoint.id).delete()  # the database removes what belongs to it
    _record(AuditAction.ENDPOINT_DELETED, endpoint, wire_id, actor)
    return wire_id


@atomic(durable=True)
def create_credential(
    endpoint_id: str, *, name: str, scope: str, credential_id: UUID | None = None, actor: Actor
) -> IssuedCredential:
    """Several may be live at once, so that one can be replaced without a gap.

    `credential_id`: the id promised to a form. Raises: NotFound, InvalidRequest; Conflict when the id was used.
    """
    endpoint = lock_endpoint(endpoint_id, actor)
    if credential_id is not None and EndpointCredential.objects.filter(id=credential_id).exists():
        raise Conflict("This form has made its credential already.", error_code="already_issued")
    live = EndpointCredential.objects.filter(endpoint=endpoint, revoked_at=None)
    if live.count() >= ENDPOINT_CREDENTIALS_MAX:
        raise InvalidRequest(
            f"The endpoint has {ENDPOINT_CREDENTIALS_MAX} credentials; revoke some first.",
            error_code="credentials_full",
        )
    secret = new_token()
    credential = EndpointCredential.objects.create(
        id=credential_id or ids.new_id(),
        project_id=endpoint.project_id,
        endpoint=endpoint,
        name=name,
        scope=scope,
        token_sha256=token_sha256(secret),
    )
    _record(
        AuditAction.ENDPOINT_CREDENTIAL_CREATED,
        endpoint,
        credential.wire_id,
        actor,
        parent_id=endpoint.wire_id,
        details={"scope": scope},
    )
    credential.refresh_from_db(fields=["created_at"])
    return IssuedCredential(credential, f"mhe_{credential.id.hex}_{secret}")


def list_credentials(endpoint_id: str, page: ListRequest, *, actor: Actor) -> Page[EndpointCredential]:
    """Newest first, revoked ones too. Raises: NotFound, InvalidRequest."""
    held = EndpointCredential.objects.filter(endpoint=get_endpoint(endpoint_id, actor=actor))
    position = page.position()
    if position is not None:
        held = held.filter(id__lt=UUID(hex=position[0]))
    return cut_page(list(held.order_by("-id")[: page.limit + 1]), page, lambda one: [one.id.hex])


def get_credential(endpoint_id: str, credential_id: str, *, actor: Actor) -> EndpointCredential:
    """Raises: NotFound."""
    return find_credential(get_endpoint(endpoint_id, actor=actor), credential_id)


def find_credential(endpoint: Endpoint, credential_id: str) -> EndpointCredential:
    """Raises: NotFound."""
    key = ids.from_wire(ids.ENDPOINT_CREDENTIAL, credential_id)
    held = EndpointCredential.objects.filter(endpoint_id=endpoint.id)
    credential = None if key is None else find_row(held.filter(id=key))
    if credential is None:
        raise NotFound("credential")
    return credential


@atomic(durable=True)
def revoke_credential(endpoint_id: str, credential_id: str, *, actor: Actor) -> EndpointCredential:
    """Again: unchanged. Raises: NotFound."""
    endpoint = lock_endpoint(endpoint_id, actor)
    credential = find_credential(endpoint, credential_id)
    if credential.revoked_at is None:
        credential.revoked_at = ClockTimestamp()
        credential.save(update_fields=["revoked_at"])
        credential.refresh_from_db(fields=["revoked_at"])
        _record(
            AuditAction.ENDPOINT_CREDENTIAL_REVOKED,
            endpoint,
            credential.wire_id,
            actor,
            parent_id=endpoint.wire_id,
        )
    return credential


def _record(
    action: AuditAction,
    endpoint: Endpoint,
    subject_id: str,
    actor: Actor,
    *,
    parent_id: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    audit.record(
        action,
        subject_id,
        environment_id=endpoint.environment_id,
        parent_id=parent_id,
        details=details,
        actor=actor,
    )

"""Secrets: values that connections send to other services. Written and never read back; sealed at rest.

Source: contract of document and HTTP memory, section 2.5. A secret of an agent wins over that of the environment.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, tenancy
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.columns import ClockTimestamp
from memoryhub.encryption import key_name, open_seal, seal
from memoryhub.errors import Conflict, InvalidRequest, NotFound, Unavailable
from memoryhub.models import AuditEvent, Environment, Secret
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row

VALUE_BYTES_MAX = 4_096
ORIGINS_MAX = 32
LAST_USED_GRAIN = timedelta(minutes=1)


def visible_secrets(actor: Actor) -> QuerySet[Secret]:
    secrets = Secret.objects.filter(project_id=actor.project_id)
    return secrets if actor.environment_id is None else secrets.filter(environment_id=actor.environment_id)


@atomic(durable=True)
def put_secret(
    *,
    environment: str | None,
    name: str,
    agent_id: str,
    value: str,
    allowed_origins: list[str],
    expected_changed_at: datetime | Literal["never"] | None = None,
    actor: Actor,
) -> Secret:
    """Make the secret, or replace its value and origins. `expected_changed_at`: of the secret that is replaced; `never`
    for a new one.

    Raises: NotFound, InvalidRequest, Unavailable without a key; Conflict when it is not as expected.
    """
    environment_id = tenancy.choose_environment(environment, actor=actor)
    _require_key()
    # Two that meet at the quota or at the name wait for each other.
    Environment.objects.select_for_update(no_key=True).get(id=environment_id)
    held = Secret.objects.filter(environment_id=environment_id)
    secret = find_row(held.filter(agent_id=agent_id, name=name))
    _require_expected(secret, expected_changed_at)
    is_new = secret is None
    if secret is None:
        _require_room(held)
        secret = Secret(
            project_id=actor.project_id, environment_id=environment_id, name=name, agent_id=agent_id
        )
    secret.allowed_origins = allowed_origins
    secret.changed_at = ClockTimestamp()
    secret.sealed_with, secret.sealed = seal(settings.ENCRYPTION_KEYS, value, belongs_to=secret.wire_id)
    if is_new:
        secret.save(force_insert=True)
    else:
        secret.save(update_fields=["allowed_origins", "changed_at", "sealed", "sealed_with"])
    action = AuditAction.SECRET_CREATED if is_new else AuditAction.SECRET_CHANGED
    audit.record(action, secret.wire_id, environment_id=environment_id, details={"name": name}, actor=actor)
    return secret


def _require_expected(secret: Secret | None, expected_changed_at: datetime | Literal["never"] | None) -> None:
    if expected_changed_at is None:
        return
    if secret is not None and expected_changed_at == "never":
        raise Conflict(
            "There is a secret of this name already: replace its value.", error_code="secret_exists"
        )
    if secret is None and expected_changed_at != "never":
        raise NotFound("secret")
    if secret is not None and secret.changed_at != expected_changed_at:
        raise Conflict("Somebody else replaced the secret since it was read.", error_code="secret_changed")


def _require_key() -> None:
    if not settings.ENCRYPTION_KEYS:
        raise Unavailable("This hub has no key to seal secrets with: set MEMORYHUB_ENCRYPTION_KEY.")


def _require_room(held: QuerySet[Secret]) -> None:
    if held.count() >= settings.SECRETS_MAX:
        raise InvalidRequest(
            f"The environment holds {settings.SECRETS_MAX} secrets already; delete some first.",
            error_code="secrets_full",
        )


def list_secrets(page: ListRequest, *, environment: str | None, actor: Actor) -> Page[Secret]:
    """Newest first, without values. Raises: NotFound, InvalidRequest."""
    secrets = visible_secrets(actor).defer("sealed")
    if environment is not None:
        secrets = secrets.filter(environment_id=tenancy.get_environment(environment, actor=actor).id)
    return cut_newest(secrets, page)


def list_writers(secrets: Sequence[Secret]) -> dict[UUID, str]:
    """Who gave each its value, by the secret's id, as the audit trail has it."""
    wire_ids = {secret.wire_id: secret.id for secret in secrets}
    written = AuditEvent.objects.filter(
        subject_id__in=wire_ids, action__in=[AuditAction.SECRET_CREATED, AuditAction.SECRET_CHANGED]
    )
    newest = written.order_by("subject_id", "-number").distinct("subject_id")
    return {wire_ids[one.subject_id]: one.actor_id for one in newest}


def get_secret(secret_id: str, *, actor: Actor) -> Secret:
    """Without its value. Raises: NotFound."""
    key = ids.from_wire(ids.SECRET, secret_id)
    secret = None if key is None else find_row(visible_secrets(actor).defer("sealed").filter(id=key))
    if secret is None:
        raise NotFound("secret")
    return secret


@atomic(durable=True)
def delete_secret(secret_id: str, *, actor: Actor) -> str:
    """Raises: NotFound."""
    secret = get_secret(secret_id, actor=actor)
    if not Secret.objects.filter(id=secret.id).delete()[0]:
        raise NotFound("secret")  # somebody else's deletion was first
    audit.record(
        AuditAction.SECRET_DELETED,
        secret_id,
        environment_id=secret.environment_id,
        details={"name": secret.name},
        actor=actor,
    )
    return secret_id


def find_value(environment_id: UUID, *, agent_id: str, name: str, origin: str) -> str | None:
    """The value for a call to an origin; None when there is no such secret or it is not for that origin.

    Read at the time of the call, so a changed value reaches sessions that have begun; the use is noted. Raises: CannotOpen.
    """
    held = Secret.objects.filter(environment_id=environment_id, name=name, agent_id__in=["", agent_id])
    secret = held.order_by("-agent_id").first()
    if secret is None or origin not in secret.allowed_origins:
        return None
    value = open_value(secret)
    _note_use(secret)
    return value


def _note_use(secret: Secret) -> None:
    """A write a minute at most. One whose row another transaction holds is left: that one has just noted it, or writes it anew."""
    now = timezone.now()
    if secret.last_used_at is None or now - secret.last_used_at > LAST_USED_GRAIN:
        with atomic():
            free = Secret.objects.select_for_update(skip_locked=True, no_key=True).filter(id=secret.id)
            Secret.objects.filter(id__in=free.values("id")).update(last_used_at=now)


def open_value(secret: Secret) -> str:
    """Raises: CannotOpen."""
    sealed = bytes(secret.sealed)
    return open_seal(settings.ENCRYPTION_KEYS, secret.sealed_with, sealed, belongs_to=secret.wire_id)


def reseal_all() -> int:
    """Seal anew, under the first key, what an older key sealed; how many. It runs beside everything else.

    When it returns no secret is left on an older key, unless a process that knows no newer one still seals.
    Raises: CannotOpen.
    """
    newest = key_name(settings.ENCRYPTION_KEYS[0])
    resealed = 0
    while keys := list(Secret.objects.exclude(sealed_with=newest).values_list("id", flat=True)):
        resealed += sum(_reseal(key, newest) for key in keys)
    return resealed


@transaction.atomic(durable=True)
def _reseal(key: UUID, newest: str) -> bool:
    """One row at a time, so that it never waits for one lock while it holds another."""
    secret = find_row(Secret.objects.exclude(sealed_with=newest).select_for_update().filter(id=key))
    if secret is None:
        return False  # deleted, or sealed anew meanwhile
    value = open_value(secret)
    secret.sealed_with, secret.sealed = seal(settings.ENCRYPTION_KEYS, value, belongs_to=secret.wire_id)
    secret.save(update_fields=["sealed", "sealed_with"])
    return True

"""API keys: issue (shown once), authenticate, rotate, revoke. A key reads `mh_<32 hex of its id>_<secret>`."""

import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.query import QuerySet
from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import audit, ids, leases, store_access, tenancy
from memoryhub.actors import SCOPE_NAME_LENGTH_MAX, Actor, RecordScope, StoreAccess
from memoryhub.audit import AuditAction
from memoryhub.digests import are_equal
from memoryhub.errors import AuthenticationFailed, Conflict, InvalidRequest, NotFound
from memoryhub.kept_queries import KeptSelect
from memoryhub.models import ApiKey, Environment
from memoryhub.operations import SCOPES
from memoryhub.pagination import ListRequest, Page, cut_newest
from memoryhub.rows import find_row
from memoryhub.tokens import new_token, token_sha256

KEY_OVERLAP_SECONDS_MAX = 7 * 86_400
LAST_USED_GRAIN = timedelta(seconds=60)
# `ending`: it was rotated and works until `revoked_at`.
type KeyState = Literal["valid", "ending", "expired", "revoked"]
_with_id = KeptSelect(lambda id: ApiKey.objects.filter(id=id))
_KEY = re.compile(r"mh_([0-9a-f]{32})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key with its secret, which is shown this once."""

    key: ApiKey
    secret: str


def authenticate_key(text: str) -> Actor:
    """The actor of a presented key. Raises: AuthenticationFailed for an unknown, revoked or expired one."""
    match = _KEY.fullmatch(text)
    key = _with_id.row(id=UUID(hex=match[1])) if match else None
    if match is None or key is None or not are_equal(bytes(key.secret_sha256), token_sha256(match[2])):
        raise AuthenticationFailed("The API key is not known.")
    now = timezone.now()
    if key.revoked_at is not None and key.revoked_at <= now:
        raise AuthenticationFailed("The API key is revoked.")
    if key.expires_at is not None and key.expires_at <= now:
        raise AuthenticationFailed("The API key has expired.")
    if key.work_id is not None and not leases.is_held(key.work_id, token_id=key.id):
        raise AuthenticationFailed("The lease of this token's work is over.")
    _note_use(key, now)
    return key_actor(key)


def key_actor(key: ApiKey) -> Actor:
    stores: Mapping[UUID, StoreAccess] | None = None
    if key.stores is not None or "agent" in key.scopes:
        stores = {UUID(hex=hex_id): access for hex_id, access in (key.stores or {}).items()}
    of = None if key.record_scope is None else RecordScope(**key.record_scope)
    scopes = frozenset(key.scopes)
    if key.session_id is not None:
        session_id = ids.to_wire(ids.SESSION, key.session_id)
        return Actor(
            "session_actor",
            session_id,
            key.project_id,
            key.environment_id,
            scopes,
            stores,
            of,
            key.id,
            key.work_id,
        )
    return Actor("api_actor", key.wire_id, key.project_id, key.environment_id, scopes, stores, of)


def _note_use(key: ApiKey, now: datetime) -> None:
    if key.last_used_at is None or now - key.last_used_at > LAST_USED_GRAIN:
        ApiKey.objects.filter(id=key.id).update(last_used_at=now)


@atomic(durable=True)
def create_key(
    *,
    environment: str | None = None,
    name: str,
    scopes: list[str],
    stores: Mapping[UUID, StoreAccess] | None = None,
    record_scope: RecordScope | None = None,
    expires_at: datetime | None = None,
    key_id: UUID | None = None,
    actor: Actor,
) -> IssuedKey:
    """A key for the environment named; none named: as far as the caller's own credential reaches.

    `key_id`: the id promised to a form. Raises: NotFound for a foreign environment or store; InvalidRequest for scopes
    that do not go together, a time that has passed, or a full project; Conflict when the id was used.
    """
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidRequest("expires_at: This time has passed. Choose a later one, or none.")
    environment_id = actor.environment_id
    if environment is not None:
        environment_id = tenancy.get_environment(environment, actor=actor).id
    if stores is not None and environment_id is not None:
        store_access.require_stores(environment_id, stores)
    return issue_key(
        environment_id=environment_id,
        name=name,
        scopes=scopes,
        stores=stores,
        record_scope=record_scope,
        expires_at=expires_at,
        key_id=key_id,
        actor=actor,
    )


def issue_key(
    *,
    environment_id: UUID | None,
    name: str,
    scopes: list[str],
    stores: Mapping[UUID, StoreAccess] | None = None,
    record_scope: RecordScope | None = None,
    expires_at: datetime | None = None,
    replaced: ApiKey | None = None,
    key_id: UUID | None = None,
    actor: Actor,
) -> IssuedKey:
    """The step of `create_key`: in the caller's transaction. A key that is `replaced` by it does not count."""
    _check_scopes(scopes, environment_id, stores, record_scope)
    tenancy.lock_project(actor.project_id)
    if key_id is not None and ApiKey.objects.filter(id=key_id).exists():
        raise Conflict("This form has made its key already.", error_code="already_issued")
    live = ApiKey.objects.filter(project_id=actor.project_id, session=None).filter(
        Q(revoked_at=None) | Q(revoked_at__gt=timezone.now())
    )
    if replaced is not None:
        live = live.exclude(id=replaced.id)
    if live.count() >= settings.KEYS_MAX:
        raise InvalidRequest(
            f"The project has {settings.KEYS_MAX} keys already; revoke one first.", error_code="keys_full"
        )
    issued = write_key(
        id=key_id or ids.new_id(),
        project_id=actor.project_id,
        environment=Environment.objects.get(id=environment_id) if environment_id else None,
        name=name,
        scopes=sorted(set(scopes)),
        stores=stores,
        record_scope=record_scope,
        expires_at=expires_at,
        actor=actor,
    )
    key = issued.key
    audit.record(
        AuditAction.API_KEY_CREATED,
        key.wire_id,
        environment_id=environment_id,
        details={"scopes": key.scopes, "stores": len(stores or {})},
        actor=actor,
    )
    return issued


def write_key(
    *,
    stores: Mapping[UUID, StoreAccess] | None,
    record_scope: RecordScope | None,
    actor: Actor,
    **columns: Any,
) -> IssuedKey:
    """A step: the row with a new secret. What it may do has been checked."""
    secret = new_token()
    key = ApiKey.objects.create(
        secret_sha256=token_sha256(secret),
        secret_hint=secret[-4:],
        stores=None if stores is None else {store_id.hex: access for store_id, access in stores.items()},
        record_scope=None if record_scope is None else asdict(record_scope),
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
        **columns,
    )
    return IssuedKey(key, f"mh_{key.id.hex}_{secret}")


def _check_scopes(
    scopes: list[str],
    environment_id: UUID | None,
    stores: Mapping[UUID, StoreAccess] | None,
    record_scope: RecordScope | None,
) -> None:
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise InvalidRequest(f"scopes: choose from {', '.join(SCOPES)}.")
    if "agent" in scopes and len(set(scopes)) > 1:
        raise InvalidRequest("scopes: an agent key carries the agent scope alone.")
    if "agent" in scopes and environment_id is None:
        raise InvalidRequest("environment: an agent key belongs to one environment.")
    if stores is not None and "agent" not in scopes:
        raise InvalidRequest("stores: only an agent key names stores.")
    if record_scope is not None and "agent" not in scopes:
        raise InvalidRequest(
            "record_scope: only an agent key carries one; others name a scope in each request."
        )
    if record_scope is not None and not all(
        0 < len(part) <= SCOPE_NAME_LENGTH_MAX and "\0" not in part for part in astuple(record_scope)
    ):
        raise InvalidRequest(f"record_scope: each of its parts has 1 to {SCOPE_NAME_LENGTH_MAX} characters.")


def list_keys(page: ListRequest, *, actor: Actor) -> Page[ApiKey]:
    """Newest first, revoked ones included."""
    return cut_newest(_visible_keys(actor).select_related("environment"), page)


def state_of(key: ApiKey) -> KeyState:
    now = timezone.now()
    if key.revoked_at is not None:
        return "revoked" if key.revoked_at <= now else "ending"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "valid"


def get_key(key_id: str, *, actor: Actor) -> ApiKey:
    """Raises: NotFound."""
    found = ids.from_wire(ids.API_KEY, key_id)
    key = find_row(_visible_keys(actor).select_related("environment").filter(id=found)) if found else None
    if key is None:
        raise NotFound("API key")
    return key


def _visible_keys(actor: Actor) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(session=None, **actor.owners)


@atomic(durable=True)
def rotate_key(key_id: str, *, overlap_seconds: int, actor: Actor) -> IssuedKey:
    """Issue a key with the same rights; the old one works for `overlap_seconds` more. Raises: NotFound, InvalidRequest."""
    old = _lock_key(key_id, actor)
    if old.revoked_at is not None:
        raise InvalidRequest("The API key is revoked, so it cannot be rotated; create a new one.")
    old_actor = key_actor(old)
    issued = issue_key(
        environment_id=old.environment_id,
        name=old.name,
        scopes=old.scopes,
        stores=old_actor.stores,
        record_scope=old_actor.record_scope,
        expires_at=old.expires_at,
        replaced=old,
        actor=actor,
    )
    audit.record(
        AuditAction.API_KEY_ROTATED,
        old.wire_id,
        environment_id=old.environment_id,
        details={"new_key": issued.key.wire_id, "overlap_seconds": overlap_seconds},
        actor=actor,
    )
    old.revoked_at = timezone.now() + timedelta(seconds=overlap_seconds)
    old.save(update_fields=["revoked_at"])
    return issued


@atomic(durable=True)
def revoke_key(key_id: str, *, actor: Actor) -> ApiKey:
    """Effective for every request that begins after the answer. Again: unchanged. Raises: NotFound."""
    key = _lock_key(key_id, actor)
    now = timezone.now()
    if key.revoked_at is not None and key.revoked_at <= now:
        return key
    # first, since a key may revoke itself
    audit.record(AuditAction.API_KEY_REVOKED, key.wire_id, environment_id=key.environment_id, actor=actor)
    key.revoked_at = now
    key.save(update_fields=["revoked_at"])
    return key


def _lock_key(key_id: str, actor: Actor) -> ApiKey:
    key = get_key(key_id, actor=actor)
    # With its environment, which the answer shows: nothing may be left to read once the change is committed.
    return ApiKey.objects.select_related("environment").select_for_update(of=("self",)).get(id=key.id)

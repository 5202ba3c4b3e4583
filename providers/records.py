"""Remember, recall and forget for the doors, over the provider of the environment, and what went wrong in doing so.

Source: contract of the memory provider, section 10. The verbs that write are a row of short transactions where the provider is
another service: see `providers.guard`. A session's token acts as the session's model: see `providers.session_records`.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models.query import QuerySet

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest
from memoryhub.pagination import ListRequest, Page, cut_newest
from providers import session_records
from providers.contract import Err, Origin, Provenance
from providers.guard import Recalled, ScopedMemory
from providers.provider_choice import find_provider as find_provider
from providers.provider_choice import provider_of
from providers.record_access import WantedScope, require_own_scope, require_scope
from providers.record_answers import Forgotten, Saved, forgotten_of, hub_error, saved_of
from providers.record_models import ScopeViolation
from providers.token_calls import is_session_token


def save_record(wanted: WantedScope, fields: Mapping[str, Any], *, key: str | None, actor: Actor) -> Saved:
    """`fields`: text, and what else of a MemoryRecord its writer gives. Under the same key the same record is one record.

    Raises: NotFound, InvalidRequest without a key, PermissionRefused, Unprocessable, Unavailable, ProviderTimeout.
    """
    if is_session_token(actor):
        require_own_scope(wanted, actor=actor)
        return session_records.save_record(fields, key=_require_key(key), actor=actor)
    memory = _memory(wanted, actor)
    key = _require_key(key)
    # The key, and nothing of the request: the same save sent again carries the same.
    given = {**fields, "origin": _origin(actor), "provenance": Provenance("api", (key,))}
    return saved_of(memory.remember(given, key))


def _origin(actor: Actor) -> Origin:
    """Who wrote it is known from the credential, never from what it says."""
    return "model" if actor.is_agent else "host"


def search_records(wanted: WantedScope, query: str, *, k: int, actor: Actor) -> Recalled:
    """Best first. Raises: NotFound, InvalidRequest, PermissionRefused, Unprocessable, Unavailable, ProviderTimeout."""
    if is_session_token(actor):
        require_own_scope(wanted, actor=actor)
        return session_records.search_records(query, k=k, actor=actor)
    result = _memory(wanted, actor).recall(query, k=k)
    if isinstance(result, Err):
        raise hub_error(result.error)
    return result.value


def forget_record(wanted: WantedScope, record_id: str, *, key: str | None, actor: Actor) -> Forgotten:
    """Once it is certain, nothing answers the text any more. A second time succeeds.

    Raises: NotFound, InvalidRequest without a key, PermissionRefused, Unprocessable for what never was in the scope, Unavailable, ProviderTimeout.
    """
    if is_session_token(actor):
        require_own_scope(wanted, actor=actor)
        return session_records.forget_record(record_id, key=_require_key(key), actor=actor)
    memory = _memory(wanted, actor)
    return forgotten_of(memory.forget(record_id, _require_key(key)))


def _memory(wanted: WantedScope, actor: Actor) -> ScopedMemory:
    scope = require_scope(wanted, actor=actor)
    environment_id = UUID(scope.tenant_id.partition(":")[2])
    return ScopedMemory(provider_of(environment_id), scope, actor)


def _require_key(key: str | None) -> str:
    if key is None:
        raise InvalidRequest(
            "Idempotency-Key: A write of records needs one: under the same key it is done once.",
            error_code="idempotency_key_required",
        )
    return key


def visible_violations(actor: Actor) -> QuerySet[ScopeViolation]:
    violations = ScopeViolation.objects.filter(project_id=actor.project_id)
    if actor.environment_id is not None:
        violations = violations.filter(scope__environment_id=actor.environment_id)
    return violations.select_related("scope")


def list_violations(page: ListRequest, *, environment: str | None, actor: Actor) -> Page[ScopeViolation]:
    """Newest first. Raises: NotFound, InvalidRequest for a foreign cursor."""
    violations = visible_violations(actor)
    if environment is not None:
        named = tenancy.get_environment(environment, actor=actor)
        violations = violations.filter(scope__environment_id=named.id)
    return cut_newest(violations, page)

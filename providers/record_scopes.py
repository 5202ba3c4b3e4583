"""The rows of scopes, and the bindings that the host issues in them."""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable
from uuid import UUID

from django.db import connection

from memoryhub import ids
from memoryhub.rows import find_row
from providers.contract import Binding, MemoryHit, MemoryRecord, RecordRef, Result, Scope
from providers.embedding import Vector
from providers.record_models import RecordBinding, RecordScope
from providers.record_names import binding_id_of, namespace_of

_ISSUE = """
INSERT INTO providers_recordbinding (project_id, scope_id, record_id) VALUES (%s, %s, %s)
    ON CONFLICT (scope_id, record_id) DO NOTHING
"""


@runtime_checkable
class WritesHere(Protocol):
    """Optional, ours: a provider whose records stand in this hub's database, and who writes in the transaction that is open."""

    def remember_here(self, held: RecordScope, record: MemoryRecord, key: str) -> Result[RecordRef]: ...

    def find_query_vector(self, query: str) -> Vector | None:
        """Asked before the transaction of `recall_here`, since it may take its time."""

    def recall_here(
        self, held: RecordScope, query: str, *, k: int, vector: Vector | None
    ) -> Result[Sequence[MemoryHit]]: ...

    def forget_here(self, held: RecordScope, id: str, key: str) -> Result[None]: ...


def tenant_of(project_id: UUID, environment_id: UUID) -> str:
    return f"{project_id}:{environment_id}"


def find_scope(scope: Scope) -> RecordScope | None:
    """None too for a tenant that is none of this hub's."""
    tenant = _read_tenant(scope)
    if tenant is None:
        return None
    held = RecordScope.objects.filter(environment_id=tenant[1], agent=scope.agent, scope=scope.scope)
    return find_row(held.filter(project_id=tenant[0]))


def ensure_scope(scope: Scope) -> RecordScope | None:
    """A step: the scope, made at its first write. None for a tenant that is none of this hub's."""
    found = find_scope(scope)
    tenant = _read_tenant(scope)
    if found is not None or tenant is None:
        return found
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO providers_recordscope (id, project_id, environment_id, agent, scope, namespace)
            SELECT %s, project_id, id, %s, %s, %s FROM memoryhub_environment WHERE project_id = %s AND id = %s
                ON CONFLICT (environment_id, agent, scope) DO NOTHING
            """,
            [ids.new_id(), scope.agent, scope.scope, namespace_of(scope), *tenant],
        )
    return find_scope(scope)


def hold_scopes(environment_id: UUID) -> None:
    """A step: every scope of the environment, once whoever writes in it is done."""
    list(
        RecordScope.objects.select_for_update()
        .filter(environment_id=environment_id)
        .order_by("id")
        .only("id")
    )


def _read_tenant(scope: Scope) -> tuple[UUID, UUID] | None:
    """(project, environment)."""
    project, _, environment = scope.tenant_id.partition(":")
    try:
        return UUID(project), UUID(environment)
    except ValueError:
        return None


def read_scope(held: RecordScope) -> Scope:
    return Scope(tenant_of(held.project_id, held.environment_id), held.agent, held.scope)


def binding_of(held: RecordScope, key: str) -> Binding:
    """What is issued for a key, the same each time."""
    return Binding(held.namespace, binding_id_of(held.namespace, key))


def issue_binding(held: RecordScope, key: str) -> Binding:
    """A step, before a provider is called. For the same key the same binding."""
    binding = binding_of(held, key)
    with connection.cursor() as cursor:
        cursor.execute(_ISSUE, [held.project_id, held.id, binding.record_id])
    return binding


def owned_bindings(held: RecordScope, bindings: Iterable[Binding]) -> set[Binding]:
    """Those that the host issued to exactly this scope: one query for all."""
    inside = {one.record_id: one for one in bindings if one.namespace == held.namespace}
    issued = RecordBinding.objects.filter(scope_id=held.id, record_id__in=list(inside))
    return {inside[record_id] for record_id in issued.values_list("record_id", flat=True)}

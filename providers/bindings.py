"""Bindings: which documents, collections and namespaces a session may reach, fixed when it begins.

Source: contract, sections 4 and 9.3. Every check is made before anything is stored.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from memoryhub.actors import Actor
from memoryhub.errors import InvalidRequest, Unavailable
from memoryhub.kept_queries import KeptSelect
from memoryhub.models import Project, Session
from memoryhub.rows import find_row
from providers import namespaces
from providers.declarations import Manifest
from providers.limits import BINDINGS_MAX, RESOURCE_ID_LENGTH_MAX
from providers.models import Binding, Resource
from providers.offers import find_collision
from stores.models import Memory

SCOPES = {"document": ("document", "collection"), "http": ("namespace",), "records": ("records",)}
_TARGET_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_KEYS = frozenset({"scope", "id", "access"})


@dataclass(frozen=True, slots=True)
class WantedBinding:
    """`target_id` empty: of a collection, or of records, whose scope the principal of each request gives."""

    resource_id: str
    scope: str
    target_id: str
    access: str

    def canonical(self) -> dict[str, str]:
        return {"scope": self.scope, "id": self.target_id, "access": self.access}


def refused(resource_id: str, sentence: str) -> InvalidRequest:
    named = resource_id[:RESOURCE_ID_LENGTH_MAX]
    return InvalidRequest(f"memory.{named}: {sentence}", error_code="invalid_memory_binding")


def parse_bindings(value: Mapping[str, Any]) -> list[WantedBinding]:
    """Defaults filled in, by resource id. Raises: InvalidRequest (`invalid_memory_binding`)."""
    if len(value) > BINDINGS_MAX:
        raise InvalidRequest(
            f"memory: {len(value)} resources are bound; a session binds at most {BINDINGS_MAX}.",
            error_code="invalid_memory_binding",
        )
    return [_parse_binding(resource_id, value[resource_id]) for resource_id in sorted(value)]


def _parse_binding(resource_id: str, given: Any) -> WantedBinding:
    if not isinstance(given, dict):
        raise refused(resource_id, "It must be an object.")
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise refused(resource_id, f"{unknown[0][:RESOURCE_ID_LENGTH_MAX]} is not known here.")
    scope, target_id, access = given.get("scope"), given.get("id"), given.get("access", "read")
    if scope not in ("document", "collection", "namespace", "records"):
        raise refused(resource_id, "scope must be document, collection, namespace or records.")
    if access not in ("read", "read-write"):
        raise refused(resource_id, "access must be read or read-write.")
    if scope == "collection":
        if "id" in given:
            raise refused(resource_id, "A collection has no id.")
        if access != "read":
            raise refused(resource_id, "A collection can only be read.")
        return WantedBinding(resource_id, scope, "", access)
    if scope == "records":
        if "id" in given:
            raise refused(resource_id, "Records have no id: whose they are is said by the principal.")
        return WantedBinding(resource_id, scope, "", access)
    if not isinstance(target_id, str) or not _TARGET_ID.fullmatch(target_id):
        raise refused(resource_id, f"id must be that of a {scope}: 1 to 128 letters, digits, _ and -.")
    return WantedBinding(resource_id, scope, target_id, access)


def add_bindings(
    session: Session, wanted: Sequence[WantedBinding], manifest: Manifest, *, actor: Actor
) -> list[Binding]:
    """A step, in the transaction that makes the session.

    Raises: InvalidRequest (`invalid_memory_binding`, `memory_tool_conflict`, `http_memory_unavailable`).
    """
    resources = check_bindings(session.environment_id, wanted, manifest)
    return Binding.objects.bulk_create(
        _binding(session, one, resources[one.resource_id], actor) for one in wanted
    )


def check_bindings(
    environment_id: UUID, wanted: Sequence[WantedBinding], manifest: Manifest
) -> dict[str, Resource]:
    """The bound resources by id. Raises: InvalidRequest (`invalid_memory_binding`, `memory_tool_conflict`)."""
    resources = _find_resources(environment_id, wanted, manifest)
    _require_documents(wanted, resources)
    collision = find_collision(
        (manifest.resources[one.resource_id] for one in wanted), manifest.ordinary_tools
    )
    if collision is not None:
        raise InvalidRequest(f"memory: {collision}", error_code="memory_tool_conflict")
    return resources


def _find_resources(
    environment_id: UUID, wanted: Sequence[WantedBinding], manifest: Manifest
) -> dict[str, Resource]:
    names = [one.resource_id for one in wanted]
    rows = Resource.objects.filter(environment_id=environment_id, resource_id__in=names).select_related(
        "store"
    )
    resources = {row.resource_id: row for row in rows}
    for one in wanted:
        if one.resource_id not in manifest.resources or one.resource_id not in resources:
            raise refused(one.resource_id, "The session's deployment does not declare this resource.")
        kind = resources[one.resource_id].kind
        if one.scope not in SCOPES[kind]:
            raise refused(
                one.resource_id, f"A resource of the kind {kind} is bound by {' or '.join(SCOPES[kind])}."
            )
    return resources


def _require_documents(wanted: Sequence[WantedBinding], resources: Mapping[str, Resource]) -> None:
    named = {
        (resources[one.resource_id].store_id, f"/{one.target_id}".encode()): one
        for one in wanted
        if one.scope == "document"
    }
    found = Memory.objects.filter(
        store_id__in={store_id for store_id, _ in named}, path_key__in={path_key for _, path_key in named}
    ).values_list("store_id", "path_key")
    live = {(store_id, bytes(path_key)) for store_id, path_key in found}
    for key, one in named.items():
        if key not in live:
            raise refused(one.resource_id, f"There is no document {one.target_id}.")


def _binding(session: Session, wanted: WantedBinding, resource: Resource, actor: Actor) -> Binding:
    namespace = None
    if wanted.scope == "records" and settings.PARTITION_KEY is None:
        raise Unavailable(
            "memory: This hub has no key for partitions, so it keeps no records: set MEMORYHUB_PARTITION_KEY.",
            error_code="records_unavailable",
        )
    if wanted.scope == "namespace":
        _require_http_memory(actor)
        namespace = namespaces.open_namespace(resource, wanted.target_id)
    binding = draft_binding(session, wanted, resource)
    binding.namespace = namespace
    return binding


def draft_binding(session: Session, wanted: WantedBinding, resource: Resource) -> Binding:
    """Not saved, and without its namespace."""
    return Binding(
        project_id=session.project_id,
        session=session,
        resource=resource,
        scope=wanted.scope,
        target_id=wanted.target_id,
        access=wanted.access,
    )


def _require_http_memory(actor: Actor) -> None:
    if Project.objects.values_list("http_memory", flat=True).get(id=actor.project_id) != "enabled":
        raise InvalidRequest(
            "memory: HTTP memory is a preview in this project: it can be declared, and not bound yet.",
            error_code="http_memory_unavailable",
        )
    if settings.PARTITION_KEY is None:
        raise InvalidRequest(
            "memory: This hub has no key for partitions: set MEMORYHUB_PARTITION_KEY.",
            error_code="http_memory_unavailable",
        )


_of_session = KeptSelect(
    lambda session_id: Binding.objects.filter(session_id=session_id).select_related(
        "resource__store", "namespace"
    )
)


def list_bindings(session: Session) -> list[Binding]:
    """By resource id, with what they reach."""
    bindings = _of_session.rows(session_id=session.id)
    return sorted(bindings, key=lambda binding: binding.resource.resource_id)


def find_live_binding(session: Session, resource_id: str) -> Binding | None:
    """The binding as it is now, of a session that is live; None when it is revoked or the session has ended."""
    if session.ended_at is not None:
        return None
    live = Binding.objects.filter(session_id=session.id, revoked_at=None).select_related(
        "resource__store", "namespace"
    )
    return find_row(live.filter(resource__resource_id=resource_id))

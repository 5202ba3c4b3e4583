"""A store as the tests arrange it: by the owner, through the verbs. The doors are for acting."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model
from django.db.models.query import QuerySet

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from stores import memories, memory_stores
from stores.models import Memory, MemoryStore, MemoryVersion


@dataclass(frozen=True)
class Shelf:
    store_id: str
    actor: Actor

    @property
    def store(self) -> MemoryStore:
        return memory_stores.get_store(self.store_id, actor=self.actor)

    def url(self, *parts: str) -> str:
        return "/".join(["/v1/memory_stores", self.store_id, *parts])

    @property
    def memories_url(self) -> str:
        return self.url("memories")

    def memory_url(self, memory: Memory) -> str:
        return self.memory_url_of(memory.wire_id)

    def memory_url_of(self, wire_id: str) -> str:
        return self.url("memories", wire_id)

    def version_url(self, version: MemoryVersion) -> str:
        return self.url("memory_versions", version.wire_id)

    def put(self, path: str = "/a.md", content: str = "one\n", *, actor: Actor | None = None) -> Memory:
        return memories.create_memory(self.store_id, path=path, content=content, actor=actor or self.actor)

    def update(self, memory: Memory, *, actor: Actor | None = None, **changes: Any) -> Memory:
        return memories.update_memory(self.store_id, memory.wire_id, **changes, actor=actor or self.actor)

    def delete(self, memory: Memory) -> None:
        memories.delete_memory(self.store_id, memory.wire_id, actor=self.actor)

    def archive(self) -> MemoryStore:
        return memory_stores.archive_store(self.store_id, actor=self.actor)

    def fill(self, paths: list[str], content: str = "x", *, at: list[datetime] | None = None) -> None:
        """Memories at these paths, written past the verbs: thousands in a moment, or each at a moment of its own."""
        store, moments = self.store, at or [datetime.now(UTC)] * len(paths)
        digest, size = sha256_hex(content), len(content.encode())
        versions = [
            MemoryVersion(
                project_id=store.project_id, store=store, memory_id=ids.new_id(), operation="created", path=path,
                content=content, content_size_bytes=size, content_sha256=digest, created_at=moment,
                created_by_type="user_actor", created_by_id=self.actor.actor_id,
            )
            for path, moment in zip(paths, moments, strict=True)
        ]  # fmt: skip
        MemoryVersion.objects.bulk_create(versions)
        Memory.objects.bulk_create(
            Memory(
                id=version.memory_id, project_id=store.project_id, store=store, head=version, path=version.path,
                path_key=str(version.path).encode(), content_size_bytes=size, content_sha256=digest,
                created_at=version.created_at, updated_at=version.created_at,
            )
            for version in versions
        )  # fmt: skip

    def versions(self) -> list[MemoryVersion]:
        """Newest first."""
        return list(MemoryVersion.objects.filter(store_id=self.store.id).order_by("-number"))

    def paths(self) -> list[str]:
        return [memory.path for memory in Memory.objects.filter(store_id=self.store.id).order_by("path_key")]

    def state(self) -> list[list[dict[str, Any]]]:
        """Every row of the store and of the audit: equal before and after means that nothing was written."""
        store = MemoryStore.objects.filter(id=self.store.id)
        return [
            _rows(store),
            _rows(Memory.objects.filter(store__in=store)),
            _rows(MemoryVersion.objects.filter(store__in=store)),
            _rows(AuditEvent.objects.filter(project_id=self.actor.project_id)),
        ]

    def audit(self) -> list[tuple[str, str]]:
        """(action, subject id), in order."""
        events = AuditEvent.objects.filter(project_id=self.actor.project_id)
        return list(events.order_by("number").values_list("action", "subject_id"))


def _rows(queryset: QuerySet[Any, Model]) -> list[dict[str, Any]]:
    rows = [
        {name: bytes(v) if isinstance(v, memoryview) else v for name, v in row.items()}
        for row in queryset.values()
    ]
    return sorted(rows, key=lambda row: str(row["id"]))


def audited(action: AuditAction, subject_id: str) -> tuple[str, str]:
    return (action.value, subject_id)

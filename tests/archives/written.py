"""Archives made and taken apart by the standard library, which knows nothing of the hub's own reader."""

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from typing import Any

import rfc8785

from memoryhub import ids
from memoryhub.digests import sha256_hex
from tests.answers import Answer
from tests.world import Caller

MANIFEST, VERSIONS = "manifest.json", "versions.ndjson"
TAR = "application/x-tar"


def members_of(archive: bytes) -> dict[str, bytes]:
    """The content of each member by name, in the order of the archive."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def write_tar(members: Mapping[str, bytes] | list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in members.items() if isinstance(members, Mapping) else members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


class Parts:
    """An archive in pieces that a test may change; `write` makes the manifest fit them again."""

    def __init__(self, archive: bytes) -> None:
        members = members_of(archive)
        self.manifest: dict[str, Any] = json.loads(members.pop(MANIFEST))
        self.versions: list[dict[str, Any]] = [
            json.loads(line) for line in members.pop(VERSIONS).splitlines()
        ]
        self.blobs = {name.removeprefix("blobs/"): content for name, content in members.items()}

    def add_blob(self, content: bytes) -> str:
        self.blobs[sha256_hex(content)] = content
        return sha256_hex(content)

    def members(self) -> dict[str, bytes]:
        lines = b"".join(rfc8785.dumps(version) + b"\n" for version in self.versions)
        self.manifest["versions"] = {"count": len(self.versions), "sha256": sha256_hex(lines)}
        size = sum(map(len, self.blobs.values()))
        self.manifest["blobs"] = {"count": len(self.blobs), "size_bytes": size}
        blobs = {f"blobs/{name}": content for name, content in sorted(self.blobs.items())}
        return {MANIFEST: rfc8785.dumps(self.manifest), VERSIONS: lines, **blobs}

    def write(self) -> bytes:
        return write_tar(self.members())


type Change = Callable[[Parts], object]


def export(call: Caller, store_id: str) -> bytes:
    answer = call("GET", f"/v1/memory_stores/{store_id}/export")
    assert answer.status == 200, answer.content
    return answer.content


def import_archive(call: Caller, archive: bytes, **query: Any) -> Answer:
    return call("POST", "/v1/memory_stores/import", raw=archive, content_type=TAR, query=query)


def new_wire_id(prefix: str) -> str:
    return ids.to_wire(prefix, ids.new_id())


class Draft(Parts):
    """An archive made up here, of a store that no hub has."""

    def __init__(self) -> None:
        self.manifest = {
            "format": "memoryhub.memory_store",
            "format_version": 1,
            "memory_store": {
                "id": new_wire_id("memstore"),
                "name": "Notes",
                "description": "",
                "metadata": {},
                "created_at": "2026-01-01T00:00:00.000000Z",
                "updated_at": "2026-01-01T00:00:00.000000Z",
                "archived_at": None,
                "frozen_at": None,
            },
            "heads": [],
        }
        self.versions = []
        self.blobs = {}

    def add(
        self,
        path: str,
        content: bytes | None = b"text",
        *,
        memory_id: str | None = None,
        operation: str = "created",
    ) -> dict[str, Any]:
        """A version at the end of the history; no content: a deletion."""
        version = {
            "id": new_wire_id("memver"),
            "memory_id": memory_id or new_wire_id("mem"),
            "operation": operation,
            "path": path,
            "content_size_bytes": None if content is None else len(content),
            "content_sha256": None if content is None else self.add_blob(content),
            "created_at": f"2026-01-01T00:00:01.{len(self.versions):06d}Z",
            "created_by": {"type": "api_actor", "api_key_id": "apikey_" + "0" * 32},
            "redacted_at": None,
            "redacted_by": None,
        }
        self.versions.append(version)
        return version

    def add_head(self, path: str, content: bytes = b"text") -> dict[str, Any]:
        """A memory of one version."""
        version = self.add(path, content)
        head = {
            "memory_id": version["memory_id"],
            "memory_version_id": version["id"],
            "path": path,
            "frozen_at": None,
        }
        self.manifest["heads"].append(head)
        return version

    def redact(self, version: dict[str, Any]) -> None:
        self.blobs.pop(version["content_sha256"], None)
        version.update(dict.fromkeys(("path", "content_size_bytes", "content_sha256")))
        version["redacted_at"] = "2026-01-02T00:00:00.000000Z"
        version["redacted_by"] = {"type": "user_actor", "user_id": "user_" + "0" * 32}

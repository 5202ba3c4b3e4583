"""Walks the fourteen operations with whatever `anthropic` SDK is importable, and prints what it saw as one JSON object.

A program of its own, so that the tests can run it with another release of the SDK than theirs.
"""

import json
import os
from typing import Any

import anthropic
from anthropic import Anthropic, BadRequestError, ConflictError, NotFoundError

client = Anthropic(base_url=os.environ["MEMORYHUB_URL"], api_key=os.environ["MEMORYHUB_KEY"])
stores = client.beta.memory_stores
memories, versions = stores.memories, stores.memory_versions
seen: dict[str, Any] = {"sdk": anthropic.__version__}

store = stores.create(name="Python", description="d", metadata={"k": "v", "gone": "x"})
seen["store"] = [store.type, store.name, store.description, store.metadata]
updated_store = stores.update(store.id, name="Renamed", description="", metadata={"gone": None})
seen["updated_store"] = [updated_store.name, updated_store.description, updated_store.metadata]
seen["retrieved_is_updated"] = stores.retrieve(store.id) == updated_store
seen["listed"] = store.id in [item.id for item in stores.list(created_at_gte=store.created_at, limit=1)]

made = memories.create(store.id, path="/a b/ü.md", content="one\n", view="full")
seen["made"] = [made.type, made.path, made.content, made.content_size_bytes]
memories.create(store.id, path="/c.md", content="")
seen["retrieved"] = memories.retrieve(made.id, memory_store_id=store.id).content
precondition: Any = {"type": "content_sha256", "content_sha256": made.content_sha256}
updated = memories.update(made.id, memory_store_id=store.id, content="two\n", precondition=precondition)
seen["updated"] = [updated.content, updated.content_size_bytes]
try:
    memories.update(made.id, memory_store_id=store.id, content="three\n", precondition=precondition)
except ConflictError as error:
    body: Any = error.body
    seen["conflict"] = [error.status_code, body["error"]["type"]]
try:
    memories.create(store.id, path="/c.md/below", content="")
except ConflictError as error:
    body = error.body
    seen["taken"] = [body["error"]["type"], body["error"]["conflicting_path"]]
seen["children"] = [[item.type, item.path] for item in memories.list(store.id, depth=1, limit=1)]
seen["below"] = [item.path for item in memories.list(store.id, path_prefix="/a b/", view="full")]
seen["versions"] = [
    [version.operation, version.created_by.type if version.created_by else None]
    for version in versions.list(store.id, memory_id=made.id, limit=1)
]
seen["version"] = versions.retrieve(made.memory_version_id, memory_store_id=store.id).content
redacted = versions.redact(made.memory_version_id, memory_store_id=store.id)
seen["redacted"] = [redacted.content, redacted.path, redacted.redacted_at is not None]
try:
    versions.redact(updated.memory_version_id, memory_store_id=store.id)
except BadRequestError as error:
    seen["head"] = error.status_code
deleted = memories.delete(made.id, memory_store_id=store.id, expected_content_sha256=updated.content_sha256)
seen["deleted"] = deleted.type
try:
    memories.retrieve(made.id, memory_store_id=store.id)
except NotFoundError as error:
    seen["missing"] = error.status_code
seen["archived"] = stores.archive(store.id).archived_at is not None
seen["store_deleted"] = stores.delete(store.id).type
print(json.dumps(seen))

"""One line per operation of the OpenAPI document: a request that its owner's credential is answered with success.

A new operation fails the matrix until it has its line here, and a line that does not succeed fails as vacuous.
Ids in the URL are not part of a seed: they come from the plot, by the names of the URL's parameters.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from authority.canonical import parse
from authority.graph import make_record
from tests.authorization.plots import Plot


@dataclass(frozen=True)
class Seed:
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    path: dict[str, str] = field(default_factory=dict)  # parameters of the URL that are not ids
    ids: dict[str, str] = field(default_factory=dict)  # those that are other than the plot's usual ones


NOTHING: Callable[[Plot], Seed] = lambda plot: Seed()  # noqa: E731 - a line of the table below
WHOLE_PAGE: Callable[[Plot], Seed] = lambda plot: Seed(query={"limit": 100})  # noqa: E731


def _update_memory(plot: Plot) -> Seed:
    precondition = {"type": "content_sha256", "content_sha256": plot.memory_sha256}
    return Seed({"content": "third", "precondition": precondition})


def _file(plot: Plot, **more: Any) -> Seed:
    return Seed(path={"file_path": plot.memory_path[1:]}, **more)


def _archive(plot: Plot) -> Seed:
    query = {"environment": plot.environment.name, "name": "imported"}
    return Seed(raw=plot.archive, content_type="application/x-tar", query=query)


def _restore(plot: Plot) -> Seed:
    return Seed({"precondition": {"type": "content_sha256", "content_sha256": plot.memory_sha256}})


def _resource(plot: Plot, body: Any = None, **more: Any) -> Seed:
    """Resources and documents are named within the environment of the query, so their ids are no ids of rows."""
    query = {"environment": plot.environment.wire_id} | more.pop("query", {})
    path = {"resource_id": plot.resource_id, "document_id": plot.canary}
    return Seed(body, query=query, path=path, **more)


def _document(plot: Plot, body: Any = None) -> Seed:
    return _resource(plot, body, headers={"If-Match": f'"{plot.document_revision}"'})


def _failed_since(plot: Plot) -> Seed:
    return Seed({"since": "2020-01-01T00:00:00Z"})


def _session(plot: Plot) -> Seed:
    bound = {"scope": "document", "id": plot.canary, "access": "read-write"}
    return Seed(
        {
            "agent_id": plot.agent_id,
            "environment": plot.environment.wire_id,
            "memory": {plot.resource_id: bound},
            "resources": [{"type": "memory_store", "memory_store_id": plot.store_id}],
        }
    )


def _on_document(plot: Plot) -> Seed:
    return Seed(
        {"environment": plot.environment.wire_id, "resource": plot.resource_id, "document_id": plot.canary}
    )


def _declaration(plot: Plot) -> Seed:
    resource = {"id": f"new-{plot.canary[-12:]}", "description": "A new one."}
    return Seed({"environment": plot.environment.wire_id, "resource": resource})


def _secret(plot: Plot) -> Seed:
    return Seed(
        {
            "environment": plot.environment.wire_id,
            "name": "ANOTHER",
            "value": "a new value",
            "allowed_origins": ["https://memory.example.com"],
        }
    )


def _tool_call(plot: Plot) -> Seed:
    return Seed({"call_id": "new", "name": "memory_save", "arguments": {"text": "saved by a model"}})


def _record(plot: Plot, **body: Any) -> Seed:
    whose = {"environment": plot.environment.wire_id, "scope": plot.record_scope_wire}
    return Seed(whose | body, headers={"Idempotency-Key": "new"})


def _whose(plot: Plot) -> dict[str, Any]:
    """A scope of records in a query."""
    of = plot.record_scope
    return {
        "environment": plot.environment.wire_id,
        "agent": of.agent,
        "issuer": of.issuer,
        "subject": of.subject,
    }


def _import_records(plot: Plot) -> Seed:
    raw = json.dumps([{"id": "new", "memory": "A new one."}]).encode()
    return Seed(raw=raw, content_type="application/octet-stream", query=_whose(plot) | {"format": "mem0"})


def _space(plot: Plot) -> Seed:
    name = f"new.{plot.canary}"
    body = {"spaceId": name, "realmId": "realm", "profileKind": "working", "authorityId": name}
    return Seed({**body, "environment": plot.environment.wire_id})


def _commit(plot: Plot) -> Seed:
    record = make_record("new", "note", {"text": "new"}, [])
    change = {"kind": "put", "record": parse(record.text), "v": 1}
    head = {"operationSha256": plot.space_operation, "sequence": plot.space_sequence}
    names = {"actorId": "writer", "operationId": "op_new", "v": 1}
    return Seed({**names, "changes": [change], "expectedHead": head})


def _authority(plot: Plot) -> Seed:
    canonical = {
        "authorityId": plot.canonical_authority,
        "bindingSha256": plot.canonical_sha256,
        "space": plot.canonical_id,
    }
    working = {
        "authorityId": plot.space_authority,
        "bindingSha256": plot.working_sha256,
        "space": plot.space_id,
    }
    names = {"actorId": "agent", "adoptionActorId": "reviewer", "routes": [], "v": 1}
    return Seed({**names, "canonical": canonical, "working": working, "expectedHead": plot.pin})


def _remember(plot: Plot) -> Seed:
    put = {"dependencies": [], "key": "new", "kind": "note", "v": 1, "value": {"text": "new"}}
    head = {"generation": plot.space_sequence, "operationSha256": plot.space_operation}
    return Seed({"expectedHead": head, "puts": [put], "requestId": "new", "tombstones": [], "v": 1})


def _query(plot: Plot) -> Seed:
    bindings = {"keyPrefix": None, "kind": None, "lane": None}
    return Seed({"bindings": bindings, "continuation": None, "programId": "memory.records", "v": 2})


def _explain(plot: Plot) -> Seed:
    return Seed({"pageRow": 0, "resultSha256": plot.result_sha256, "token": plot.explanation_token, "v": 2})


def _adopt(plot: Plot) -> Seed:
    return Seed({"expectedCanonicalHead": plot.pin, "nominationSha256": plot.nomination_sha256, "v": 1})


SEEDS: dict[str, Callable[[Plot], Seed]] = {
    "projects.create": lambda plot: Seed({"name": f"new-{plot.canary[-12:]}"}),
    "projects.get": NOTHING,
    "projects.list": NOTHING,
    "projects.update": lambda plot: Seed({"name": f"renamed-{plot.canary[-12:]}"}),
    "projects.delete": lambda plot: Seed(query={"expected_name": plot.tenant.project.name}),
    "environments.delete": lambda plot: Seed(query={"expected_name": plot.environment.name}),
    "environments.get": NOTHING,
    "environments.list": NOTHING,
    "environments.create": lambda plot: Seed({"name": "staging"}),
    "environments.update": lambda plot: Seed({"name": "renamed"}),
    "members.list": WHOLE_PAGE,
    "members.update": lambda plot: Seed({"role": "reviewer"}),
    "members.remove": NOTHING,
    "invitations.list": WHOLE_PAGE,
    "invitations.create": lambda plot: Seed({"email": "new@example.com", "role": "viewer"}),
    "invitations.revoke": NOTHING,
    "api_keys.get": NOTHING,
    "api_keys.list": WHOLE_PAGE,
    "api_keys.create": lambda plot: Seed(
        {"name": "new", "scopes": ["read"], "environment": plot.environment.name}
    ),
    "api_keys.rotate": lambda plot: Seed({"overlap_seconds": 60}),
    "api_keys.revoke": NOTHING,
    "audit_events.list": WHOLE_PAGE,
    "audit_events.export": NOTHING,
    "memory_stores.create": lambda plot: Seed({"name": "new", "environment": plot.environment.name}),
    "memory_stores.get": NOTHING,
    "memory_stores.update": lambda plot: Seed({"description": "changed"}),
    "memory_stores.update.patch": lambda plot: Seed({"description": "changed"}),
    "memory_stores.list": WHOLE_PAGE,
    "memory_stores.archive": NOTHING,
    "memory_stores.delete": NOTHING,
    "memories.create": lambda plot: Seed({"path": "/new.md", "content": "new"}),
    "memories.get": NOTHING,
    "memories.update": _update_memory,
    "memories.update.patch": _update_memory,
    "memories.list": lambda plot: Seed(query={"view": "full"}),
    "memories.delete": lambda plot: Seed(query={"expected_content_sha256": plot.memory_sha256}),
    "memory_versions.get": NOTHING,
    "memory_versions.list": lambda plot: Seed(query={"view": "full"}),
    "memory_versions.redact": NOTHING,
    "files.get": _file,
    "files.put": lambda plot: _file(
        plot, body={"content": "put"}, headers={"If-Match": f'"{plot.memory_sha256}"'}
    ),
    "files.delete": lambda plot: _file(plot, headers={"If-Match": f'"{plot.memory_sha256}"'}),
    "memory_versions.diff": lambda plot: Seed(query={"against": plot.head_version_id}),
    "memory_versions.restore": _restore,
    "memory_versions.search": lambda plot: Seed(
        {"contains": plot.canary, "environment": plot.environment.name}
    ),
    "memory_stores.changes": NOTHING,
    "memory_stores.snapshot": lambda plot: Seed(query={"at": "2126-01-01T00:00:00Z", "view": "full"}),
    "memory_stores.export": NOTHING,
    "memory_stores.import": _archive,
    "retention.get": NOTHING,
    "retention.plan": lambda plot: Seed(body={"days": 30}),
    "retention.set": lambda plot: Seed(body={"days": 400, "versions_min": 2}),
    "retention.run": NOTHING,
    "memory_stores.freeze": NOTHING,
    "memory_stores.unfreeze": NOTHING,
    "memories.freeze": NOTHING,
    "memories.unfreeze": NOTHING,
    "memory_stores.search": lambda plot: Seed(query={"query": plot.canary, "view": "full"}),
    "memory_stores.search.post": lambda plot: Seed({"query": plot.canary, "view": "full"}),
    "memories.search": lambda plot: Seed(query={"query": plot.canary, "environment": plot.environment.name}),
    "memories.search.post": lambda plot: Seed({"query": plot.canary, "environment": plot.environment.name}),
    "webhooks.create": lambda plot: Seed(
        {"url": "https://hooks.example.com/new", "environment": plot.environment.name}
    ),
    "webhooks.list": WHOLE_PAGE,
    "webhooks.get": NOTHING,
    "webhooks.update": lambda plot: Seed({"description": "changed"}),
    "webhooks.delete": NOTHING,
    "webhooks.rotate": lambda plot: Seed({"overlap_seconds": 60}),
    "webhooks.test": NOTHING,
    "webhooks.replay": _failed_since,
    "webhook_deliveries.list": WHOLE_PAGE,
    "webhook_deliveries.get": NOTHING,
    "webhook_deliveries.replay": NOTHING,
    "deployments.create": lambda plot: Seed({"agent_id": "new", "manifest": {"memory": []}}),
    "deployments.get": NOTHING,
    "deployments.list": WHOLE_PAGE,
    "deployments.promote": lambda plot: Seed({"environment": plot.environment.wire_id}),
    "memory_resources.declare": _declaration,
    "memory_resources.list": lambda plot: _resource(plot, query={"limit": 100}),
    "memory_resources.get": _resource,
    "namespaces.list": lambda plot: Seed(
        path={"resource_id": f"{plot.resource_id}-kb"}, query={"environment": plot.environment.wire_id}
    ),
    "memory_documents.list": _resource,
    "memory_documents.get": _resource,
    "memory_documents.put": lambda plot: _document(plot, {"text": "replaced"}),
    "memory_documents.update": lambda plot: _document(plot, {"title": "Renamed"}),
    "memory_documents.delete": _document,
    "memory_documents.export": lambda plot: _resource(plot, query={"resource": plot.resource_id}),
    "secrets.list": WHOLE_PAGE,
    "secrets.get": NOTHING,
    "secrets.put": _secret,
    "secrets.delete": NOTHING,
    "sessions.create": _session,
    "sessions.start_on_document": _on_document,
    "sessions.get": NOTHING,
    "sessions.list": lambda plot: Seed(query={"limit": 100, "memory_store_id": plot.store_id}),
    "sessions.end": NOTHING,
    "session_tokens.create": lambda plot: Seed({"expires_in_seconds": 600}),
    "session_tokens.list": NOTHING,
    "session_tokens.revoke": NOTHING,
    "sessions.delete": NOTHING,
    "work.queue": lambda plot: Seed(ids={"session_id": plot.idle_session_id}),
    "work.poll": NOTHING,
    "work.ack": lambda plot: Seed(ids={"work_id": plot.claimed_work_id}),
    "work.heartbeat": lambda plot: Seed(query={"desired_ttl_seconds": 60}),
    "work.stop": lambda plot: Seed({"force": True}),
    "work.update": lambda plot: Seed({"metadata": {"changed": "yes"}}),
    "work.get": NOTHING,
    "work.list": WHOLE_PAGE,
    "work.stats": NOTHING,
    "bindings.revoke": lambda plot: Seed(path={"resource_id": plot.resource_id}),
    "session_events.create": lambda plot: Seed({"type": "turn.done", "data": {"number": 1}}),
    "session_events.list": NOTHING,
    "session_events.stream": NOTHING,
    "model_requests.create": lambda plot: Seed({"client_request_id": "new", "input": {"text": "What now?"}}),
    "model_requests.get": NOTHING,
    "model_requests.list": WHOLE_PAGE,
    "model_requests.select": lambda plot: Seed(
        {"use": [plot.resource_id]}, path={"request_id": plot.open_request_id}
    ),
    "model_requests.cancel": lambda plot: Seed(
        ids={"session_id": plot.service_session_id, "request_id": plot.service_request_id}
    ),
    "tool_calls.create": _tool_call,
    "tool_calls.get": NOTHING,
    "http_operations.list": lambda plot: Seed(ids={"session_id": plot.service_session_id}),
    "http_operations.cancel": lambda plot: Seed(ids={"session_id": plot.service_session_id}),
    "endpoints.create": lambda plot: Seed({"name": "new", "environment": plot.environment.wire_id}),
    "endpoints.get": NOTHING,
    "endpoints.list": WHOLE_PAGE,
    "endpoints.update": lambda plot: Seed({"bytes_max": 100}),
    "endpoints.delete": lambda plot: Seed(query={"expected_name": plot.canary}),
    "endpoint_credentials.create": lambda plot: Seed({"name": "new"}),
    "endpoint_credentials.list": WHOLE_PAGE,
    "endpoint_credentials.revoke": NOTHING,
    "external_partitions.list": WHOLE_PAGE,
    "external_partitions.delete": NOTHING,
    "external_partitions.freeze": NOTHING,
    "external_partitions.unfreeze": NOTHING,
    "external_partitions.export": NOTHING,
    "external_records.list": WHOLE_PAGE,
    "external_records.update": lambda plot: Seed({"text": "changed", "expected_revision": 1}),
    "external_records.delete": NOTHING,
    "external_items.list": WHOLE_PAGE,
    "external_items.delete": NOTHING,
    "records.save": lambda plot: _record(plot, text="A new one.", thread="t", author="a", title="n"),
    "records.search": lambda plot: _record(plot, query=plot.canary),
    "records.forget": lambda plot: _record(plot, id=plot.memory_record_id),
    "records.import": _import_records,
    "records.export": lambda plot: Seed(query=_whose(plot)),
    "record_effects.list": WHOLE_PAGE,
    "record_writes.list": WHOLE_PAGE,
    "record_writes.get": NOTHING,
    "record_writes.approve": NOTHING,
    "record_writes.reject": NOTHING,
    "record_effects.resolve": lambda plot: Seed({"as": "done"}),
    "record_violations.list": WHOLE_PAGE,
    "redactions.create": lambda plot: Seed(
        {"contains": plot.canary, "environment": plot.environment.name, "heads": "delete"}
    ),
    "spaces.create": _space,
    "spaces.list": WHOLE_PAGE,
    "spaces.get": NOTHING,
    "spaces.head": NOTHING,
    "spaces.snapshot": NOTHING,
    "spaces.export": NOTHING,
    "spaces.changes": lambda plot: Seed(query={"from_sequence": 0}),
    "spaces.commit": _commit,
    "spaces.verify": NOTHING,
    "spaces.purge": lambda plot: Seed({"expectedSequence": plot.space_sequence}),
    "authorities.create": _authority,
    "authorities.list": WHOLE_PAGE,
    "authorities.get": NOTHING,
    "authorities.delete": NOTHING,
    "authorities.remember": _remember,
    "authorities.query": _query,
    "authorities.explain": _explain,
    "authorities.nominate": lambda plot: Seed({"nominationId": plot.canary, "roots": [plot.canary], "v": 1}),
    "authorities.nominate_memory": lambda plot: Seed(
        {"nominationId": plot.canary, "storeId": plot.store_id, "memoryId": plot.memory_id}
    ),
    "authorities.nominate_record": lambda plot: Seed(
        {
            "nominationId": plot.canary,
            "recordId": plot.memory_record_id,
            "scope": plot.record_scope_wire,
        }
    ),
    "authorities.advance": lambda plot: Seed({"expectedHead": plot.pin, "nextHead": plot.pin, "v": 1}),
    "authorities.adopt": _adopt,
    "host_calls.list": WHOLE_PAGE,
    "host_calls.get": NOTHING,
    "host_calls.withdraw": NOTHING,
    "host_calls.resend": lambda plot: Seed(path={"call_id": plot.failed_call_id}),
    "receipts.get": NOTHING,
    "nominations.list": WHOLE_PAGE,
    "nominations.get": NOTHING,
    "nominations.plan": WHOLE_PAGE,
    "nominations.decide": lambda plot: Seed({"decision": "adopt", "expectedCanonicalHead": plot.pin}),
}

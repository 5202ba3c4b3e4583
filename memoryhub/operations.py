"""The one table of rights: operation x scope. Checks, tests and the docs page are made from it.

A credential carries scopes; a person's role is a set of scopes. An operation is allowed when the two share one.
"""

from dataclasses import dataclass

# What each scope is for.
SCOPE_PURPOSES = {
    "admin": "everything in its environment; a key of the whole project: everything in the project",
    "host": "the trusted application: writes memory for its users",
    "review": "decides what becomes reviewed memory",
    "agent": "one agent: the stores named on the key, with the access named there, the records of its scope, and nothing else",
    "worker": "the routes of the work queue, and nothing else",
    "read": "looks, and changes nothing",
}
SCOPES = tuple(SCOPE_PURPOSES)  # that a key can be made with
# What a session's token carries, and nothing else does.
SESSION = "session"
WORK = "work"  # and what the token of a work item carries
SESSION_PURPOSE = "the token of a session: the stores that it attaches, the records and documents that it binds, each with its access, and nothing else; it ends with the session"
WORK_PURPOSE = "the token of a work item: its session, the stores that it attaches with their access, and its own lease, with which it ends"

ROLES: dict[str, frozenset[str]] = {
    "owner": frozenset({"admin", "host", "review", "read"}),
    "developer": frozenset({"host", "read"}),
    "reviewer": frozenset({"review", "read"}),
    "viewer": frozenset({"read"}),
}
ROLE_PURPOSES = {
    "owner": "everything in the project",
    "developer": "reads and writes memory",
    "reviewer": "reads memory, and decides what becomes reviewed memory",
    "viewer": "reads",
}


PEOPLE = frozenset().union(*ROLES.values())


@dataclass(frozen=True, slots=True)
class Operation:
    """`whole_project`: the credential must not be bound to one environment. `writes`: it changes something."""

    name: str
    scopes: frozenset[str]
    writes: bool
    whole_project: bool = False


def _reads(name: str, *more: str) -> Operation:
    return Operation(name, frozenset({"admin", "host", "review", "read", *more}), writes=False)


def _writes(name: str, *more: str) -> Operation:
    return Operation(name, frozenset({"admin", *more}), writes=True)


def _of_session(name: str, *, writes: bool) -> Operation:
    """What a session's token alone may do: it means its own session, and nobody else has one."""
    return Operation(name, frozenset({SESSION}), writes)


def _project(operation: Operation) -> Operation:
    return Operation(operation.name, frozenset({"admin"}), operation.writes, whole_project=True)


OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        # the ground floor
        _reads("projects.get"),
        _reads("projects.list"),
        _project(_writes("projects.create")),
        _project(_writes("projects.update")),
        _project(_writes("projects.delete")),
        _reads("environments.get"),
        _reads("environments.list"),
        _project(_writes("environments.create")),
        _project(_writes("environments.update")),
        _project(_writes("environments.delete")),
        _project(_reads("members.list")),
        _project(_writes("members.update")),
        _project(_writes("members.remove")),
        _project(_reads("invitations.list")),
        _project(_writes("invitations.create")),
        _project(_writes("invitations.revoke")),
        Operation("api_keys.get", frozenset({"admin"}), writes=False),
        Operation("api_keys.list", frozenset({"admin"}), writes=False),
        _writes("api_keys.create"),
        _writes("api_keys.rotate"),
        _writes("api_keys.revoke"),
        Operation("audit_events.list", frozenset({"admin"}), writes=False),
        _project(_reads("audit_events.export")),
        # of the console only: work that takes long, and how the hub fares
        _reads("jobs.list"),
        _reads("jobs.get"),
        Operation("jobs.cancel", PEOPLE, writes=True),  # one's own job, or any as an owner
        Operation("jobs.delete_file", PEOPLE, writes=True),
        _project(_reads("hub_status.get")),
        # the fourteen operations of the stores contract
        _writes("memory_stores.create", "host"),
        _reads("memory_stores.get", "agent", "session", "work"),
        _writes("memory_stores.update", "host"),
        _reads("memory_stores.list"),
        _writes("memory_stores.archive", "host"),
        _writes("memory_stores.delete", "host"),
        _writes("memories.create", "host", "agent", "session", "work"),
        _reads("memories.get", "agent", "session", "work"),
        _writes("memories.update", "host", "agent", "session", "work"),
        _reads("memories.list", "agent", "session", "work"),
        _writes("memories.delete", "host", "agent", "session", "work"),
        _reads("memory_versions.get"),
        _reads("memory_versions.list"),
        _writes("memory_versions.redact", "host"),
        # what no other implementation of that API has
        _reads("files.get"),
        _writes("files.put", "host"),
        _writes("files.delete", "host"),
        _reads("memories.search"),
        _reads("memory_stores.search"),
        _reads("memory_versions.diff"),
        _writes("memory_versions.restore", "host"),
        _reads("memory_versions.search"),
        _reads("memory_stores.changes", "work"),
        _reads("memory_stores.snapshot"),
        _reads("memory_stores.export"),
        _writes("memory_stores.import", "host"),
        _writes("memory_stores.freeze", "host"),
        _writes("memory_stores.unfreeze", "host"),
        _reads("retention.get"),
        _reads("retention.plan"),
        _writes("retention.set"),
        _writes("retention.run"),
        _writes("memories.freeze", "host"),
        _writes("memories.unfreeze", "host"),
        _writes("redactions.create"),
        _reads("redactions.list"),
        # secrets, which nobody reads back
        Operation("secrets.list", frozenset({"admin"}), writes=False),
        Operation("secrets.get", frozenset({"admin"}), writes=False),
        _writes("secrets.put"),
        _writes("secrets.delete"),
        # webhooks, whose addresses may hold a secret
        _writes("webhooks.create"),
        Operation("webhooks.list", frozenset({"admin"}), writes=False),
        Operation("webhooks.get", frozenset({"admin"}), writes=False),
        _writes("webhooks.update"),
        _writes("webhooks.delete"),
        _writes("webhooks.rotate"),
        _writes("webhooks.test"),
        _writes("webhooks.replay"),
        Operation("webhook_deliveries.list", frozenset({"admin"}), writes=False),
        Operation("webhook_deliveries.get", frozenset({"admin"}), writes=False),
        _writes("webhook_deliveries.replay"),
        # declared memory
        _writes("deployments.create", "host"),
        _reads("deployments.get"),
        _reads("deployments.list"),
        _writes("deployments.promote", "host"),
        _writes("memory_resources.declare", "host"),
        _reads("memory_resources.list"),
        _reads("memory_resources.get"),
        _reads("namespaces.list"),
        _reads("memory_documents.list"),
        _reads("memory_documents.get"),
        _writes("memory_documents.put", "host"),
        _writes("memory_documents.update", "host"),
        _writes("memory_documents.delete", "host"),
        _reads("memory_documents.export"),
        # of MCP only: the documents that a token's session binds
        _of_session("session_documents.list", writes=False),
        _of_session("session_documents.get", writes=False),
        _of_session("session_documents.save", writes=True),
        # sessions and what happens in them
        _writes("sessions.create", "host"),
        _writes("sessions.start_on_document", "host"),
        _reads("sessions.get", "work"),
        _reads("sessions.list"),
        _writes("sessions.end", "host"),
        _writes("session_tokens.create", "host"),
        _reads("session_tokens.list"),
        _writes("session_tokens.revoke", "host"),
        _writes("sessions.delete", "host"),
        _writes("bindings.revoke", "host"),
        _writes("session_events.create", "host", "work"),
        _reads("session_events.list", "work"),
        _reads("session_events.stream", "work"),
        # the work of an environment: what its workers take, and their leases
        _writes("work.queue", "host"),
        _writes("work.poll", "worker"),
        _writes("work.ack", "worker"),
        _writes("work.heartbeat", "worker", "work"),
        _writes("work.stop", "host", "worker", "work"),
        _writes("work.update", "host", "worker"),
        _reads("work.get", "worker"),
        _reads("work.list", "worker"),
        _reads("work.stats", "worker"),
        _writes("model_requests.create", "host"),
        _reads("model_requests.get"),
        _reads("model_requests.list"),
        _writes("model_requests.select", "host"),
        _writes("model_requests.cancel", "host"),
        _writes("tool_calls.create", "host"),
        _reads("tool_calls.get"),
        _reads("http_operations.list"),
        _writes("http_operations.cancel", "host"),
        # this hub as the memory service of others
        _writes("endpoints.create"),
        _reads("endpoints.get"),
        _reads("endpoints.list"),
        _writes("endpoints.update"),
        _writes("endpoints.delete"),
        _writes("endpoint_credentials.create"),
        Operation("endpoint_credentials.list", frozenset({"admin"}), writes=False),
        _writes("endpoint_credentials.revoke"),
        _reads("external_partitions.list"),
        _reads("external_partitions.export"),
        _writes("external_partitions.freeze", "host"),
        _writes("external_partitions.unfreeze", "host"),
        _writes("external_partitions.delete"),
        _reads("external_records.list"),
        _writes("external_records.update", "host"),
        _writes("external_records.delete", "host"),
        _reads("external_items.list"),
        _writes("external_items.delete", "host"),
        # records: remember, recall, forget
        _writes("records.save", "host", "agent", "session"),
        _reads("records.search", "agent", "session"),
        _writes("records.forget", "host", "agent", "session"),
        _writes("records.import", "host"),
        _reads("records.export"),
        _reads("record_effects.list"),
        _writes("record_effects.resolve", "review"),
        _reads("record_violations.list"),
        _reads("record_writes.list"),
        _reads("record_writes.get"),
        _writes("record_writes.approve", "review"),
        _writes("record_writes.reject", "review"),
        # spaces of reviewed and of working memory
        _writes("spaces.create"),
        _reads("spaces.list"),
        _reads("spaces.get"),
        _reads("spaces.head"),
        _reads("spaces.snapshot"),
        _reads("spaces.changes"),
        _reads("spaces.export"),
        _writes("spaces.commit", "host"),
        Operation("spaces.verify", frozenset({"admin"}), writes=False),
        _writes("spaces.purge"),
        # authorities: an agent's four calls, a host's two, and what came of them
        _writes("authorities.create"),
        _reads("authorities.list"),
        _reads("authorities.get"),
        _writes("authorities.delete"),
        _writes("authorities.remember", "agent"),
        _writes("authorities.query", "agent"),
        _writes("authorities.explain", "agent"),
        _writes("authorities.nominate", "agent"),
        _writes("authorities.nominate_memory", "host"),
        _writes("authorities.nominate_record", "host"),
        _writes("authorities.advance", "host", "review"),
        _writes("authorities.adopt", "host"),
        _reads("host_calls.list"),
        _reads("host_calls.get"),
        _writes("host_calls.withdraw", "host"),
        _writes("host_calls.resend", "host", "review"),
        _reads("receipts.get"),
        _reads("nominations.list"),
        _reads("nominations.get"),
        _reads("nominations.plan"),
        _writes("nominations.decide", "review"),
    )
}


def allows(scopes: frozenset[str], operation: Operation) -> bool:
    return not scopes.isdisjoint(operation.scopes)

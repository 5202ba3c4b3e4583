"""The shapes of the hub's answers, as far as a caller reads them. The API reference has all."""

from typing import Any, Literal, NotRequired, TypedDict


class MemoryStore(TypedDict):
    id: str
    name: str
    description: str
    metadata: dict[str, str]
    created_at: str
    updated_at: str
    archived_at: str | None
    frozen_at: str | None


class Memory(TypedDict):
    """`content` is null in lists unless it was asked for."""

    id: str
    memory_store_id: str
    memory_version_id: str
    path: str
    content: str | None
    content_size_bytes: int
    content_sha256: str
    created_at: str
    updated_at: str
    frozen_at: str | None


class MemoryVersion(TypedDict):
    id: str
    memory_id: str
    operation: Literal["created", "modified", "deleted"]
    path: str | None
    content: str | None
    content_sha256: str | None
    created_at: str
    created_by: dict[str, str]
    redacted_at: str | None


class Hit(Memory):
    """A memory that was found. `snippet`: `{"text", "offset", "highlights": [{"start", "end"}]}`."""

    score: float
    snippet: dict[str, Any]


class Namespace(TypedDict):
    id: str
    resource: str
    partition: str
    created_at: str


class Secret(TypedDict):
    """Without its value, which is never given back."""

    id: str
    environment_id: str
    name: str
    agent_id: str | None
    allowed_origins: list[str]
    created_at: str
    changed_at: str


class Webhook(TypedDict):
    """Without its secret."""

    id: str
    environment_id: str
    url: str
    description: str
    event_types: list[str]
    enabled: bool
    disabled_reason: str | None
    failures: int
    created_at: str


class IssuedWebhook(Webhook):
    """`secret` is given this once."""

    secret: str


class Delivery(TypedDict):
    """`notice_id`: what the receiver gets as `webhook-id`."""

    id: str
    webhook_id: str
    notice_id: str
    event_type: str
    state: Literal["pending", "delivered", "failed"]
    code: str | None
    attempts_count: int
    payload: dict[str, Any]


class Resource(TypedDict):
    id: str
    environment_id: str
    kind: str
    description: str
    provider: dict[str, Any]
    declared: bool
    documents: int | None


class Document(TypedDict, total=False):
    """`text` is not in lists."""

    id: str
    title: str
    text: str
    summary: str
    agent_writes: Literal["enabled", "disabled"]
    revision: str
    bytes: int
    max_bytes: int
    updated_at: str
    writer: dict[str, str]


class Promotion(TypedDict):
    """`changed_endpoints`: `[{"resource", "old", "new", "sessions_on_old"}]`."""

    deployment_id: str
    agent_id: str
    environment_id: str
    changed_endpoints: list[dict[str, Any]]
    created_at: str


class Deployment(TypedDict):
    id: str
    agent_id: str
    manifest: dict[str, Any]
    manifest_sha256: str
    warnings: list[str]


class Binding(TypedDict):
    """`id` of a document or a namespace; `namespace` and `partition` of a namespace only. Of records there is none."""

    resource: str
    scope: Literal["document", "collection", "namespace", "records"]
    id: NotRequired[str]
    access: Literal["read", "read-write"]
    writable: bool
    namespace: NotRequired[str]
    partition: NotRequired[str]
    revoked_at: str | None


class AttachedStore(TypedDict):
    memory_store_id: str
    access: Literal["read_only", "read_write"]
    name: str
    description: str
    instructions: str | None
    mount_path: str


class SessionItem(TypedDict):
    """As lists have it."""

    id: str
    environment_id: str
    title: str
    state: Literal["live", "ended"]
    created_at: str
    ended_at: str | None


class IssuedSessionToken(TypedDict):
    """`token` is given this once."""

    id: str
    session_id: str
    token: str
    expires_at: str


class Session(SessionItem):
    """`resources`: the attached stores. `principal`: whose records it means."""

    agent_id: str | None
    deployment_id: str | None
    principal: "Principal | None"
    memory: list[Binding]
    resources: list[AttachedStore]
    system_context: str | None


class Projection(TypedDict):
    text: str
    sources: list[dict[str, Any]]
    writable: bool


class ModelRequestItem(TypedDict):
    """As lists have it. `selected`: what the render uses, None until it has said so."""

    id: str
    client_request_id: str
    principal: "Principal | None"
    state: Literal["recalling", "accepted", "recall_failed", "token"]
    selected: list[str] | None
    created_at: str
    accepted_at: str | None


class ItemOrigin(TypedDict):
    id: str
    version: str


class Item(TypedDict):
    """A record that a search gave. It is untrusted."""

    source: Literal["memory"]
    trust: Literal["untrusted_reference"]
    origin: ItemOrigin
    text: str


class ModelRequest(ModelRequestItem):
    """`items`: the records that searches of the session gave before; `references`: the same as one message of the user's."""

    memory: dict[str, Projection]
    items: list[Item]
    references: str


class Tool(TypedDict):
    name: str
    description: str
    input_schema: dict[str, Any]


class ToolOutcome(TypedDict):
    id: str
    call_id: str
    state: str
    is_error: bool
    output: Any
    items: list[Item]
    references: str


class HttpAttempt(TypedDict):
    """One try of a call. `delay_seconds`: until the next one."""

    number: int
    started_at: str
    finished_at: str
    event: str
    status: int | None
    answer_bytes: int | None
    address: str | None
    delay_seconds: float | None


class HttpOperation(TypedDict):
    """A call of another service, without what was said. `code`: how it ended, None until it has."""

    id: str
    operation_id: str
    model_request_id: str
    tool_call_id: str | None
    resource: str
    kind: Literal["recall", "read", "write"]
    tool: str | None
    idempotent: bool
    origin: str
    state: Literal["ready", "sending", "waiting", "done"]
    code: str | None
    created_at: str
    started_at: str | None
    deadline_at: str | None
    finished_at: str | None
    cancelled_at: str | None
    attempts: list[HttpAttempt]


class Event(TypedDict):
    id: str
    number: int
    event_type: str
    data: dict[str, Any]
    created_at: str


class Principal(TypedDict):
    issuer: str
    subject: str


class RecordScope(TypedDict):
    agent: str
    principal: Principal


class RecordRef(TypedDict, total=False):
    """`status` instead of `version`: nobody knows yet whether it was saved, or a person decides, and `id` is the write's that waits."""

    id: str | None
    version: str | None
    status: Literal["uncertain", "pending"]
    message: str


class RecordHit(TypedDict):
    id: str
    version: str
    text: str
    score: float
    origin: Literal["user", "tool_output", "model", "host"]


class Recalled(TypedDict):
    """`references`: the hits as a model may be shown them. `cut`: how many more there were, by what ended them."""

    hits: list[RecordHit]
    references: str
    cut: dict[Literal["k", "bytes"], int]


class MemoryEffect(TypedDict):
    """A write to a memory provider, as far as it is known how it went."""

    id: str
    agent: str
    scope: str
    provider: str
    tool: Literal["save_memory", "forget_memory"]
    key: str | None
    effect_class: str
    state: Literal["begun", "done", "failed", "unknown", "resolved"]
    attempts: int
    record_id: str | None
    error_code: str | None
    decision: Literal["done", "not_done"] | None


class ScopeViolation(TypedDict):
    id: str
    agent: str
    scope: str
    provider: str
    namespace: str
    record_id: str
    hit_id: str


class RecordWrite(TypedDict):
    """A write of a session's model that a person decides on. `text`, `title`, `tags`, `occurred_at`: while it waits; `outcome`: of an approved one."""

    id: str
    environment_id: str
    session_id: str
    tool_call_id: str
    resource: str
    agent: str
    scope: str
    tool: Literal["save_memory", "forget_memory"]
    origin: str | None
    text: str | None
    title: str | None
    tags: list[str]
    occurred_at: str | None
    record_id: str | None
    state: Literal["waiting", "approved", "rejected", "expired"]
    outcome: Literal["done", "failed", "uncertain"] | None
    error_code: str | None
    expires_at: str
    decided_at: str | None
    decided_by: dict[str, str] | None
    created_at: str

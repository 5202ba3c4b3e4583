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
    """`id` of a document or a namespace; `namespace` and `partition` of a namespace only."""

    resource: str
    scope: Literal["document", "collection", "namespace"]
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


class Session(SessionItem):
    """`resources`: the attached stores."""

    agent_id: str | None
    deployment_id: str | None
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
    state: Literal["recalling", "accepted", "recall_failed"]
    selected: list[str] | None
    created_at: str
    accepted_at: str | None


class ModelRequest(ModelRequestItem):
    memory: dict[str, Projection]


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

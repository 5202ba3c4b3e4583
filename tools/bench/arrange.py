"""What a bench finds when it begins: a project, its key, stores of given sizes. Django must be set up."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.transaction import atomic
from django.utils import timezone

from memoryhub import environments, ids, keys, projects
from memoryhub.actors import Actor
from memoryhub.digests import sha256_hex
from memoryhub.models import Environment, Session
from providers import declared, documents, sessions
from providers.bindings import WantedBinding
from providers.sessions import WantedSession
from stores import memory_stores, search
from stores.models import Memory, MemoryStore, MemoryVersion
from tools.bench.conversations import FIRST_EVENT, Conversation, Conversations
from tools.bench.plans import Target, path_of
from tools.bench.texts import CONTENT_BYTES, make_text

BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class World:
    """`key`: a host key of the environment, as an application uses it."""

    environment: Environment
    key_id: UUID
    key: str
    actor: Actor


def make_world() -> World:
    owner = projects.create_operator(email="bench@example.com", name="Bench", password=None)
    project = projects.create_project(name="bench", owner=owner)
    actor = projects.owner_actor(project, owner)
    environment = environments.list_environments(actor=actor)[0]
    issued = keys.create_key(environment=environment.name, name="bench", scopes=["host"], actor=actor)
    return World(environment, issued.key.id, issued.secret, keys.key_actor(issued.key))


@atomic
def make_target(count: int, *, actor: Actor) -> Target:
    """A store of `count` memories."""
    assert actor.environment_id is not None, "the actor's environment holds the store"
    store = memory_stores.add_store(
        actor.environment_id, name=f"{count} memories", description="", metadata={}, actor=actor
    )
    memories = fill_store(store, count, actor=actor)
    return Target(store.id, tuple(memory.id for memory in memories))


def fill_store(store: MemoryStore, count: int, *, actor: Actor) -> list[Memory]:
    """Add memories to an empty store, past the verbs: at `path_of` their numbers, with `make_text` of their ids."""
    now = timezone.now()
    memories = [_memory(store, path_of(number), now) for number in range(count)]
    MemoryVersion.objects.bulk_create([_version(memory, actor) for memory in memories], batch_size=BATCH_ROWS)
    Memory.objects.bulk_create(memories, batch_size=BATCH_ROWS)
    for memory in memories:
        search.index_memory(memory, store, make_text(memory.id.hex))
    return memories


def _memory(store: MemoryStore, path: str, now: datetime) -> Memory:
    memory_id = ids.new_id()
    return Memory(
        id=memory_id,
        project_id=store.project_id,
        store_id=store.id,
        head_id=ids.new_id(),
        path=path,
        path_key=path.encode(),
        content_size_bytes=CONTENT_BYTES,
        content_sha256=sha256_hex(make_text(memory_id.hex)),
        created_at=now,
        updated_at=now,
    )


def _version(memory: Memory, actor: Actor) -> MemoryVersion:
    return MemoryVersion(
        id=memory.head_id,
        project_id=memory.project_id,
        store_id=memory.store_id,
        memory_id=memory.id,
        operation="created",
        path=memory.path,
        content=make_text(memory.id.hex),
        content_size_bytes=memory.content_size_bytes,
        content_sha256=memory.content_sha256,
        created_by_type=actor.type,
        created_by_id=actor.actor_id,
    )


def make_conversations(count: int, client: int, *, actor: Actor) -> Conversations:
    """Sessions of one client, each on a document of its own, which models may replace."""
    resource_id = f"client-{client}"
    declared.declare_resource(
        environment=None,
        resource={"id": resource_id, "description": "What models talk about."},
        connection=None,
        acknowledge_endpoint_change=False,
        actor=actor,
    )
    made = [_make_conversation(resource_id, f"d{number}", actor) for number in range(count)]
    Session.objects.filter(id__in=[one.session_id for one in made]).update(events_count=FIRST_EVENT)
    return Conversations(resource_id, made)


def _make_conversation(resource_id: str, document_id: str, actor: Actor) -> Conversation:
    document = documents.create_document(
        None,
        resource_id,
        document_id,
        title=document_id,
        text=make_text(document_id),
        summary="",
        agent_writes=True,
        actor=actor,
    )
    session = _open_session(WantedBinding(resource_id, "document", document_id, "read-write"), actor)
    return Conversation(session.id, document.memory.store_id, document.memory.id, document.memory.path)


def make_asking_session(origin: str, *, actor: Actor) -> str:
    """The id of a session whose memory is a service at `origin`."""
    declared.declare_resource(
        environment=None,
        resource={
            "id": "service",
            "description": "What is known.",
            "provider": {"kind": "http", "connection": "service", "tools": []},
        },
        connection={"id": "service", "origin": origin, "methods": ["POST"]},
        acknowledge_endpoint_change=True,
        actor=actor,
    )
    return _open_session(WantedBinding("service", "namespace", "bench", "read"), actor).wire_id


def _open_session(binding: WantedBinding, actor: Actor) -> Session:
    wanted = WantedSession(
        environment=None, agent=None, deployment_id=None, bindings=[binding], stores=[], title=""
    )
    return sessions.create_session(wanted, idempotency_key=None, actor=actor).session

"""A session with a store to write and one to read, and workers that take its work, by the doors."""

import base64
import json
from typing import Any

from memoryhub.models import Environment
from providers import sessions
from providers.sessions import WantedSession
from stores import memory_stores
from stores.attachments import WantedStore
from stores.models import MemoryStore, Work
from tests.answers import Answer
from tests.world import Caller, Tenant


def token_of(secret: str) -> str:
    """What a poll's `secret` holds."""
    opened = json.loads(base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4)))
    return str(opened["sessions_token"])


class Bench:
    """One environment's queue. `owner` calls with its admin key, `worker` with a key of the worker scope."""

    def __init__(self, tenant: Tenant, environment: Environment | None = None) -> None:
        self.tenant = tenant
        self.environment = environment or tenant.development
        self.notes, self.rules, self.other = (self.make_store(name) for name in ("Notes", "Rules", "Other"))
        self.session_id = self.open_session((self.notes, "read_write"), (self.rules, "read_only"))
        self.owner = tenant.caller("admin", environment=self.environment)
        self.worker = tenant.caller("worker", environment=self.environment)

    def make_store(self, name: str) -> MemoryStore:
        return memory_stores.create_store(
            environment=self.environment.wire_id,
            name=name,
            description="",
            metadata={},
            actor=self.tenant.actor,
        )

    def open_session(self, *stores: tuple[MemoryStore, str]) -> str:
        wanted = WantedSession(
            environment=self.environment.wire_id,
            agent=None,
            deployment_id=None,
            bindings=[],
            stores=[WantedStore(store.wire_id, access, None) for store, access in stores],
            title="",
        )
        return sessions.create_session(wanted, idempotency_key=None, actor=self.tenant.actor).session.wire_id

    def url(self, *parts: str) -> str:
        return "/".join([f"/v1/environments/{self.environment.wire_id}/work", *parts])

    def queue(self, session_id: str | None = None) -> Answer:
        return self.owner("POST", f"/v1/sessions/{session_id or self.session_id}/work")

    def poll(self, worker_id: str = "one", **query: Any) -> Answer:
        return self.worker("GET", self.url("poll"), query=query, headers={"Anthropic-Worker-ID": worker_id})

    def claim(self, worker_id: str = "one", **query: Any) -> "Claimed":
        answer = self.poll(worker_id, **query)
        assert answer.status == 200 and answer.body is not None, answer.body
        return Claimed(self, answer.body["id"], token_of(answer.body["secret"]))

    def start(self, worker_id: str = "one", **beat: Any) -> "Claimed":
        """Queued, taken, acknowledged, with its first heartbeat."""
        self.queue()
        claimed = self.claim(worker_id)
        assert claimed.ack().status == 200
        beaten = claimed.beat("NO_HEARTBEAT", **beat)
        assert beaten.status == 200, beaten.body
        return claimed

    def row(self, work_id: str) -> Work:
        from memoryhub import ids

        key = ids.from_wire(ids.WORK, work_id)
        assert key is not None
        return Work.objects.get(id=key)


class Claimed:
    """An item that a worker was given, with its token."""

    def __init__(self, bench: Bench, work_id: str, token: str) -> None:
        self.bench, self.work_id, self.token = bench, work_id, token
        self.agent = Caller(token)

    def url(self, *parts: str) -> str:
        return self.bench.url(self.work_id, *parts)

    @property
    def row(self) -> Work:
        return self.bench.row(self.work_id)

    def ack(self) -> Answer:
        return self.bench.worker("POST", self.url("ack"))

    def beat(self, expected: str | None = None, *, caller: Caller | None = None, **query: Any) -> Answer:
        if expected is not None:
            query["expected_last_heartbeat"] = expected
        return (caller or self.agent)("POST", self.url("heartbeat"), query=query)

    def stop(self, *, caller: Caller | None = None, **body: Any) -> Answer:
        return (caller or self.agent)("POST", self.url("stop"), body)

    def write(self, path: str = "/a.md", content: str = "x", store: MemoryStore | None = None) -> Answer:
        url = f"/v1/memory_stores/{(store or self.bench.notes).wire_id}/memories"
        return self.agent("POST", url, {"path": path, "content": content})

    def expire(self) -> None:
        """The lease runs out now."""
        from stores.work import database_now

        Work.objects.filter(id=self.row.id).update(lease_expires_at=database_now())

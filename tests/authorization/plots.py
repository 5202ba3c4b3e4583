"""What is tried to be reached: one environment with one of everything in it, each text of it a canary."""

import io
import json
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.test import override_settings
from django.utils import timezone

from authority import agent, authorities, host_calls, host_runs, spaces
from authority.authorities import Lane, Options
from authority.bindings import ProfileKind
from authority.graph import EMPTY_HEAD
from authority.models import Authority
from authority.turns import HeldTurn
from memoryhub import activity, audit, ids, invitations, keys, secrets, webhook_deliveries, webhooks
from memoryhub.actors import RecordScope as ActorScope
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Environment, Job, JobChunk, Membership, Project
from memoryhub.notice_models import MailDigest, MailItem, MailWish, WebhookAttempt, WebhookDelivery
from providers import (
    declared,
    deployments,
    documents,
    endpoint_calls,
    endpoints,
    model_requests,
    records,
    session_tokens,
    sessions,
    tool_calls,
)
from providers.bindings import parse_bindings
from providers.endpoint_calls import Incoming
from providers.models import (
    ExternalItem,
    ExternalPartition,
    MemoryEffect,
    RecalledItem,
    RecordScope,
    RecordStatistics,
    RecordTerm,
    RecordWrite,
    ScopeViolation,
)
from providers.principals import Principal
from providers.record_access import WantedScope
from providers.sessions import WantedSession
from stores import exports, memories, memory_stores, retention, totals, work, work_claims
from stores.attachments import WantedStore
from stores.models import MemoryVersion, Work
from stores.retention import Policy
from tests.world import Caller, Tenant

KINDS: tuple[ProfileKind, ProfileKind] = ("canonical", "working")


@dataclass
class Plot:
    """Wire ids of what stands in one environment. `canary` is in every name and text of it, and in nothing else."""

    tenant: Tenant
    environment: Environment
    canary: str = field(default_factory=lambda: f"canary{uuid.uuid4().hex}")
    key_id: str = ""
    member_id: str = ""
    invitation_id: str = ""
    store_id: str = ""
    memory_id: str = ""
    memory_path: str = ""
    memory_sha256: str = ""
    old_version_id: str = ""
    head_version_id: str = ""
    job_id: str = ""
    agent_id: str = ""
    deployment_id: str = ""
    secret_id: str = ""
    document_revision: str = ""
    session_id: str = ""
    token_id: str = ""
    idle_session_id: str = ""
    work_id: str = ""
    work_token: str = field(default="", repr=False)
    claimed_work_id: str = ""
    request_id: str = ""
    open_request_id: str = ""
    tool_call_id: str = ""
    service_session_id: str = ""
    records_session_id: str = ""
    service_request_id: str = ""
    operation_id: str = ""
    endpoint_id: str = ""
    credential_id: str = ""
    partition_id: str = ""
    record_id: str = ""
    item_id: str = ""
    memory_record_id: str = ""
    record_scope_id: str = ""
    effect_id: str = ""
    write_id: str = ""
    violation_id: str = ""
    space_id: str = ""
    space_sequence: int = 0
    space_operation: str = ""
    space_authority: str = ""
    canonical_id: str = ""
    canonical_authority: str = ""
    canonical_sha256: str = ""
    working_sha256: str = ""
    pin: dict[str, Any] = field(default_factory=dict)
    authority_id: str = ""
    call_id: str = ""
    failed_call_id: str = ""
    receipt_sha256: str = ""
    nomination_sha256: str = ""
    explanation_token: str = ""
    result_sha256: str = ""
    webhook_id: str = ""
    delivery_id: str = ""
    archive: bytes = field(default=b"", repr=False)
    callers: dict[str, Caller] = field(default_factory=dict, repr=False)  # by kind of credential

    @property
    def path_ids(self) -> dict[str, str]:
        """By the names that URLs give them."""
        return {
            "project_id": self.tenant.project.wire_id,
            "environment_id": self.environment.wire_id,
            "key_id": self.key_id,
            "member_id": self.member_id,
            "invitation_id": self.invitation_id,
            "store_id": self.store_id,
            "memory_id": self.memory_id,
            "version_id": self.old_version_id,
            "deployment_id": self.deployment_id,
            "secret_id": self.secret_id,
            "session_id": self.session_id,
            "token_id": self.token_id,
            "work_id": self.work_id,
            "request_id": self.request_id,
            "tool_call_id": self.tool_call_id,
            "operation_id": self.operation_id,
            "endpoint_id": self.endpoint_id,
            "credential_id": self.credential_id,
            "partition_id": self.partition_id,
            "record_id": self.record_id,
            "item_id": self.item_id,
            "effect_id": self.effect_id,
            "write_id": self.write_id,
            "space_id": self.space_id,
            "authority_id": self.authority_id,
            "call_id": self.call_id,
            "receipt_sha256": self.receipt_sha256,
            "nomination_sha256": self.nomination_sha256,
            "webhook_id": self.webhook_id,
            "delivery_id": self.delivery_id,
        }

    @property
    def resource_id(self) -> str:
        """Of documents; `resource_id + "-kb"` is one of another service, `resource_id + "-notes"` one of records."""
        return self.canary

    @property
    def record_scope(self) -> ActorScope:
        """That of the plot's agents."""
        return ActorScope(self.canary, self.canary, "alice")

    @property
    def record_scope_wire(self) -> dict[str, Any]:
        return {"agent": self.canary, "principal": {"issuer": self.canary, "subject": "alice"}}

    @property
    def store_key(self) -> UUID:
        key = ids.from_wire(ids.MEMORY_STORE, self.store_id)
        assert key is not None
        return key

    @property
    def secrets(self) -> list[bytes]:
        """What no answer to a stranger may hold: the canary, digests, and ids of what stands here."""
        shown = [
            self.canary,
            self.memory_sha256,
            self.store_id,
            self.memory_id,
            self.old_version_id,
            self.key_id,
            self.deployment_id,
            self.secret_id,
            self.document_revision,
            self.session_id,
            self.token_id,
            self.work_id,
            self.claimed_work_id,
            self.request_id,
            self.tool_call_id,
            self.operation_id,
            self.endpoint_id,
            self.credential_id,
            self.partition_id,
            self.record_id,
            self.item_id,
            self.memory_record_id,
            self.effect_id,
            self.write_id,
            self.violation_id,
            self.space_id,
            self.authority_id,
            self.call_id,
            self.failed_call_id,
            self.nomination_sha256,
            self.webhook_id,
            self.delivery_id,
        ]
        return [text.encode() for text in shown]


def make_plot(tenant: Tenant, environment: Environment, *, with_authority: bool = True) -> Plot:
    """`with_authority`: a third of the time."""
    plot = Plot(tenant, environment)
    _add_people(plot)
    _add_webhook(plot)
    plot.key_id = keys.create_key(
        environment=environment.wire_id, name=plot.canary, scopes=["read"], actor=tenant.actor
    ).key.wire_id
    _add_store(plot)
    _add_job(plot)
    with override_settings(PARTITION_KEY=bytes(32)):
        _add_declared_memory(plot)
    _add_session(plot)
    _add_work(plot)
    _add_operation(plot)
    _add_endpoint(plot)
    _add_records(plot)
    if with_authority:
        _add_authority(plot)
    audit.seal_project(tenant.project.id)
    activity.count_activity()
    totals.count_totals()
    return plot


def _add_people(plot: Plot) -> None:
    actor = plot.tenant.actor
    issued = invitations.create_invitation(email=f"{plot.canary}@example.com", role="developer", actor=actor)
    user = invitations.accept_invitation(issued.token, name=plot.canary, password="correct horse battery")
    plot.member_id = Membership.objects.get(project_id=actor.project_id, user=user).wire_id
    opened = invitations.create_invitation(
        email=f"open-{plot.canary}@example.com", role="viewer", actor=actor
    )
    plot.invitation_id = opened.invitation.wire_id


def _add_webhook(plot: Plot) -> None:
    """With a delivery that was tried once, one that failed, and a member who wants mails of what the plot's other things tell."""
    issued = webhooks.create_webhook(
        environment=plot.environment.wire_id,
        url=f"https://hooks.example.com/{plot.canary}",
        description=plot.canary,
        event_types=["*"],
        actor=plot.tenant.actor,
    )
    plot.webhook_id = issued.webhook.wire_id
    failed = webhook_deliveries.send_test(plot.webhook_id, actor=plot.tenant.actor)
    WebhookDelivery.objects.filter(id=failed.id).update(
        state="failed", code="expired", finished_at=failed.created_at
    )
    delivery = webhook_deliveries.send_test(plot.webhook_id, actor=plot.tenant.actor)
    plot.delivery_id = delivery.wire_id
    WebhookAttempt.objects.create(
        project_id=delivery.project_id,
        delivery=delivery,
        number=1,
        started_at=delivery.created_at,
        milliseconds=1,
        code="refused",
        status=500,
        answer_start=plot.canary,
    )
    of_member = {
        "project": plot.tenant.project,
        "membership_id": ids.from_wire(ids.MEMBERSHIP, plot.member_id),
    }
    MailWish.objects.create(topics=["nominations", "needs_person"], **of_member)
    MailDigest.objects.create(environment=plot.environment, **of_member)
    MailItem.objects.create(
        environment=plot.environment, notice=delivery.notice, topic="needs_person", **of_member
    )


def _add_store(plot: Plot) -> None:
    actor, canary = plot.tenant.actor, plot.canary
    store = memory_stores.create_store(
        environment=plot.environment.wire_id,
        name=canary,
        description=canary,
        metadata={canary: canary},
        actor=actor,
    )
    plot.store_id, plot.memory_path = store.wire_id, f"/{canary}/note.md"
    memory = memories.create_memory(
        store.wire_id, path=plot.memory_path, content=f"first {canary}", actor=actor
    )
    plot.memory_id = memory.wire_id
    plot.old_version_id = ids.to_wire(ids.MEMORY_VERSION, memory.head_id)
    changed = memories.update_memory(store.wire_id, memory.wire_id, content=f"second {canary}", actor=actor)
    plot.head_version_id = ids.to_wire(ids.MEMORY_VERSION, changed.head_id)
    retention.set_retention(store.wire_id, policy=Policy(365, 1), actor=actor)
    plot.memory_sha256 = changed.content_sha256
    assert MemoryVersion.objects.filter(memory_id=memory.id).count() == 2
    spool = io.BytesIO()
    exports.export_store(store.wire_id, spool, bytes_max=None, actor=actor)
    plot.archive = spool.getvalue()


def _add_job(plot: Plot) -> None:
    """An export of the store that is done, with its file."""
    job = Job.objects.create(
        project=plot.tenant.project,
        environment=plot.environment,
        kind="export_store",
        arguments={"store_id": plot.store_id},
        subject_id=plot.store_key,
        asked_by=plot.tenant.owner,
        state="done",
        finished_at=ClockTimestamp(),
        file_name=f"{plot.canary}.tar",
        file_bytes=len(plot.archive),
    )
    JobChunk.objects.create(project_id=job.project_id, job_id=job.id, position=0, content=plot.archive)
    plot.job_id = job.wire_id


def manifest_of(plot: Plot, *tools: str) -> dict[str, object]:
    """A document resource, one of another service and one of records. `tools`: so that two deployments differ."""
    documents_, service = plot.resource_id, f"{plot.resource_id}-kb"
    return {
        "connections": [{"id": service, "origin": "https://memory.example.com", "methods": ["POST"]}],
        "memory": [
            {"id": documents_, "description": plot.canary},
            {
                "id": service,
                "description": plot.canary,
                "provider": {"kind": "http", "connection": service, "path": "/memory"},
            },
            {
                "id": f"{documents_}-notes",
                "description": plot.canary,
                "provider": {"kind": "records", "memoryWrite": "ask"},
            },
        ],
        "ordinaryTools": list(tools),
    }


def _add_declared_memory(plot: Plot) -> None:
    """Two deployments that were promoted, the second in force; a document that is changed, one that is deleted; a secret."""
    actor, environment = plot.tenant.actor, plot.environment.wire_id
    Project.objects.filter(id=actor.project_id).update(http_memory="enabled")
    plot.agent_id = plot.canary
    for tools in ((), ("search_web",)):
        made = deployments.create_deployment(
            agent_id=plot.agent_id, manifest=manifest_of(plot, *tools), actor=actor
        )
        deployments.promote_deployment(
            made.wire_id, environment=environment, acknowledged_endpoints=[], actor=actor
        )
        plot.deployment_id = plot.deployment_id or made.wire_id
    declared.declare_resource(  # of the agent that a session has when none is named
        environment=environment,
        resource={"id": plot.resource_id, "description": plot.canary},
        connection=None,
        acknowledge_endpoint_change=False,
        actor=actor,
    )
    for document_id in (plot.canary, "deleted"):
        made_document = documents.create_document(
            environment,
            plot.resource_id,
            document_id,
            title=plot.canary,
            text=f"first {plot.canary}",
            summary=plot.canary,
            agent_writes=True,
            actor=actor,
        )
    documents.delete_document(
        environment, plot.resource_id, "deleted", expected_revision=made_document.revision, actor=actor
    )
    plot.secret_id = secrets.put_secret(
        environment=environment,
        name="TOKEN",
        agent_id="",
        value=f"value-{plot.canary}",
        allowed_origins=["https://memory.example.com"],
        actor=actor,
    ).wire_id
    plot.service_session_id = _open_session(
        plot, {f"{plot.resource_id}-kb": {"scope": "namespace", "id": plot.canary}}
    )


def _open_session(
    plot: Plot, memory: dict[str, Any], *store_ids: str, principal: Principal | None = None
) -> str:
    wanted = WantedSession(
        environment=plot.environment.wire_id,
        agent=plot.agent_id,
        deployment_id=None,
        bindings=parse_bindings(memory),
        stores=[WantedStore(store_id, "read_write", plot.canary) for store_id in store_ids],
        title=plot.canary,
        principal=principal,
    )
    return sessions.create_session(wanted, idempotency_key=None, actor=plot.tenant.actor).session.wire_id


def _add_session(plot: Plot) -> None:
    """On the document and a store of its own, since a store that is held cannot be deleted; one request with a call, one
    that has selected nothing yet.
    """
    actor = plot.tenant.actor
    held = memory_stores.create_store(
        environment=plot.environment.wire_id,
        name=f"held {plot.canary}",
        description=plot.canary,
        metadata={},
        actor=actor,
    )
    bound = {"scope": "document", "id": plot.canary, "access": "read-write"}
    plot.session_id = _open_session(plot, {plot.resource_id: bound}, held.wire_id)
    plot.request_id, plot.open_request_id = (
        model_requests.open_request(
            plot.session_id, client_request_id=name, input_text=plot.canary, waits=True, actor=actor
        ).request.wire_id
        for name in (plot.canary, f"{plot.canary} open")
    )
    plot.token_id = session_tokens.create_token(plot.session_id, seconds=3_600, actor=actor).key.wire_id
    model_requests.select_memory(plot.session_id, plot.request_id, use=[plot.resource_id], actor=actor)
    plot.tool_call_id = tool_calls.call_tool(
        plot.session_id,
        plot.request_id,
        call_id=plot.canary,
        name="memory_save",
        arguments={"text": "x" * 9_000},  # too large: the document stays as it was recalled
        waits=True,
        actor=actor,
    ).wire_id
    document = documents.get_document(plot.environment.wire_id, plot.resource_id, plot.canary, actor=actor)
    plot.document_revision = document.revision


def _add_work(plot: Plot) -> None:
    """The session's item is under way, and its lease does not end; one is taken and not acknowledged, one waits."""
    actor, place = plot.tenant.actor, plot.environment.wire_id
    started, claimed, _ = [_queue(plot, session_id) for session_id in (plot.session_id, "", "")]
    far = timezone.now() + timedelta(days=1)
    ours = [ids.from_wire(ids.WORK, work_id) for work_id in (started, claimed)]
    others = Work.objects.filter(environment=plot.environment, claimed_at=None).exclude(id__in=ours)
    waiting = list(others.values_list("id", flat=True))
    others.update(claimed_at=far)
    for work_id in (started, claimed):
        claim = work_claims.poll_work(
            place, block_ms=0, reclaim_older_than_ms=5_000, worker=plot.canary, actor=actor
        )
        assert claim is not None and claim.work.wire_id == work_id
        if work_id == started:
            plot.work_token = claim.token
    work.acknowledge_work(place, started, actor=actor)
    work.heartbeat_work(place, started, expected=work.NO_HEARTBEAT, ttl_seconds=None, actor=actor)
    Work.objects.filter(id=ours[0]).update(lease_expires_at=far)
    Work.objects.filter(id=ours[1]).update(claimed_at=far)
    Work.objects.filter(id__in=waiting).update(claimed_at=None)
    plot.work_id, plot.claimed_work_id = started, claimed
    plot.idle_session_id = _open_session(plot, {})


def _queue(plot: Plot, session_id: str) -> str:
    return work.queue_work(session_id or _open_session(plot, {}), actor=plot.tenant.actor).work.wire_id


def _add_operation(plot: Plot) -> None:
    """A recall of the other service, which no worker has taken yet."""
    request = model_requests.open_request(
        plot.service_session_id,
        client_request_id=plot.canary,
        input_text=plot.canary,
        waits=False,
        actor=plot.tenant.actor,
    ).request
    plot.service_request_id = request.wire_id
    plot.operation_id = request.http_operations.get().wire_id


def _add_endpoint(plot: Plot) -> None:
    """With a credential, and a partition that holds one record."""
    actor = plot.tenant.actor
    endpoint = endpoints.create_endpoint(
        environment=plot.environment.wire_id,
        name=plot.canary,
        bytes_max=8_192,
        retention_days=None,
        actor=actor,
    )
    plot.endpoint_id = endpoint.wire_id
    issued = endpoints.create_credential(plot.endpoint_id, name=plot.canary, scope="memory", actor=actor)
    plot.credential_id = issued.credential.wire_id
    call = {
        "version": 1,
        "operation": "tool",
        "operationId": plot.canary,
        "partition": plot.canary,
        "access": "read-write",
        "deadlineAt": "2126-01-01T00:00:00Z",
        "tool": "remember",
        "arguments": {"fact": plot.canary},
    }
    incoming = Incoming(f"Bearer {issued.token}", "application/json", json.dumps(call).encode())
    answer = endpoint_calls.answer_call(plot.endpoint_id, incoming)
    plot.record_id = json.loads(answer.body)["result"]["id"]
    plot.partition_id = ExternalPartition.objects.get(partition=plot.canary).wire_id
    endpoint_calls.ingest(endpoint, plot.canary, [("user", plot.canary)])
    plot.item_id = ExternalItem.objects.get(partition__partition=plot.canary).wire_id


def _add_records(plot: Plot) -> None:
    """A record in the scope of the plot's agents; an effect that waits for a person; a hit that was dropped; what was counted."""
    actor, wanted = plot.tenant.actor, WantedScope(plot.environment.wire_id, plot.record_scope)
    fields = {"text": f"remembered {plot.canary}", "thread": plot.canary, "author": plot.canary}
    saved = records.save_record(wanted, fields, key=plot.canary, actor=actor)
    assert saved.ref is not None
    plot.memory_record_id = saved.ref.id
    records.search_records(wanted, plot.canary, k=5, actor=actor)
    held = RecordScope.objects.get(environment=plot.environment, agent=plot.canary)
    plot.record_scope_id = held.wire_id
    effect = MemoryEffect.objects.get(scope=held)
    effect.pk, effect.key, effect.key_sha256 = ids.new_id(), f"unknown {plot.canary}", "0" * 64
    effect.state, effect.outcome, effect.payload = "unknown", None, {"id": plot.canary}
    effect.save(force_insert=True)
    plot.effect_id = effect.wire_id
    of = {"project_id": held.project_id, "scope": held}
    RecordTerm.objects.create(**of, term=plot.canary, records=2)
    RecordStatistics.objects.create(**of)
    plot.write_id = _add_waiting_write(plot)
    names = {"namespace": plot.canary, "record_id": plot.canary, "hit_id": plot.canary}
    plot.violation_id = ScopeViolation.objects.create(**of, provider="local", **names).wire_id


def _add_waiting_write(plot: Plot) -> str:
    """A session that binds records: it was shown one, and a write of it waits; the id of this."""
    notes, actor = f"{plot.resource_id}-notes", plot.tenant.actor
    bound = {notes: {"scope": "records", "access": "read-write"}}
    session_id = plot.records_session_id = _open_session(
        plot, bound, principal=Principal(plot.canary, "alice")
    )
    request_id = model_requests.open_request(
        session_id, client_request_id=plot.canary, input_text=plot.canary, waits=True, actor=actor
    ).request.wire_id
    model_requests.select_memory(session_id, request_id, use=[notes], actor=actor)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_memory", {"query": plot.canary}),
        ("save_memory", {"text": f"waits {plot.canary}"}),
    ]
    for name, arguments in calls:
        tool_calls.call_tool(
            session_id, request_id, call_id=name, name=name, arguments=arguments, waits=True, actor=actor
        )
    session_key = ids.from_wire(ids.SESSION, session_id)
    assert RecalledItem.objects.filter(session_id=session_key).count() == 1
    return RecordWrite.objects.get(session_id=session_key).wire_id


def _add_authority(plot: Plot) -> None:
    """Two spaces and their authority; a nomination that was adopted, one that waits, a call that waits, a result."""
    actor, name = plot.tenant.actor, plot.canary
    canonical, working = (
        spaces.create_space(
            f"{name}.{kind}",
            realm_id=name,
            profile_kind=kind,
            authority_id=f"{name}.{kind}",
            environment=plot.environment.wire_id,
            actor=actor,
        )
        for kind in KINDS
    )
    lanes = [Lane(space.wire_id, space.authority_id, space.binding_sha256) for space in (canonical, working)]
    routes = [{"destinationPurpose": name, "nominationId": name}]
    options = Options(*lanes, "agent.plot", "reviewer.plot", EMPTY_HEAD.as_wire(), [], routes)
    authority = authorities.create_authority(options, actor=actor)
    plot.space_id, plot.space_authority, plot.authority_id = (
        working.wire_id,
        working.authority_id,
        authority.wire_id,
    )
    plot.canonical_id, plot.canonical_authority = canonical.wire_id, canonical.authority_id
    plot.canonical_sha256, plot.working_sha256 = canonical.binding_sha256, working.binding_sha256
    put = {"dependencies": [], "key": name, "kind": "note", "v": 1, "value": {"text": name}}
    start = {"generation": 0, "operationSha256": None}
    remembered = {"expectedHead": start, "puts": [put], "requestId": name, "tombstones": [], "v": 1}
    receipt = agent.remember(authority.wire_id, remembered, actor=actor)
    plot.space_sequence, plot.space_operation = 1, str(receipt.head.operation_sha256)
    nomination = agent.nominate(
        authority.wire_id, {"nominationId": name, "roots": [name], "v": 1}, actor=actor
    )
    plot.nomination_sha256 = nomination.sha256
    adoption = {"expectedCanonicalHead": EMPTY_HEAD.as_wire(), "nominationSha256": nomination.sha256, "v": 1}
    call = host_calls.submit_adoption(authority.wire_id, adoption, actor=actor)
    host_runs.run_next(HeldTurn(authority.id, uuid.uuid4()))
    call.refresh_from_db()
    assert call.receipt_sha256 is not None, call.error
    plot.receipt_sha256 = call.receipt_sha256
    plot.pin = Authority.objects.get(id=authority.id).pin.as_wire()
    stale = {"expectedHead": EMPTY_HEAD.as_wire(), "nextHead": plot.pin, "v": 1}
    plot.failed_call_id = host_calls.submit_advance(authority.wire_id, stale, actor=actor).wire_id
    host_runs.run_next(HeldTurn(authority.id, uuid.uuid4()))
    _nominate_another(plot)
    advance = {"expectedHead": plot.pin, "nextHead": plot.pin, "v": 1}
    plot.call_id = host_calls.submit_advance(authority.wire_id, advance, actor=actor).wire_id
    bindings = {"keyPrefix": None, "kind": None, "lane": None}
    query = {"bindings": bindings, "continuation": None, "programId": "memory.records", "v": 2}
    result = agent.query_memory(authority.wire_id, query, actor=actor)
    plot.explanation_token = result["explainCapability"]["token"]
    plot.result_sha256 = result["resultSha256"]


def _nominate_another(plot: Plot) -> None:
    """That waits for a decision."""
    put = {"dependencies": [], "key": "waiting", "kind": "note", "v": 1, "value": {"text": plot.canary}}
    head = {"generation": plot.space_sequence, "operationSha256": plot.space_operation}
    remembered = {"expectedHead": head, "puts": [put], "requestId": "waiting", "tombstones": [], "v": 1}
    receipt = agent.remember(plot.authority_id, remembered, actor=plot.tenant.actor)
    plot.space_sequence, plot.space_operation = 2, str(receipt.head.operation_sha256)
    asked = {"nominationId": plot.canary, "roots": ["waiting"], "v": 1}
    plot.nomination_sha256 = agent.nominate(plot.authority_id, asked, actor=plot.tenant.actor).sha256

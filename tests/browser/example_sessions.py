"""Declared memory of the example project: documents that models read and save, sessions in each state, a secret."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.test import override_settings

from memoryhub import secrets, session_events
from memoryhub.actors import Actor
from providers import declared, deployments, documents, model_requests, record_writes, sessions, tool_calls
from providers.bindings import parse_bindings
from providers.principals import Principal
from providers.sessions import WantedSession
from stores import work, work_claims
from stores.attachments import WantedStore
from tests.browser.example_services import call_services, keep_at_provider, keep_for_hosts

ENVIRONMENT = "production"
PLAYBOOK, CUSTOMERS, KNOWLEDGE, NOTES = "playbook", "customers", "knowledge", "notes"
SUPPORT = """# Support playbook

- Answer in the customer's language.
- Quote prices only from the pricing playbook.
- Escalate a damaged delivery at once: gate 3 has the photo desk.
"""
SUPPORT_SAVED = SUPPORT + "- Acme Boatyard wants deliveries before 9:00.\n"
RETURNS = """# Returns

- 30 days, unused, with the packing list.
- Engines go back to the maker, never to us.
"""
KNOWN = "Brandt Marine runs two Volvo D4 engines.\nTheir yard is closed in January."
type Add = Callable[..., None]


def remember_in_sessions(known: dict[str, list[str]], maya: Actor, tomas: Actor, add: Add) -> None:
    """`known`: the ids of the example, to which these are added; the fullest first. `add(days, verb, …)` notes a step."""
    add(9, _declare, known, maya)
    add(8, _write_documents, known, maya)
    add(0.5, _talk, known, tomas)
    add(0.35, _learn, known, maya)
    add(0.3, _freeze, maya)
    add(0.28, _talk_briefly, known, tomas)
    add(0.2, call_services, known, f"triage@{ENVIRONMENT}", KNOWLEDGE, KNOWN, tomas)
    add(0.1, keep_for_hosts, known, ENVIRONMENT, "Facts for the web shop", "The yard closes at 18:00.", maya)
    add(
        0.08,
        keep_at_provider,
        known,
        ENVIRONMENT,
        "Records of the web shop",
        "The crane is away in May.",
        maya,
    )


def _learn(known: dict[str, list[str]], actor: Actor) -> None:
    """A memory of records that asks a person first: two writes that wait, one that was approved, one that was rejected."""
    declared.declare_resource(
        environment=ENVIRONMENT,
        resource={
            "id": NOTES,
            "description": "What was learnt of each customer.",
            "provider": {"kind": "records"},
        },
        connection=None,
        acknowledge_endpoint_change=False,
        actor=actor,
    )
    known["resource_id"].append(NOTES)
    wanted = WantedSession(
        environment=ENVIRONMENT,
        agent=None,
        deployment_id=None,
        bindings=parse_bindings({NOTES: {"scope": "records", "access": "read-write"}}),
        stores=[],
        title="Questions of the boatyard",
        principal=Principal("shop", "acme"),
    )
    session_id = sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id
    request_id = _ask(session_id, "turn-1", [NOTES], actor)
    texts = ("Wants deliveries before 9:00.", "Is closed in January.", "Pays late.", "Has two engines.")
    writes = []
    for text in texts:
        call = tool_calls.call_tool(
            session_id, request_id, call_id=text, name="save_memory", arguments={"text": text}, waits=True,
            actor=actor,
        )  # fmt: skip
        assert call.output is not None
        writes.append(call.output["id"])
    record_writes.reject_write(writes[2], actor=actor)
    record_writes.approve_write(writes[3], actor=actor)
    known["write_id"] = writes


def _freeze(actor: Actor) -> None:
    shown = documents.get_document(ENVIRONMENT, PLAYBOOK, "returns", actor=actor)
    documents.change_card(
        ENVIRONMENT,
        PLAYBOOK,
        "returns",
        title=None,
        agent_writes=False,
        expected_revision=shown.revision,
        actor=actor,
    )


def _declare(known: dict[str, list[str]], actor: Actor) -> None:
    manifest = {
        "connections": [
            {
                "id": "crm",
                "origin": "https://memory.harborsupply.example",
                "methods": ["POST"],
                "headers": {"Authorization": {"secret": "CRM_MEMORY_TOKEN", "prefix": "Bearer "}},
            }
        ],
        "memory": [
            {"id": CUSTOMERS, "description": "One document a customer: what was promised to whom."},
            {
                "id": KNOWLEDGE,
                "description": "What the CRM's memory knows of a customer.",
                "provider": {
                    "kind": "http",
                    "connection": "crm",
                    "tools": [
                        {
                            "name": "remember",
                            "description": "Keep a fact. The next recall shows it.",
                            "access": "write",
                            "idempotent": True,
                            "input": {
                                "type": "object",
                                "properties": {"fact": {"type": "string"}},
                                "required": ["fact"],
                            },
                        }
                    ],
                },
            },
        ],
        "ordinaryTools": ["search_orders"],
    }
    made = deployments.create_deployment(agent_id="triage", manifest=manifest, actor=actor)
    deployments.promote_deployment(
        made.wire_id, environment=ENVIRONMENT, acknowledged_endpoints=[], actor=actor
    )
    declared.declare_resource(
        environment=ENVIRONMENT,
        resource={"id": PLAYBOOK, "description": "How this team answers customers."},
        connection=None,
        acknowledge_endpoint_change=False,
        actor=actor,
    )
    later = deployments.create_deployment(
        agent_id="triage", manifest=manifest | {"ordinaryTools": []}, actor=actor
    )
    known["deployment_id"] = [later.wire_id, made.wire_id]
    known["resource_id"] = [PLAYBOOK, CUSTOMERS, KNOWLEDGE]
    known["secret_id"] = [keep_secret(actor)]


def keep_secret(actor: Actor, *, agent_id: str = "") -> str:
    keys = settings.ENCRYPTION_KEYS or [bytes(32)]
    with override_settings(ENCRYPTION_KEYS=keys):
        return secrets.put_secret(
            environment=ENVIRONMENT,
            name="CRM_MEMORY_TOKEN",
            agent_id=agent_id,
            value="a token",
            allowed_origins=["https://memory.harborsupply.example"],
            actor=actor,
        ).wire_id


def _write_documents(known: dict[str, list[str]], actor: Actor) -> None:
    for id_, title, text, summary in (
        ("returns", "Returns", RETURNS, "What goes back, to whom and until when."),
        ("support", "Support playbook", SUPPORT, "How customers are answered."),
    ):
        documents.create_document(
            ENVIRONMENT, PLAYBOOK, id_, title=title, text=text, summary=summary, agent_writes=True,
            actor=actor,
        )  # fmt: skip
    known["document_id"] = ["support", "returns"]


def _talk(known: dict[str, list[str]], actor: Actor) -> None:
    """Two requests: a save, a conflict and a call that does not fit; then one that is frozen meanwhile."""
    bound = {PLAYBOOK: {"scope": "document", "id": "support", "access": "read-write"}}
    session_id = _open(known, "Acme Boatyard: late delivery", bound, actor, known["store_id"][0])
    session_events.add_event(
        session_id, type_="user.message", data={"text": "Where is the order?"}, actor=actor
    )
    request_id = _ask(session_id, "turn-1", [PLAYBOOK], actor)
    _call(session_id, request_id, "call-1", {"text": SUPPORT_SAVED}, actor)
    _call(session_id, request_id, "call-2", {"text": SUPPORT}, actor)
    _call(session_id, request_id, "call-3", {"words": "wrong"}, actor)
    known["request_id"] = [request_id, _ask(session_id, "turn-2", None, actor)]
    _serve(known, actor)


def _serve(known: dict[str, list[str]], actor: Actor) -> None:
    """The session was queued by its first event: a worker has it."""
    worker = "yard-box-2-5d0c1f7a9be3"
    claim = work_claims.poll_work(
        ENVIRONMENT, block_ms=0, reclaim_older_than_ms=5_000, worker=worker, actor=actor
    )
    assert claim is not None
    item = claim.work.wire_id
    work.acknowledge_work(ENVIRONMENT, item, actor=actor)
    work.heartbeat_work(ENVIRONMENT, item, expected=work.NO_HEARTBEAT, ttl_seconds=300, actor=actor)
    known["work_id"] = [item]


def _talk_briefly(known: dict[str, list[str]], actor: Actor) -> None:
    collection = {PLAYBOOK: {"scope": "collection"}}
    session_id = _open(known, "", collection, actor)
    _ask(session_id, "turn-1", [PLAYBOOK], actor)
    sessions.revoke_binding(session_id, PLAYBOOK, actor=actor)
    sessions.end_session(session_id, actor=actor)


def _open(
    known: dict[str, list[str]], title: str, memory: dict[str, Any], actor: Actor, *store_ids: str
) -> str:
    wanted = WantedSession(
        environment=ENVIRONMENT,
        agent=None,
        deployment_id=None,
        bindings=parse_bindings(memory),
        stores=[WantedStore(store_id, "read_write", None) for store_id in store_ids],
        title=title,
    )
    session_id = sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id
    known.setdefault("session_id", []).append(session_id)
    return session_id


def _ask(session_id: str, name: str, use: list[str] | None, actor: Actor) -> str:
    request_id = model_requests.open_request(
        session_id, client_request_id=name, input_text=None, waits=True, actor=actor
    ).request.wire_id
    if use is not None:
        model_requests.select_memory(session_id, request_id, use=use, actor=actor)
    return request_id


def _call(session_id: str, request_id: str, call_id: str, arguments: dict[str, Any], actor: Actor) -> None:
    tool_calls.call_tool(
        session_id,
        request_id,
        call_id=call_id,
        name="memory_save",
        arguments=arguments,
        waits=True,
        actor=actor,
    )

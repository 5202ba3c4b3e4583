"""Declared memory that holds texts of a hostile kind in everything that may be said of it: documents, sessions, calls, deployments."""

from typing import Any

from memoryhub import session_events
from memoryhub.actors import Actor
from providers import declared, deployments, documents, model_requests, sessions, tool_calls
from providers.bindings import parse_bindings
from providers.principals import Principal
from providers.sessions import WantedSession
from stores import work_claims
from stores.attachments import WantedStore
from tests.browser.example import ENVIRONMENT
from tests.browser.example_services import call_services, keep_at_provider, keep_for_hosts
from tests.browser.example_sessions import keep_secret
from tests.browser.example_webhooks import add_webhooks

DOCUMENT = "support"


def converse(known: dict[str, list[str]], tag: str, pack: str, text: str, actor: Actor) -> None:
    """`known`: the ids of one view, to which these are added. `pack`: a short text, `text`: a long one."""
    resource = f"notes{tag}"
    declared.declare_resource(
        environment=ENVIRONMENT,
        resource={"id": resource, "description": pack},
        connection=None,
        acknowledge_endpoint_change=False,
        actor=actor,
    )
    documents.create_document(
        ENVIRONMENT, resource, DOCUMENT, title=pack, text=text, summary=pack, agent_writes=True, actor=actor
    )
    known |= {
        "resource_id": [resource, f"facts{tag}"],
        "document_id": [DOCUMENT],
        "deployment_id": [_deploy(tag, pack, actor)],
        "secret_id": [keep_secret(actor, agent_id=f"triage{tag}")],
    }
    _talk(known, resource, pack, actor)
    _want(known, tag, pack, actor)
    call_services(known, f"triage{tag}@{ENVIRONMENT}", f"facts{tag}", text, actor, code=pack)
    keep_for_hosts(known, ENVIRONMENT, pack[:60], text, actor)
    keep_at_provider(known, ENVIRONMENT, f"{pack[:58]} 2", text, actor)
    add_webhooks(known, pack, actor)


def _deploy(tag: str, pack: str, actor: Actor) -> str:
    """With a tool of another service, which describes itself."""
    tool: dict[str, Any] = {
        "name": "remember",
        "description": pack,
        "access": "write",
        "idempotent": True,
        "input": {"type": "object", "properties": {"fact": {"type": "string", "description": pack}}},
    }
    provider = {"kind": "http", "connection": "crm", "tools": [tool]}
    manifest = {
        "connections": [{"id": "crm", "origin": "https://memory.example.com", "methods": ["POST"]}],
        "memory": [
            {"id": f"facts{tag}", "description": pack, "provider": provider},
            {"id": f"records{tag}", "description": pack, "provider": {"kind": "records"}},
        ],
    }
    made = deployments.create_deployment(agent_id=f"triage{tag}", manifest=manifest, actor=actor).wire_id
    deployments.promote_deployment(made, environment=ENVIRONMENT, acknowledged_endpoints=[], actor=actor)
    return made


def _want(known: dict[str, list[str]], tag: str, pack: str, actor: Actor) -> None:
    """A write of a record that waits for a person."""
    resource = f"records{tag}"
    wanted = WantedSession(
        environment=ENVIRONMENT,
        agent=f"triage{tag}@{ENVIRONMENT}",
        deployment_id=None,
        bindings=parse_bindings({resource: {"scope": "records", "access": "read-write"}}),
        stores=[],
        title=pack,
        principal=Principal("idp", pack[:40]),
    )
    session = sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id
    request = model_requests.open_request(
        session, client_request_id="1", input_text=None, waits=True, actor=actor
    ).request.wire_id
    model_requests.select_memory(session, request, use=[resource], actor=actor)
    call = tool_calls.call_tool(
        session, request, call_id="1", name="save_memory", arguments={"text": pack}, waits=True, actor=actor
    )
    known["write_id"] = [call.output["id"]]


def _talk(known: dict[str, list[str]], resource: str, pack: str, actor: Actor) -> None:
    """A save, a conflict, a call of another shape, and one of a tool that there is not."""
    bound = {resource: {"scope": "document", "id": DOCUMENT, "access": "read-write"}}
    wanted = WantedSession(
        environment=ENVIRONMENT,
        agent=None,
        deployment_id=None,
        bindings=parse_bindings(bound),
        stores=[WantedStore(known["store_id"][0], "read_write", pack)],
        title=pack,
    )
    session = sessions.create_session(wanted, idempotency_key=None, actor=actor).session.wire_id
    session_events.add_event(session, type_="user.message", data={"text": pack, pack[:60]: pack}, actor=actor)
    request = model_requests.open_request(
        session, client_request_id=pack[:200], input_text=pack, waits=True, actor=actor
    ).request.wire_id
    model_requests.select_memory(session, request, use=[resource], actor=actor)
    calls = [
        ("memory_save", {"text": pack}),
        ("memory_save", {"text": f"{pack} again"}),
        ("memory_save", {pack[:60]: pack}),
        (pack[:60], {"text": pack}),
    ]
    for number, (name, arguments) in enumerate(calls):
        tool_calls.call_tool(
            session,
            request,
            call_id=f"{number} {pack[:60]}",
            name=name,
            arguments=arguments,
            waits=True,
            actor=actor,
        )
    # the first event queued it
    claim = work_claims.poll_work(
        ENVIRONMENT, block_ms=0, reclaim_older_than_ms=3_600_000, worker=pack[:256], actor=actor
    )
    assert claim is not None
    known |= {"session_id": [session], "request_id": [request], "work_id": [claim.work.wire_id]}

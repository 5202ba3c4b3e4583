"""Declared memory that holds texts of a hostile kind in everything that may be said of it: documents, sessions, calls, deployments."""

from typing import Any

from memoryhub import session_events
from memoryhub.actors import Actor
from providers import declared, deployments, documents, model_requests, sessions, tool_calls
from providers.bindings import parse_bindings
from providers.sessions import WantedSession
from stores.attachments import WantedStore
from tests.browser.example import ENVIRONMENT
from tests.browser.example_sessions import keep_secret

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
        "resource_id": [resource],
        "document_id": [DOCUMENT],
        "deployment_id": [_deploy(tag, pack, actor)],
        "secret_id": [keep_secret(actor, agent_id=f"triage{tag}")],
    }
    _talk(known, resource, pack, actor)


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
        "memory": [{"id": f"facts{tag}", "description": pack, "provider": provider}],
    }
    return deployments.create_deployment(agent_id=f"triage{tag}", manifest=manifest, actor=actor).wire_id


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
    known |= {"session_id": [session], "request_id": [request]}

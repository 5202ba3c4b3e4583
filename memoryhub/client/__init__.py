"""A client of a hub over HTTP: stores, declared memory, documents, sessions. Typed, synchronous, nothing of Django.

from memoryhub.client import Hub, define_memory

with Hub("http://127.0.0.1:8000", api_key="mh_…") as hub:
    hub.declare(define_memory("playbook", "How we work."))
    session = hub.sessions.start_on_document("playbook", "team-a", text="Deploy before noon.")
    request = hub.sessions.open_request(session["id"], "first")
    print(request["memory"]["playbook"]["text"])
"""

from memoryhub.client.declarations import (
    bearer,
    define_connection,
    define_manifest,
    define_memory,
    define_tool,
    document_memory,
    http_memory,
    records_memory,
    use_secret,
)
from memoryhub.client.errors import ClientError, ConnectionFailed, HubRefused, UnexpectedAnswer
from memoryhub.client.hub import Hub
from memoryhub.client.records import record_scope

__all__ = [
    "ClientError",
    "ConnectionFailed",
    "Hub",
    "HubRefused",
    "UnexpectedAnswer",
    "bearer",
    "define_connection",
    "define_manifest",
    "define_memory",
    "define_tool",
    "document_memory",
    "http_memory",
    "record_scope",
    "records_memory",
    "use_secret",
]

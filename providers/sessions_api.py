"""The REST door of sessions and of what happens in them."""

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from memoryhub import event_streams, session_events
from memoryhub import sessions as ground_sessions
from memoryhub.actors import Actor
from memoryhub.api import operation
from memoryhub.errors import InvalidRequest
from memoryhub.problems import json_response
from memoryhub.shapes import DeletedShape, deleted_wire
from providers import managed_forms, sessions
from providers.bindings import parse_bindings
from providers.managed_forms import managed_event_wire
from providers.principals import read_principal
from providers.serializers import list_request
from providers.session_serializers import (
    CreateSessionBody,
    ListEventsQuery,
    ListSessionsQuery,
    SessionEventBody,
    SessionEventShape,
    SessionEventsShape,
    SessionItemShape,
    SessionShape,
    StartedSessionShape,
    StartOnDocumentBody,
    StreamEventsQuery,
    event_wire,
    session_item_wire,
    session_wire,
)
from providers.sessions import Opened, WantedSession
from providers.views import KeyedView, SessionView, no_content
from stores.attachments import WantedStore

type Values = dict[str, Any]


class Sessions(KeyedView):
    @operation(
        "sessions.create",
        "Create a session",
        body=CreateSessionBody,
        answer=SessionShape,
        status=201,
        also=(200,),
    )
    def post(self, *, body: Values, idempotency_key: str | None, actor: Actor) -> HttpResponse:
        wanted = WantedSession(
            environment=body.get("environment"),
            agent=body.get("agent_id"),
            deployment_id=body.get("deployment_id"),
            bindings=parse_bindings(body.get("memory", {})),
            stores=[_wanted_store(one) for one in body.get("resources", [])],
            title=body.get("title", ""),
            principal=read_principal(body.get("principal")),
        )
        return _answer(sessions.create_session(wanted, idempotency_key=idempotency_key, actor=actor))

    @operation("sessions.list", "List sessions", query=ListSessionsQuery, answer=SessionItemShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        filters = {name: value for name, value in query.items() if name not in ("limit", "page")}
        filters |= {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
        state = query.get("state")
        page = sessions.list_sessions(
            list_request("sessions", query, filters),
            environment=query.get("environment"),
            is_live=None if state is None else state == "live",
            memory_store_id=query.get("memory_store_id"),
            actor=actor,
        )
        return page.as_wire(session_item_wire)


def _wanted_store(given: Values) -> WantedStore:
    return WantedStore(given["memory_store_id"], given.get("access", "read_write"), given.get("instructions"))


def _answer(opened: Opened) -> HttpResponse:
    return json_response(session_wire(opened.details), status=201 if opened.is_new else 200)


class SessionOnDocument(KeyedView):
    @operation(
        "sessions.start_on_document",
        "Create a session on a document, and the document when it is not there",
        body=StartOnDocumentBody,
        answer=StartedSessionShape,
        status=201,
        also=(200,),
    )
    def post(self, *, body: Values, idempotency_key: str | None, actor: Actor) -> HttpResponse:
        started = sessions.start_on_document(
            environment=body.get("environment"),
            resource_id=body["resource"],
            document_id=body["document_id"],
            access=body.get("access", "read-write"),
            title=body["title"] if "title" in body else body["document_id"],
            text=body.get("text", ""),
            summary=body.get("summary", ""),
            idempotency_key=idempotency_key,
            actor=actor,
        )
        facts = {
            "document": {"created": started.is_new_document},
            "session": {"created": started.opened.is_new},
        }
        body = session_wire(started.opened.details) | facts
        return json_response(body, status=201 if started.opened.is_new else 200)


class Session(SessionView):
    @operation("sessions.get", "Inspect a session", answer=SessionShape)
    def get(self, session_id: str, *, actor: Actor) -> Values:
        return session_wire(sessions.inspect_session(session_id, actor=actor))

    @operation("sessions.delete", "Delete a session and what it holds", answer=DeletedShape)
    def delete(self, session_id: str, *, actor: Actor) -> Values:
        return deleted_wire(sessions.delete_session(session_id, actor=actor), "session_deleted")


class SessionEnd(SessionView):
    @operation("sessions.end", "End a session", answer=SessionShape)
    def post(self, session_id: str, *, actor: Actor) -> Values:
        return session_wire(sessions.end_session(session_id, actor=actor))


class BindingRevoke(SessionView):
    @operation("bindings.revoke", "Revoke one binding of a session", answer=SessionShape)
    def post(self, session_id: str, resource_id: str, *, actor: Actor) -> Values:
        return session_wire(sessions.revoke_binding(session_id, resource_id, actor=actor))


class Events(SessionView):
    @operation(
        "session_events.create",
        "Append an event",
        body=SessionEventBody,
        answer=SessionEventShape,
        status=201,
    )
    def post(self, session_id: str, *, body: Values, actor: Actor) -> Values:
        if "events" in body:
            wanted = managed_forms.read_managed_events(body["events"])
            added = session_events.add_events(session_id, wanted, actor=actor)
            return {"data": [managed_event_wire(event) for event in added]}
        event = session_events.add_event(
            session_id, type_=body["type"], data=body.get("data", {}), actor=actor
        )
        return event_wire(event)

    @operation(
        "session_events.list", "List a session's events", query=ListEventsQuery, answer=SessionEventsShape
    )
    def get(self, session_id: str, *, query: Values, actor: Actor) -> Values:
        if managed_forms.is_asked_for(self.request.headers):
            return _managed_page(session_id, query, actor)
        for name in ("page", "order"):
            if name in query:
                raise InvalidRequest(
                    f"{name}: Only in the form of Managed Agents; here events go on `after` a number."
                )
        after, limit = query.get("after", 0), query.get("limit", session_events.EVENTS_PER_PAGE_MAX)
        if limit > session_events.EVENTS_PER_PAGE_MAX:
            raise InvalidRequest(f"limit: At most {session_events.EVENTS_PER_PAGE_MAX} events at once.")
        events = session_events.list_events(session_id, after=after, limit=limit + 1, actor=actor)
        shown = events[:limit]
        return {
            "data": [event_wire(event) for event in shown],
            "has_more": len(events) > limit,
            "next_after": shown[-1].number if shown else after,
        }


def _managed_page(session_id: str, query: Values, actor: Actor) -> Values:
    order = query.get("order", "asc")
    limit = min(query.get("limit", managed_forms.PAGE_EVENTS_MAX), managed_forms.PAGE_EVENTS_MAX)
    wanted = list_request("session_events", query | {"limit": limit}, {"session": session_id, "order": order})
    page = session_events.page_events(session_id, wanted, newest_first=order == "desc", actor=actor)
    return page.as_wire(managed_event_wire)


class EventStream(SessionView):
    @operation(
        "session_events.stream",
        "Stream a session's events as they happen",
        query=StreamEventsQuery,
        answer=SessionEventShape,
        answer_types=("text/event-stream",),
        also=(204,),
    )
    def get(self, session_id: str, *, query: Values, actor: Actor) -> HttpResponseBase:
        request = self.request
        seen = request.headers.get("Last-Event-ID", "")
        is_managed = managed_forms.is_asked_for(request.headers)
        after = int(seen) if seen.isascii() and seen.isdigit() and len(seen) <= 18 else query.get("after")
        if after is None:
            session = ground_sessions.get_session(session_id, actor=actor)
            after = managed_forms.live_after(session) if is_managed else 0
        frames = event_streams.stream_events(
            session_id,
            after=after,
            authenticate=lambda: self.authenticate(request),
            shape=managed_event_wire if is_managed else event_wire,
        )
        if frames is None:
            return no_content()  # tells a reader that comes back by itself to stop
        response = StreamingHttpResponse(frames, content_type="text/event-stream")
        response["Cache-Control"] = "no-store"
        response["X-Accel-Buffering"] = "no"
        return response

"""The REST door of the work queue of an environment. Source: contract stores 10."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from memoryhub import sessions, tenancy
from memoryhub.actors import Actor
from memoryhub.api import Door, HubView, operation
from memoryhub.errors import InvalidRequest
from memoryhub.problems import json_response
from memoryhub.strict_json import StrictJSONError, check_text
from stores import work, work_claims, work_lists
from stores.limits import RECLAIM_MS_DEFAULT, WORKER_ID_LENGTH_MAX
from stores.serializers import list_request
from stores.work_serializers import (
    ClaimShape,
    HeartbeatQuery,
    HeartbeatShape,
    ListWorkQuery,
    PollQuery,
    StopBody,
    UpdateWorkBody,
    WorkShape,
    WorkStatsShape,
    claim_wire,
    heartbeat_wire,
    stats_wire,
    work_wire,
)

type Values = dict[str, Any]


class WorkView(HubView):
    """A URL below the work of an environment: what the actor may not see answers 404 before anything else."""

    def require_visible(self, actor: Actor) -> None:
        tenancy.get_environment(self.kwargs["environment_id"], actor=actor)
        if "work_id" in self.kwargs:
            work.get_work(self.kwargs["environment_id"], self.kwargs["work_id"], actor=actor)


class SessionWork(HubView):
    def require_visible(self, actor: Actor) -> None:
        sessions.get_session(self.kwargs["session_id"], actor=actor)

    @operation("work.queue", "Queue a session for a worker", answer=WorkShape, status=201, also=(200,))
    def post(self, session_id: str, *, actor: Actor) -> HttpResponse:
        queued = work.queue_work(session_id, actor=actor)
        return json_response(work_wire(queued.work), status=201 if queued.is_new else 200)


class WorkPoll(WorkView):
    http_method_names = ["get"]  # a HEAD would take an item and tell nobody

    def _arguments(self, request: HttpRequest, door: Door) -> dict[str, Any]:
        return super()._arguments(request, door) | {"worker": _read_worker(request)}

    @operation("work.poll", "Take the next work item", query=PollQuery, answer=ClaimShape)
    def get(self, environment_id: str, *, query: Values, worker: str, actor: Actor) -> HttpResponse:
        claim = work_claims.poll_work(
            environment_id,
            block_ms=query.get("block_ms", 0),
            reclaim_older_than_ms=query.get("reclaim_older_than_ms", RECLAIM_MS_DEFAULT),
            worker=worker,
            actor=actor,
        )
        response = json_response(claim_wire(claim))
        response["Cache-Control"] = "no-store"
        return response


def _read_worker(request: HttpRequest) -> str:
    """Raises: InvalidRequest."""
    worker = request.headers.get("Anthropic-Worker-ID", "")
    try:
        check_text(worker)
    except StrictJSONError as error:
        raise InvalidRequest("Anthropic-Worker-ID: It holds a character that cannot be kept.") from error
    if len(worker) > WORKER_ID_LENGTH_MAX:
        raise InvalidRequest(f"Anthropic-Worker-ID: It has at most {WORKER_ID_LENGTH_MAX} characters.")
    return worker


class WorkItems(WorkView):
    @operation("work.list", "List work items", query=ListWorkQuery, answer=WorkShape, lists=True)
    def get(self, environment_id: str, *, query: Values, actor: Actor) -> Values:
        session_id, state = query.get("session_id"), query.get("state")
        filters = {"environment": environment_id, "session": session_id, "state": state}
        page = work_lists.list_work(
            environment_id,
            list_request("work", query, filters),
            session_id=session_id,
            state=state,
            actor=actor,
        )
        return page.as_wire(work_wire)


class WorkStats(WorkView):
    @operation("work.stats", "Count what waits", answer=WorkStatsShape)
    def get(self, environment_id: str, *, actor: Actor) -> Values:
        return stats_wire(work_lists.count_work(environment_id, actor=actor))


class WorkItem(WorkView):
    @operation("work.get", "Get a work item", answer=WorkShape)
    def get(self, environment_id: str, work_id: str, *, actor: Actor) -> Values:
        return work_wire(work.get_work(environment_id, work_id, actor=actor))

    @operation("work.update", "Change the metadata of a work item", body=UpdateWorkBody, answer=WorkShape)
    def post(self, environment_id: str, work_id: str, *, body: Values, actor: Actor) -> Values:
        return work_wire(work.update_work(environment_id, work_id, metadata=body["metadata"], actor=actor))


class WorkAck(WorkView):
    @operation("work.ack", "Acknowledge a work item that a poll gave out", answer=WorkShape)
    def post(self, environment_id: str, work_id: str, *, actor: Actor) -> Values:
        return work_wire(work.acknowledge_work(environment_id, work_id, actor=actor))


class WorkHeartbeat(WorkView):
    @operation(
        "work.heartbeat", "Extend the lease of a work item", query=HeartbeatQuery, answer=HeartbeatShape
    )
    def post(self, environment_id: str, work_id: str, *, query: Values, actor: Actor) -> Values:
        beat = work.heartbeat_work(
            environment_id,
            work_id,
            expected=query.get("expected_last_heartbeat"),
            ttl_seconds=query.get("desired_ttl_seconds"),
            actor=actor,
        )
        return heartbeat_wire(beat)


class WorkStop(WorkView):
    @operation("work.stop", "Stop a work item", body=StopBody, answer=WorkShape)
    def post(self, environment_id: str, work_id: str, *, body: Values, actor: Actor) -> Values:
        return work_wire(
            work.stop_work(environment_id, work_id, is_forced=body.get("force", False), actor=actor)
        )

"""The shapes of work items: what a request may hold, and each answer as one dict in the contract's order."""

import base64
import json
from typing import Any

from rest_framework import serializers

from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.fields import Choice, Flag, Integer, StrictSerializer, StringMap, Text
from memoryhub.ids import ENVIRONMENT
from memoryhub.ids import to_wire as id_to_wire
from memoryhub.shapes import PageQuery
from stores.limits import (
    LEASE_SECONDS_MAX,
    METADATA_KEY_LENGTH_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_LENGTH_MAX,
    POLL_BLOCK_MS_MAX,
    RECLAIM_MS_MAX,
)
from stores.models import Work
from stores.work import Heartbeat, last_heartbeat
from stores.work_claims import Claim
from stores.work_lists import WorkStats, session_of

STATES = ["queued", "starting", "active", "stopping", "stopped"]


class PollQuery(StrictSerializer):
    block_ms = Integer(
        required=False,
        min_value=1,
        max_value=POLL_BLOCK_MS_MAX,
        help_text="How long to wait for an item; left out: not at all.",
    )
    reclaim_older_than_ms = Integer(
        required=False,
        min_value=1,
        max_value=RECLAIM_MS_MAX,
        help_text="After how long an item that was given out and not acknowledged is given out again.",
    )


class HeartbeatQuery(StrictSerializer):
    expected_last_heartbeat = Text(length_max=64, required=False)
    desired_ttl_seconds = Integer(required=False, min_value=1, max_value=LEASE_SECONDS_MAX)


class StopBody(StrictSerializer):
    may_be_absent = True
    force = Flag(required=False)


class UpdateWorkBody(StrictSerializer):
    metadata = StringMap(
        pairs_max=METADATA_PAIRS_MAX,
        key_length_max=METADATA_KEY_LENGTH_MAX,
        value_length_max=METADATA_VALUE_LENGTH_MAX,
        null_removes=True,
    )


class ListWorkQuery(PageQuery):
    session_id = Text(length_max=64, required=False)
    state = Choice(choices=STATES, required=False)


class WorkDataShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["session"])
    id = serializers.CharField()


class WorkShape(serializers.Serializer[Any]):
    """`secret`: only of a poll; base64url of a JSON object with `sessions_token`."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["work"])
    environment_id = serializers.CharField()
    data = WorkDataShape()  # type: ignore[assignment]
    state = serializers.ChoiceField(choices=STATES)
    metadata = serializers.DictField(child=serializers.CharField())
    secret = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    latest_heartbeat_at = serializers.DateTimeField(allow_null=True)
    stop_requested_at = serializers.DateTimeField(allow_null=True)
    stopped_at = serializers.DateTimeField(allow_null=True)
    worker_id = serializers.CharField(allow_null=True)
    claims_count = serializers.IntegerField()
    claimed_at = serializers.DateTimeField(allow_null=True)
    ttl_seconds = serializers.IntegerField()
    lease_expires_at = serializers.DateTimeField(allow_null=True)


class ClaimShape(WorkShape):
    """The item that was taken, with its `secret`; null when there is none."""

    may_be_null = True


class HeartbeatShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["work_heartbeat"])
    last_heartbeat = serializers.CharField(allow_blank=True)
    lease_extended = serializers.BooleanField()
    state = serializers.ChoiceField(choices=STATES)
    ttl_seconds = serializers.IntegerField()


class WorkStatsShape(serializers.Serializer[Any]):
    type = serializers.ChoiceField(choices=["work_queue_stats"])
    depth = serializers.IntegerField()
    pending = serializers.IntegerField()
    oldest_queued_at = serializers.DateTimeField(allow_null=True)
    workers_polling = serializers.IntegerField()


def work_wire(work: Work) -> dict[str, Any]:
    return {
        "id": work.wire_id,
        "type": "work",
        "environment_id": id_to_wire(ENVIRONMENT, work.environment_id),
        "data": {"type": "session", "id": session_of(work)},
        "state": work.state,
        "metadata": work.metadata,
        "secret": None,
        "created_at": to_wire(work.created_at),
        "acknowledged_at": optional_to_wire(work.acknowledged_at),
        "started_at": optional_to_wire(work.started_at),
        "latest_heartbeat_at": optional_to_wire(work.latest_heartbeat_at),
        "stop_requested_at": optional_to_wire(work.stop_requested_at),
        "stopped_at": optional_to_wire(work.stopped_at),
        "worker_id": work.worker or None,
        "claims_count": work.claims_count,
        "claimed_at": optional_to_wire(work.claimed_at),
        "ttl_seconds": work.ttl_seconds,
        "lease_expires_at": optional_to_wire(work.lease_expires_at),
    }


def claim_wire(claim: Claim | None) -> dict[str, Any] | None:
    """JSON null for an empty queue: an empty object or no content breaks the SDK's poller."""
    if claim is None:
        return None
    secret = json.dumps({"sessions_token": claim.token}, separators=(",", ":")).encode()
    return work_wire(claim.work) | {"secret": base64.urlsafe_b64encode(secret).decode().rstrip("=")}


def heartbeat_wire(beat: Heartbeat) -> dict[str, Any]:
    return {
        "type": "work_heartbeat",
        "last_heartbeat": last_heartbeat(beat.work),
        "lease_extended": beat.is_extended,
        "state": beat.work.state,
        "ttl_seconds": beat.work.ttl_seconds,
    }


def stats_wire(stats: WorkStats) -> dict[str, Any]:
    return {
        "type": "work_queue_stats",
        "depth": stats.depth,
        "pending": stats.pending,
        "oldest_queued_at": optional_to_wire(stats.oldest_queued_at),
        "workers_polling": stats.polling,
    }

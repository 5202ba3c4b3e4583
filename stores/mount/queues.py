"""The queue of an environment's work, as a worker asks it. Source: stores contract, section 10."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memoryhub.client.errors import HubRefused
from memoryhub.client.transport import Transport

POLL_MS = 999
NO_HEARTBEAT = "NO_HEARTBEAT"


@dataclass(frozen=True, slots=True)
class WorkItem:
    """`token`: of this item and this claim; None when the poll brought none that can be read."""

    id: str
    session_id: str
    token: str | None


@dataclass(frozen=True, slots=True)
class Beat:
    last_heartbeat: str
    lease_extended: bool
    state: str
    ttl_seconds: float


class WorkQueue:
    """Everything raises ClientError."""

    def __init__(self, transport: Transport, environment: str, *, worker_id: str) -> None:
        self._transport = transport
        self._root = f"/v1/environments/{quote(environment, safe='')}/work"
        self._headers = {"Anthropic-Worker-ID": worker_id}

    def poll(self) -> WorkItem | None:
        """The next item, waited for about a second. One that is not acknowledged within five is given to somebody else."""
        query = {"block_ms": POLL_MS}
        item = self._transport.call("GET", f"{self._root}/poll", query=query, headers=self._headers)
        if not item:
            return None
        return WorkItem(item["id"], item["data"]["id"], read_token(item.get("secret")))

    def acknowledge(self, work_id: str) -> None:
        self._transport.call("POST", self._path(work_id, "ack"))

    def beat(self, work_id: str, expected: str) -> Beat:
        query = {"expected_last_heartbeat": expected}
        answer = self._transport.call("POST", self._path(work_id, "heartbeat"), query=query)
        return Beat(
            answer["last_heartbeat"], answer["lease_extended"], answer["state"], answer["ttl_seconds"]
        )

    def stop(self, work_id: str, *, force: bool) -> None:
        """Stopped already is as good."""
        try:
            self._transport.call("POST", self._path(work_id, "stop"), {"force": force} if force else {})
        except HubRefused as refused:
            if refused.status not in (404, 409):
                raise

    def _path(self, work_id: str, verb: str) -> str:
        return f"{self._root}/{quote(work_id, safe='')}/{verb}"


def read_token(secret: Any) -> str | None:
    """`secret`: base64url, padded or not, of a JSON object with `sessions_token`."""
    if not isinstance(secret, str):
        return None
    try:
        text = base64.urlsafe_b64decode(secret.rstrip("=") + "=" * (-len(secret.rstrip("=")) % 4))
        token = json.loads(text)["sessions_token"]
    except (ValueError, binascii.Error, KeyError, TypeError):
        return None
    return token if isinstance(token, str) and token else None

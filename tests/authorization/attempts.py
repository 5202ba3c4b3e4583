"""One request of the matrix: an operation with its seed, aimed at a plot or at ids that were never given out."""

import re
from dataclasses import dataclass, replace
from typing import Any

from memoryhub import ids
from tests.answers import Answer
from tests.authorization.plots import Plot
from tests.authorization.seeds import SEEDS, Seed
from tests.documented import DocumentedOperation
from tests.world import Caller, unused_id

# The parameters of URLs that are ids, and the prefix of each.
ID_PARAMETERS = {
    "project_id": ids.PROJECT,
    "environment_id": ids.ENVIRONMENT,
    "key_id": ids.API_KEY,
    "member_id": ids.MEMBERSHIP,
    "invitation_id": ids.INVITATION,
    "store_id": ids.MEMORY_STORE,
    "memory_id": ids.MEMORY,
    "version_id": ids.MEMORY_VERSION,
    "deployment_id": ids.DEPLOYMENT,
    "secret_id": ids.SECRET,
    "session_id": ids.SESSION,
    "request_id": ids.MODEL_REQUEST,
    "tool_call_id": ids.TOOL_CALL,
    "operation_id": ids.HTTP_OPERATION,
    "endpoint_id": ids.ENDPOINT,
    "credential_id": ids.ENDPOINT_CREDENTIAL,
    "token_id": ids.API_KEY,
    "work_id": ids.WORK,
    "partition_id": ids.EXTERNAL_PARTITION,
    "record_id": ids.EXTERNAL_RECORD,
    "item_id": ids.EXTERNAL_ITEM,
    "effect_id": ids.MEMORY_EFFECT,
    "write_id": ids.RECORD_WRITE,
    "space_id": ids.SPACE,
    "authority_id": ids.AUTHORITY,
    "call_id": ids.HOST_CALL,
    "webhook_id": ids.WEBHOOK,
    "delivery_id": ids.WEBHOOK_DELIVERY,
}
# Those that are digests, within what comes before them.
DIGEST_PARAMETERS = ("receipt_sha256", "nomination_sha256")
GHOSTS = {name: unused_id(prefix) for name, prefix in ID_PARAMETERS.items()}
GHOSTS |= dict.fromkeys(DIGEST_PARAMETERS, "f" * 64)


@dataclass(frozen=True)
class Attempt:
    operation: DocumentedOperation
    seed: Seed
    ids: dict[str, str]

    def made_by(self, call: Caller) -> Answer:
        seed = self.seed
        return call(
            self.operation.method,
            self.operation.url(self.ids | seed.path),
            seed.body,
            raw=seed.raw,
            content_type=seed.content_type,
            headers=seed.headers,
            query=seed.query,
        )

    def aimed_at(self, **path_ids: str) -> "Attempt":
        return replace(self, ids=self.ids | path_ids)

    def sending(self, **changes: Any) -> "Attempt":
        return replace(self, seed=replace(self.seed, **changes))


def attempt_on(operation: DocumentedOperation, plot: Plot) -> Attempt:
    """A valid request of the plot's owner."""
    assert operation.name in SEEDS, f"UNSEEDED: give {operation.name} its line in seeds.py"
    seed = SEEDS[operation.name](plot)
    return Attempt(operation, seed, plot.path_ids | seed.ids)


def id_parameters(operation: DocumentedOperation) -> list[str]:
    """In the order of the URL: what comes later lies inside what comes before."""
    return [name for name in re.findall(r"{(\w+)}", operation.path) if name in GHOSTS]


def without_request_id(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """All of an answer that must not depend on whether a foreign thing exists."""
    headers = {name: value for name, value in answer.headers.items() if name != "request-id"}
    return answer.status, headers, answer.content.replace(answer.headers["request-id"].encode(), b"")

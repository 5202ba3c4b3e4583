"""What must hold of the rows, whatever happened to the hub. Rooms register their own invariants at start.

Each is asked of the whole database; an answer is the ids of the rows that break it, never their content.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.db import connection
from django.db.transaction import atomic

from memoryhub import audit, ids
from memoryhub.digests import is_sha256_hex
from memoryhub.models import AuditEvent, Project
from memoryhub.snapshots import allow_seconds

STATEMENT_SECONDS_MAX = 600
FAULTS_SHOWN_MAX = 20
QUIET_SECONDS = 120  # a count may lag behind this much writing

type FindFaults = Callable[[], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Invariant:
    """`sentence` says what must hold; `find` names the rows of which it does not."""

    name: str
    sentence: str
    find: FindFaults


@dataclass(frozen=True, slots=True)
class Finding:
    """What breaks an invariant: the first FAULTS_SHOWN_MAX faults, and whether there are more."""

    invariant: Invariant
    faults: list[str]
    has_more: bool
    seconds: float


_registered: list[Invariant] = []


def register_invariants(invariants: Iterable[Invariant]) -> None:
    _registered.extend(invariants)


def all_invariants() -> list[Invariant]:
    return [*GROUND_INVARIANTS, *_registered]


def check_all(*, also: Iterable[Invariant] = ()) -> Iterator[Finding]:
    """Seal what waits, then ask one invariant after the other."""
    audit.seal_all()
    for invariant in (*all_invariants(), *also):
        yield check_invariant(invariant)


def check_invariant(invariant: Invariant) -> Finding:
    began = time.monotonic()
    with atomic():
        allow_seconds(STATEMENT_SECONDS_MAX)
        found = list(islice(invariant.find(), FAULTS_SHOWN_MAX + 1))
    shown, has_more = found[:FAULTS_SHOWN_MAX], len(found) > FAULTS_SHOWN_MAX
    return Finding(invariant, shown, has_more, time.monotonic() - began)


def rows_of(prefix: str, query: str) -> FindFaults:
    """`query` gives the ids of faulty rows; they are named in their wire form."""

    def find() -> Iterator[str]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS faults LIMIT {FAULTS_SHOWN_MAX + 1}")  # noqa: S608 - constants
            for (key,) in cursor:
                yield ids.to_wire(prefix, key)

    return find


# The audit chain.


def find_chain_faults() -> Iterator[str]:
    for project in Project.objects.order_by("id"):
        for fault in audit.find_chain_faults(project.id):
            yield f"{project.wire_id} row {fault.chain_index}: {fault.reason}"


def expect_head(text: str) -> Invariant:
    """An invariant of one run: some project's chain holds `INDEX:SHA256`, published earlier. Raises: ValueError."""
    index, _, sha256 = text.partition(":")
    if not is_sha256_hex(sha256):
        raise ValueError(text)
    chain_index = int(index)

    def find() -> Iterator[str]:
        if not AuditEvent.objects.filter(chain_index=chain_index, chain_sha256=sha256).exists():
            yield f"no chain holds row {chain_index} with this seal: it was cut, or written anew"

    return Invariant("audit_head", f"A chain holds the published head of row {chain_index}.", find)


# The counts, and who owns what.

_STALE_COUNTS = f"""
SELECT u.project_id FROM memoryhub_usage u
 WHERE u.counted_at > (SELECT coalesce(max(created_at), '-infinity') FROM memoryhub_auditevent a
                        WHERE a.project_id = u.project_id) + interval '{QUIET_SECONDS} seconds'
   AND (u.memory_stores, u.memories, u.memory_versions, u.version_bytes) IS DISTINCT FROM (
       (SELECT count(*) FROM stores_memorystore WHERE project_id = u.project_id),
       (SELECT count(*) FROM stores_memory WHERE project_id = u.project_id),
       (SELECT count(*) FROM stores_memoryversion WHERE project_id = u.project_id),
       (SELECT coalesce(sum(content_size_bytes), 0) FROM stores_memoryversion WHERE project_id = u.project_id))
"""  # noqa: S608 - constants
_FOREIGN_KEYS = """
SELECT k.id FROM memoryhub_apikey k LEFT JOIN memoryhub_environment e ON e.id = k.environment_id
 WHERE k.environment_id IS NOT NULL AND e.project_id IS DISTINCT FROM k.project_id
"""
_OWNERLESS = """
SELECT p.id FROM memoryhub_project p
 WHERE NOT EXISTS (SELECT 1 FROM memoryhub_membership m WHERE m.project_id = p.id AND m.role = 'owner')
"""
_FOREIGN_JOBS = """
SELECT j.id FROM memoryhub_job j LEFT JOIN memoryhub_environment e ON e.id = j.environment_id
 WHERE e.project_id IS DISTINCT FROM j.project_id
"""
# A run may have begun its file, and left it when it died; who has ended has all of it, or nothing.
_JOB_FILES = """
SELECT j.id FROM memoryhub_job j
  LEFT JOIN LATERAL (SELECT sum(octet_length(content)) AS bytes, count(*) AS pieces, max(position) + 1 AS ahead
                       FROM memoryhub_jobchunk c WHERE c.job_id = j.id AND c.project_id = j.project_id) AS file ON true
 WHERE (j.finished_at IS NOT NULL OR j.file_bytes IS NOT NULL)
   AND (j.file_bytes IS DISTINCT FROM file.bytes OR file.pieces IS DISTINCT FROM coalesce(file.ahead, 0))
"""

_EVENTS = """
SELECT s.id FROM memoryhub_session s
  LEFT JOIN LATERAL (SELECT count(*) AS events, coalesce(max(number), 0) AS last FROM memoryhub_sessionevent e
                      WHERE e.session_id = s.id) AS log ON true
 WHERE (log.events, log.last) IS DISTINCT FROM (s.events_count, s.events_count)
"""

GROUND_INVARIANTS: tuple[Invariant, ...] = (
    Invariant("audit_chain", "Every sealed audit row is what was sealed.", find_chain_faults),
    Invariant(
        "api_key_tenancy", "A key's environment is of its project.", rows_of(ids.API_KEY, _FOREIGN_KEYS)
    ),
    Invariant("project_owner", "A project has an owner.", rows_of(ids.PROJECT, _OWNERLESS)),
    Invariant(
        "usage_counts",
        "What a project at rest was counted to hold is what it holds.",
        rows_of(ids.PROJECT, _STALE_COUNTS),
    ),
    Invariant(
        "session_events",
        "A session's events are numbered from 1 to their count.",
        rows_of(ids.SESSION, _EVENTS),
    ),
    Invariant("job_tenancy", "A job's environment is of its project.", rows_of(ids.JOB, _FOREIGN_JOBS)),
    Invariant("job_file", "A job has the whole of its file, or none of it.", rows_of(ids.JOB, _JOB_FILES)),
)

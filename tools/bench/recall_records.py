"""Records for a recall benchmark: saved one by one as an application saves them, or in bulk for a large scope."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.transaction import atomic

from memoryhub import ids, ranking
from memoryhub.actors import Actor, RecordScope
from memoryhub.ranking import QUESTION_LENGTH_MAX
from providers import record_search, record_vectors, records
from providers.contract import Scope, scope_of
from providers.limits import RECALL_HITS_MAX
from providers.record_access import WantedScope
from providers.record_models import RecordScope as ScopeRow
from providers.record_names import record_id_of, thread_id_of
from providers.record_scopes import ensure_scope, tenant_of
from tools.bench.recall_data import Conversation, Turn

BATCH_ROWS = 2_000
MINILM = "providers.embedding.minilm.MiniLM"
_BINDINGS = (
    "INSERT INTO providers_recordbinding (project_id, scope_id, record_id) SELECT %s, %s, unnest(%s::text[])"
)
_RECORDS = """
INSERT INTO providers_memoryrecord (id, project_id, scope_id, record_id, version, key_sha256, digest, text, origin,
       namespace, binding_id)
SELECT id, %s, %s, record_id, '1', '', '', text, 'host', %s, record_id
  FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS given (id, record_id, text)
"""
_INDEX = """
INSERT INTO providers_recordindex
       (record_id, project_id, scope_id, thread, position, author, is_question, terms, length)
SELECT id, %s, %s, thread, position, author, asks AND length <= %s, terms, length
  FROM (SELECT id, thread, position, author, asks, to_tsvector('english', words) AS terms
          FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::text[], %s::bool[], %s::text[])
               AS given (id, thread, position, author, asks, words)) AS made
 CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(positions)), 0) AS length FROM unnest(terms)) AS counted
"""


@dataclass(slots=True)
class RecallDesk:
    """Scopes by the names of their conversations; names of turns by the ids of their records."""

    actor: Actor
    names: dict[str, str] = field(default_factory=dict)
    held: dict[str, ScopeRow] = field(default_factory=dict)

    def _of(self, name: str) -> RecordScope:
        return RecordScope("bench", "api", name)

    def scope(self, name: str) -> Scope:
        of, environment_id = self._of(name), self.actor.environment_id
        assert environment_id is not None, "a key of the bench is of one environment"
        return Scope(
            tenant_of(self.actor.project_id, environment_id), of.agent, scope_of(of.issuer, of.subject)
        )

    def recall(self, name: str, query: str) -> list[str]:
        """The names of the turns that are found, through the whole product."""
        wanted = WantedScope(None, self._of(name))
        found = records.search_records(wanted, query, k=RECALL_HITS_MAX, actor=self.actor)
        return [self.names[hit.id] for hit in found.hits]

    def rank(self, name: str, query: str) -> None:
        """The ranking alone, in a scope that was looked up before."""
        held = self.held.get(name) or ensure_scope(self.scope(name))
        assert held is not None
        self.held[name] = held
        vector = record_vectors.find_query_vector(query)
        record_search.rank_records(held, query, limit=RECALL_HITS_MAX, vector=vector)

    @contextmanager
    def embedded(self) -> Iterator[None]:
        """Everything that was saved so far has its vector, and recalls use them."""
        settings.EMBEDDING_BACKEND = MINILM
        try:
            call_command("embed_records")
            yield
        finally:
            settings.EMBEDDING_BACKEND = None

    def worked_seconds(self) -> float:
        """Processor time of this process and of its database's, so far. Source: proc(5), schedstat."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()[0]
        backend = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return backend / 1e9 + time.process_time()

    def save_all(self, conversation: Conversation) -> None:
        wanted = WantedScope(None, self._of(conversation.name))
        for turn in conversation.turns:
            saved = records.save_record(wanted, _fields(turn), key=turn.name, actor=self.actor)
            assert saved.ref is not None
            self.names[saved.ref.id] = turn.name

    @atomic
    def fill(self, conversation: Conversation) -> None:
        """Past the verbs, and counted at the end."""
        held = ensure_scope(self.scope(conversation.name))
        assert held is not None
        places: dict[str, int] = {}
        for start in range(0, len(conversation.turns), BATCH_ROWS):
            self._fill_batch(held, conversation, conversation.turns[start : start + BATCH_ROWS], places)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO providers_recordstatistics (scope_id, project_id, records, mean_length) VALUES (%s, %s, 0, 1)",
                [held.id, held.project_id],
            )
        record_search.count_records(held.id)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE providers_recordindex, providers_memoryrecord, providers_recordterm")

    def _fill_batch(
        self, held: ScopeRow, conversation: Conversation, turns: list[Turn], places: dict[str, int]
    ) -> None:
        scope = self.scope(conversation.name)
        keys = [ids.new_id() for _ in turns]
        names = [record_id_of(scope, turn.name) for turn in turns]
        self.names |= dict(zip(names, (turn.name for turn in turns), strict=True))
        rows = [_index_row(held, key, turn, places) for key, turn in zip(keys, turns, strict=True)]
        columns = [list(column) for column in zip(*rows, strict=True)]
        with connection.cursor() as cursor:
            cursor.execute(_BINDINGS, [held.project_id, held.id, names])
            texts = [turn.text for turn in turns]
            cursor.execute(_RECORDS, [held.project_id, held.id, held.namespace, keys, names, texts])
            cursor.execute(_INDEX, [held.project_id, held.id, QUESTION_LENGTH_MAX, *columns])


def _fields(turn: Turn) -> dict[str, Any]:
    return {
        "text": turn.text,
        "thread": turn.thread,
        "author": turn.author or None,
        "occurred_at": turn.occurred_at,
    }


def _index_row(held: ScopeRow, key: UUID, turn: Turn, places: dict[str, int]) -> tuple[Any, ...]:
    place = places[turn.thread] = places.get(turn.thread, -1) + 1
    words = ranking.words(record_search.indexed_text(turn.text, turn.author, (), turn.occurred_at))
    thread, author = thread_id_of(held.id, turn.thread), ranking.words(turn.author)
    return key, thread, place, author, ranking.asks(turn.text), words

"""Hindsight, self-hosted: a bank a scope, a document a record. What it recalls are facts that a model drew from the records.

Source: contract of the memory provider, section 9.2 (client 1.1.0). The same document id replaces, so a write that is sent again
does nothing twice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.adapters.hits import Found, list_of, metadata_of, read_found
from providers.adapters.options import is_window, one_of, read_target
from providers.adapters.remote import RemoteMemory
from providers.adapters.service import Request, Service, path_of
from providers.contract import EffectClass, MemoryRecord
from providers.remote_models import RemoteRecord
from providers.remote_records import Place

WINDOW_MS_DEFAULT = 600_000
TOKENS_MAX = 4_096
TAG = "memoryhub"  # what others put into a bank is not recalled


def hindsight_memory(name: str, options: Mapping[str, Any]) -> "HindsightMemory":
    """`url`, `secret` unless it asks for none, `budget` (low or mid), `dedup_window_ms`. Raises: ConfigError."""
    more = {"budget": one_of("low", "mid"), "dedup_window_ms": is_window}
    target = read_target(name, options, needs_secret=False, more=more)
    return HindsightMemory(
        Service(target, "Bearer"),
        options.get("budget", "low"),
        options.get("dedup_window_ms", WINDOW_MS_DEFAULT),
    )


class HindsightMemory(RemoteMemory):
    write_effect: EffectClass = "idempotent"

    def __init__(self, service: Service, budget: str, dedup_window_ms: int) -> None:
        super().__init__(service)
        self.budget = budget
        self.dedup_window_ms = dedup_window_ms

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str:
        item = {
            "content": record.text,
            "document_id": row.name,
            "metadata": metadata_of(row),
            "tags": [TAG],
            "update_mode": "replace",
        }
        body = {"items": [item], "async": False}
        await self.service.call(place.scope, Request("POST", _bank(home) + "/memories", body, writes=True))
        return row.name

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        body = {
            "query": query,
            "max_tokens": TOKENS_MAX,
            "budget": self.budget,
            "tags": [TAG],
            "tags_match": "all_strict",
        }
        answer = await self.service.call(place.scope, Request("POST", _bank(home) + "/memories/recall", body))
        facts = list_of(answer, "results")
        return [
            read_found(fact["document_id"], fact.get("text"), metadata=fact.get("metadata"))
            for fact in facts
            if fact.get("document_id") is not None  # of no document: drawn from several
        ]

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        path = _bank(home) + "/documents" + path_of(external_id)
        await self.service.call(place.scope, Request("DELETE", path, writes=True))


def _bank(home: str) -> str:
    return "/v1/default/banks" + path_of(home)

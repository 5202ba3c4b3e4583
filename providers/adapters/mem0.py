"""mem0, the platform: a user id a scope. It takes a record and indexes it later; its ids are learned when it shows them.

Source: contract of the memory provider, section 9.3 (client 2.2.1). Its delete knows no scope: only what our table has is deleted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.adapters.hits import Found, list_of, metadata_of, read_found, text_of
from providers.adapters.options import read_target
from providers.adapters.remote import FindsAgain
from providers.adapters.service import Request, Service, path_of
from providers.contract import MemoryRecord
from providers.remote_models import RemoteRecord
from providers.remote_records import Place

URL = "https://api.mem0.ai"
PAGE_SIZE, PAGES_MAX = 100, 10
LAG_MS_DEFAULT, LAG_MS_MAX = 3_000, 8_000


def mem0_memory(name: str, options: Mapping[str, Any]) -> "Mem0Memory":
    """`url`, `secret`, `lag_ms`: how long it may take to index. Raises: ConfigError."""
    target = read_target(name, options, url=URL, more={"lag_ms": _is_lag})
    return Mem0Memory(Service(target, "Token"), options.get("lag_ms", LAG_MS_DEFAULT) / 1_000)


def _is_lag(value: object) -> bool:
    return type(value) is int and 0 <= value <= LAG_MS_MAX


class Mem0Memory(FindsAgain):
    def __init__(self, service: Service, lag_seconds: float) -> None:
        super().__init__(service)
        self.lag_seconds = lag_seconds

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str | None:
        body = {
            "messages": [{"role": "user", "content": record.text}],
            "filters": _filters(home),
            "infer": False,
            "metadata": metadata_of(row),
        }
        answer = await self.service.call(place.scope, Request("POST", "/v3/memories/add/", body, writes=True))
        stored = answer.get("results") if isinstance(answer, dict) else answer
        return text_of(stored[0], "id") if isinstance(stored, list) and len(stored) == 1 else None

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        body = {"query": query, "filters": _filters(home), "top_k": count, "rerank": False}
        answer = await self.service.call(place.scope, Request("POST", "/v3/memories/search/", body))
        return [
            read_found(one.get("id"), one.get("memory"), score=one.get("score"), metadata=one.get("metadata"))
            for one in list_of(answer, "results")
        ]

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        path = "/v1/memories" + path_of(external_id) + "/"
        await self.service.call(place.scope, Request("DELETE", path, writes=True))

    async def _find_copies(self, place: Place, home: str, row: RemoteRecord) -> list[str] | None:
        copies: list[str] = []
        for page in range(1, PAGES_MAX + 1):
            path = f"/v3/memories/?page={page}&page_size={PAGE_SIZE}"
            answer = await self.service.call(place.scope, Request("POST", path, {"filters": _filters(home)}))
            for one in list_of(answer, "results"):
                external_id = text_of(one, "id")
                if external_id is not None and text_of(one.get("metadata"), "mh_key") == row.name:
                    copies.append(external_id)
            if not isinstance(answer, dict) or not answer.get("next"):
                return copies
        return copies or None  # there is more than was read


def _filters(home: str) -> dict[str, str]:
    return {"user_id": home}

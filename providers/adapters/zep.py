"""Zep: a graph a scope, an episode a record. It takes writes and does them later.

Source: contract of the memory provider, section 9.6 (API v4). Episodes are searched, not facts: those are drawn from episodes and bear
no name of ours. Its keys are believed only as long as the operator says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.adapters.hits import Found, list_of, metadata_of, read_found, text_of
from providers.adapters.options import is_window, read_target
from providers.adapters.remote import RemoteMemory
from providers.adapters.service import Request, Service, malformed, path_of
from providers.contract import MemoryRecord
from providers.remote_models import RemoteRecord
from providers.remote_records import Place

URL = "https://api.getzep.com/api/v4"


def zep_memory(name: str, options: Mapping[str, Any]) -> "ZepMemory":
    """`url`, `secret`, `dedup_window_ms`: how long Zep says that it keeps keys; without it writes are unguarded. Raises: ConfigError."""
    target = read_target(name, options, url=URL, more={"dedup_window_ms": is_window})
    return ZepMemory(Service(target, "Api-Key"), options.get("dedup_window_ms"))


class ZepMemory(RemoteMemory):
    answers_when_done = False

    def __init__(self, service: Service, dedup_window_ms: int | None) -> None:
        super().__init__(service)
        self.dedup_window_ms = dedup_window_ms
        self.write_effect = "unguarded" if dedup_window_ms is None else "idempotent"

    async def _open_home(self, place: Place) -> str:
        key = {"Idempotency-Key": f"graph-{place.identity}"}
        body = {"name": place.identity}
        made = await self.service.call(place.scope, Request("POST", "/graphs", body, key, writes=True))
        graph = text_of(made, "uuid")
        if graph is None:
            raise malformed(writes=True)
        return graph

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str | None:
        body = {"data": record.text, "type": "text", "metadata": metadata_of(row)}
        request = Request("POST", _episodes(home), body, {"Idempotency-Key": f"save-{row.name}"}, writes=True)
        return text_of(await self.service.call(place.scope, request), "uuid", "episode_uuid")

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        path = "/graphs" + path_of(home) + f"/search/episodes?page_size={count}"
        answer = await self.service.call(place.scope, Request("POST", path, {"query": query}))
        return [
            read_found(
                one.get("uuid"),
                one.get("content", one.get("data")),
                score=one.get("score"),
                metadata=one.get("metadata"),
            )
            for one in list_of(answer, "episodes", "data", "results")
        ]

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        path = _episodes(home) + path_of(external_id)
        key = {"Idempotency-Key": f"forget-{row.name}"}
        await self.service.call(place.scope, Request("DELETE", path, headers=key, writes=True))


def _episodes(graph: str) -> str:
    return "/graphs" + path_of(graph, "episodes")

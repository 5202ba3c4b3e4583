"""Honcho: a workspace a tenant; what the agent's peer concluded of the scope's peer is a record.

Source: contract of the memory provider, section 9.5 (client 2.7.0). It has no metadata: bindings stand in our table alone, and what Honcho
concluded by itself is not in it, so nobody sees it. Its delete knows no scope: only what our table has is deleted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.adapters.hits import Found, list_of, read_found, text_of
from providers.adapters.options import read_target
from providers.adapters.remote import RemoteMemory
from providers.adapters.service import Request, Service, malformed, path_of
from providers.contract import MemoryRecord, Scope
from providers.remote_models import RemoteRecord
from providers.remote_records import Place, identity_of

URL = "https://api.honcho.dev"


def honcho_memory(name: str, options: Mapping[str, Any]) -> "HonchoMemory":
    """`url`, `secret`. Raises: ConfigError."""
    return HonchoMemory(Service(read_target(name, options, url=URL), "Bearer"))


class HonchoMemory(RemoteMemory):
    """Unguarded: it has no keys, and nothing by which what was stored could be told from what it concluded."""

    async def _open_home(self, place: Place) -> str:
        """Workspace and peers are made if they are not there, and found if they are."""
        workspace = identity_of(place.scope.tenant_id)
        await self._ensure(place.scope, "/v3/workspaces", workspace)
        for peer in _peers(place).values():
            await self._ensure(place.scope, "/v3/workspaces" + path_of(workspace, "peers"), peer)
        return workspace

    async def _ensure(self, scope: Scope, path: str, identity: str) -> None:
        # May be repeated: under the same id it is the same one.
        await self.service.call(scope, Request("POST", path, {"id": identity}))

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str:
        body = {"conclusions": [{"content": record.text, **_peers(place)}]}
        answer = await self.service.call(place.scope, Request("POST", _conclusions(home), body, writes=True))
        made = answer.get("conclusions", answer.get("items")) if isinstance(answer, dict) else answer
        stored = text_of(made[0], "id") if isinstance(made, list) and len(made) == 1 else None
        if stored is None:
            raise malformed(writes=True)
        return stored

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        body = {"query": query, "top_k": count, "filters": _peers(place)}
        answer = await self.service.call(place.scope, Request("POST", _conclusions(home) + "/query", body))
        return [
            read_found(one.get("id"), one.get("content")) for one in list_of(answer, "conclusions", "items")
        ]

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        path = _conclusions(home) + path_of(external_id)
        await self.service.call(place.scope, Request("DELETE", path, writes=True))


def _conclusions(workspace: str) -> str:
    return "/v3/workspaces" + path_of(workspace, "conclusions")


def _peers(place: Place) -> dict[str, str]:
    agent = identity_of(place.scope.tenant_id, place.scope.agent)
    return {"observer_id": agent, "observed_id": place.identity}

"""Letta: an archive a scope, a passage a record.

Source: contract of the memory provider, section 9.4 (client 1.12.1). Its search goes through the whole organization unless it is told
an archive: no request is made without one.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from providers.adapters.hits import Found, list_of, metadata_of, read_found, text_of
from providers.adapters.options import is_word, read_target
from providers.adapters.remote import FindsAgain
from providers.adapters.service import Request, Service, malformed, path_of
from providers.contract import MemoryRecord
from providers.remote_models import RemoteRecord
from providers.remote_records import Place

URL = "https://api.letta.com"


def letta_memory(name: str, options: Mapping[str, Any]) -> "LettaMemory":
    """`url`, `secret`, `embedding`: the model's handle, for archives that are made. Raises: ConfigError."""
    target = read_target(name, options, url=URL, more={"embedding": is_word})
    return LettaMemory(Service(target, "Bearer"), options.get("embedding"))


class LettaMemory(FindsAgain):
    def __init__(self, service: Service, embedding: str | None) -> None:
        super().__init__(service)
        self.embedding = embedding

    async def _open_home(self, place: Place) -> str:
        """The archive of this name, made if there is none: a reply that was lost leaves one that is found again."""
        listing = "/v1/archives/?" + urlencode({"name": place.identity})
        for one in list_of(await self.service.call(place.scope, Request("GET", listing)), "archives"):
            archive = text_of(one, "id")
            if archive is not None and one.get("name") == place.identity:
                return archive
        body = {"name": place.identity} | ({"embedding": self.embedding} if self.embedding else {})
        made = await self.service.call(place.scope, Request("POST", "/v1/archives/", body, writes=True))
        archive = text_of(made, "id")
        if archive is None:
            raise malformed(writes=True)
        return archive

    async def _store(self, place: Place, home: str, row: RemoteRecord, record: MemoryRecord) -> str:
        body = {"text": record.text, "metadata": metadata_of(row), "tags": [_tag(row)]}
        path = "/v1/archives" + path_of(home, "passages")
        made = await self.service.call(place.scope, Request("POST", path, body, writes=True))
        stored = text_of(made[0] if isinstance(made, list) and len(made) == 1 else made, "id")
        if stored is None:
            raise malformed(writes=True)
        return stored

    async def _search(self, place: Place, home: str, query: str, count: int) -> Sequence[Found]:
        found = await self._find(place, search_body(home, query=query, limit=count))
        return [
            read_found(
                one.get("id"),
                one.get("text"),
                score=hit.get("score"),
                metadata=one.get("metadata") or hit.get("metadata"),
            )
            for hit, one in found
        ]

    async def _delete(self, place: Place, home: str, external_id: str, row: RemoteRecord) -> None:
        path = "/v1/archives" + path_of(home, "passages", external_id)
        await self.service.call(place.scope, Request("DELETE", path, writes=True))

    async def _find_copies(self, place: Place, home: str, row: RemoteRecord) -> list[str] | None:
        body = search_body(home, limit=50, tags=[_tag(row)], tag_match_mode="all")
        found = await self._find(place, body)
        named = [text_of(one, "id") for _, one in found if _is_named(one, row)]
        return [one for one in named if one is not None]

    async def _find(self, place: Place, body: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(hit, its passage)."""
        answer = await self.service.call(place.scope, Request("POST", "/v1/passages/search", body))
        hits = list_of(answer, "results")
        if not all(isinstance(hit.get("passage"), dict) for hit in hits):
            raise malformed()
        return [(hit, hit["passage"]) for hit in hits]


def search_body(archive_id: str, **more: Any) -> dict[str, Any]:
    """Raises: ValueError without an archive. An agent would win over it, so none can be said."""
    if not archive_id or {"archive_id", "agent_id"} & more.keys():
        raise ValueError("A search names one archive and no agent.")
    return {"archive_id": archive_id, **more}


def _tag(row: RemoteRecord) -> str:
    return f"key:{row.name}"


def _is_named(passage: dict[str, Any], row: RemoteRecord) -> bool:
    tags = passage.get("tags")
    if isinstance(tags, list):
        return _tag(row) in tags
    return text_of(passage.get("metadata"), "mh_key") == row.name

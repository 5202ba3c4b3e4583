"""Records: what an agent remembers of a principal. Every write is done once under its key, so it is safe to repeat."""

from collections.abc import Iterator
from typing import Any, Literal, TypedDict, cast
from urllib.parse import quote

from memoryhub.client.transport import Transport
from memoryhub.client.wire import (
    MemoryEffect,
    Recalled,
    RecordRef,
    RecordScope,
    RecordWrite,
    ScopeViolation,
)

ROOT = "/v1/records"


class RefusedRecord(TypedDict):
    """`where`: file and place in the source."""

    where: str
    reason: str


class RecordImport(TypedDict):
    """What an import did, or of a dry run would do. `stopped`: why it ended early, with `left` not tried; the same again goes on.

    `refusals`: the first of them; `has_more` says whether there are others.
    """

    type: Literal["record_import"]
    format: str
    dry_run: bool
    added: int
    present: int
    forgotten: int
    uncertain: int
    left_out: int
    refused: int
    left: int
    stopped: str | None
    refusals: list[RefusedRecord]
    has_more: bool


def record_scope(agent: str, issuer: str, subject: str) -> RecordScope:
    """The records of an agent about one principal, whom the issuer names."""
    return {"agent": agent, "principal": {"issuer": issuer, "subject": subject}}


class Records:
    """`scope` None: that of an agent's key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def save(
        self,
        text: str,
        *,
        key: str,
        scope: RecordScope | None = None,
        thread: str | None = None,
        author: str | None = None,
        title: str | None = None,
        tags: list[str] | None = None,
        occurred_at: str | None = None,
        environment: str | None = None,
    ) -> RecordRef:
        """`{"status": "uncertain"}` when nobody knows yet whether it was saved: save it again later, under the same key.
        `{"status": "pending", …}`, with a session's token only: a person decides. Such a token names no scope, thread or author.
        """
        body = {"text": text, "thread": thread, "author": author, "title": title, "tags": tags}
        body |= {"occurred_at": occurred_at}
        return cast(RecordRef, self._write("save", body, key, scope, environment))

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        scope: RecordScope | None = None,
        environment: str | None = None,
    ) -> Recalled:
        """Best first."""
        body = _given({"query": query, "k": k, "scope": scope, "environment": environment})
        return cast(Recalled, self._transport.call("POST", f"{ROOT}/search", body, repeatable=True))

    def forget(
        self, record_id: str, *, key: str, scope: RecordScope | None = None, environment: str | None = None
    ) -> bool:
        """Whether it is done for certain; if not, forget it again later, under the same key: a person may decide on it meanwhile."""
        return self._write("forget", {"id": record_id}, key, scope, environment) is None

    def effects(self, *, state: str | None = None, environment: str | None = None) -> Iterator[MemoryEffect]:
        """Newest first. `state` unknown: what waits for a person."""
        return self._transport.pages(f"{ROOT}/effects", query={"state": state, "environment": environment})

    def resolve(self, effect_id: str, decision: Literal["done", "not_done"]) -> MemoryEffect:
        """`not_done` sends it again, at the risk that it is done twice."""
        path = f"{ROOT}/effects/{quote(effect_id, safe='')}/resolve"
        return cast(MemoryEffect, self._transport.call("POST", path, {"as": decision}))

    def violations(self, *, environment: str | None = None) -> Iterator[ScopeViolation]:
        """Newest first: hits that a provider gave and that were of another scope."""
        return self._transport.pages(f"{ROOT}/violations", query={"environment": environment})

    def export(self, scope: RecordScope, *, environment: str | None = None) -> Iterator[str]:
        """The lines of an export of the scope, each without its line feed: joined by line feeds, with one at the end, they are
        what `import_` of this or another hub takes. Raises: HubRefused with `records_elsewhere` where another service keeps them.
        """
        return self._transport.lines(f"{ROOT}/export", query=_named(scope, environment))

    def import_(
        self,
        content: bytes,
        scope: RecordScope,
        *,
        format: str = "memoryhub",
        dry_run: bool = False,
        user: str | None = None,
        environment: str | None = None,
    ) -> RecordImport:
        """A file, or a ZIP of a folder. The same again adds nothing; one that was `stopped` goes on so. `user`: of several in a file of mem0."""
        query = _named(scope, environment) | {"format": format, "user": user}
        query |= {"dry_run": "true"} if dry_run else {}
        headers = {"Content-Type": "application/octet-stream"}
        path = f"{ROOT}/import"
        done = self._transport.call("POST", path, content, query=query, headers=headers, repeatable=True)
        return cast(RecordImport, done)

    def _write(
        self, verb: str, body: dict[str, Any], key: str, scope: RecordScope | None, environment: str | None
    ) -> Any:
        given = _given(body | {"scope": scope, "environment": environment})
        headers = {"Idempotency-Key": key}
        return self._transport.call("POST", f"{ROOT}/{verb}", given, headers=headers, repeatable=True)

    def writes(self, *, environment: str | None = None, state: str | None = None) -> Iterator[RecordWrite]:
        """What models want to remember or forget, newest first. `state`: waiting, approved, rejected or expired."""
        query = {"environment": environment, "state": state}
        return self._transport.pages(f"{ROOT}/writes", query=query)

    def approve(self, write_id: str) -> RecordWrite:
        """Do it. Raises: HubRefused with `write_decided` when it was decided otherwise, `write_not_allowed` when its memory may not be written any more."""
        return self._decide(write_id, "approve")

    def reject(self, write_id: str) -> RecordWrite:
        """Nothing is written, and its text is kept no more."""
        return self._decide(write_id, "reject")

    def _decide(self, write_id: str, word: str) -> RecordWrite:
        path = f"{ROOT}/writes/{quote(write_id, safe='')}/{word}"
        return cast(RecordWrite, self._transport.call("POST", path, repeatable=True))


def _named(scope: RecordScope, environment: str | None) -> dict[str, Any]:
    return {"agent": scope["agent"], **scope["principal"], "environment": environment}


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}

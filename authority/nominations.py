"""Nominations: content-addressed proposals that an agent's records become reviewed ones. Pure."""

from dataclasses import dataclass, field
from typing import Any

from authority.canonical import has_exact_keys, is_code, sealed_text, text_of
from authority.graph import Head, Record, find_head
from authority.limits import PURPOSE_LENGTH_MAX
from authority.snapshots import Closure, parse_closure
from memoryhub.errors import HubError

_NOMINATION = frozenset(
    {"closure", "destinationPurpose", "nominationId", "nominationSha256", "source", "status", "v"}
)
_SOURCE = frozenset({"authorityId", "bindingSha256", "head", "lane", "v"})


@dataclass(frozen=True, slots=True)
class Nomination:
    """`route`: the contract's `nominationId`, the name of a route. The proposal's own identity is `sha256`."""

    route: str
    destination_purpose: str
    authority_id: str
    closure: Closure = field(repr=False)
    sha256: str
    text: bytes = field(repr=False)

    @property
    def records(self) -> tuple[Record, ...]:
        return self.closure.records

    @property
    def source_head(self) -> Head:
        return self.closure.head


def make_nomination(
    closure: Closure, *, route: str, destination_purpose: str, authority_id: str
) -> Nomination:
    """`authority_id`: of the working memory that gave the closure."""
    source = {
        "authorityId": authority_id,
        "bindingSha256": closure.binding.sha256,
        "head": closure.head.as_wire(),
        "lane": "working",
        "v": 1,
    }
    fields = {
        "closure": closure.text,
        "destinationPurpose": text_of(destination_purpose),
        "nominationId": text_of(route),
        "source": text_of(source),
        "status": text_of("prepared"),
        "v": b"1",
    }
    sha256, text = sealed_text(fields, "nominationSha256")
    return Nomination(route, destination_purpose, authority_id, closure, sha256, text)


def parse_nomination(value: Any) -> Nomination | None:
    """The nomination, or None for whatever is not exactly one."""
    if not has_exact_keys(value, _NOMINATION) or value["status"] != "prepared":
        return None
    if not is_code(value["nominationId"]) or not is_code(
        value["destinationPurpose"], length_max=PURPOSE_LENGTH_MAX
    ):
        return None
    try:
        closure = parse_closure(value["closure"])
    except HubError:
        return None
    if closure.binding.kind != "working" or not _is_source_of(value["source"], closure):
        return None
    nomination = make_nomination(
        closure,
        route=value["nominationId"],
        destination_purpose=value["destinationPurpose"],
        authority_id=value["source"]["authorityId"],
    )
    return nomination if nomination.sha256 == value["nominationSha256"] else None


def _is_source_of(source: Any, closure: Closure) -> bool:
    return (
        has_exact_keys(source, _SOURCE)
        and is_code(source["authorityId"])
        and source["bindingSha256"] == closure.binding.sha256
        and source["lane"] == "working"
        and find_head(source["head"]) == closure.head
    )

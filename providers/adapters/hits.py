"""What a service answers, read strictly, and matched by our table: whose a hit is, and which binding it gets. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from providers.adapters.service import malformed
from providers.contract import Binding, MemoryHit, Origin, check_text
from providers.limits import REMOTE_ID_BYTES_MAX
from providers.remote_models import RemoteRecord


@dataclass(frozen=True, slots=True)
class Found:
    """One hit of a service. `name`, `binding`: from its metadata, where the service has any."""

    external_id: str
    text: str = field(repr=False)
    score: float | None = None
    name: str | None = None
    binding: Binding | None = None


def read_found(external_id: object, text: object, *, score: object = None, metadata: object = None) -> Found:
    """Raises: ServiceError for another shape."""
    try:
        check_text(external_id, "id", bytes_max=REMOTE_ID_BYTES_MAX)
        if type(text) is not str or not text:
            raise TypeError("text")
    except (TypeError, ValueError) as error:
        raise malformed() from error
    told = metadata if isinstance(metadata, dict) else {}
    name = told.get("mh_key")
    return Found(
        cast(str, external_id),
        text,
        float(score) if type(score) in (int, float) else None,  # type: ignore[arg-type]
        name if type(name) is str else None,
        _read_binding(told),
    )


def _read_binding(metadata: dict[str, Any]) -> Binding | None:
    try:
        return Binding(metadata.get("mh_namespace"), metadata.get("mh_record"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def metadata_of(row: RemoteRecord) -> dict[str, str]:
    """What is sent beside a text. Nothing in it tells a principal, a key or where the text is from."""
    return {
        "mh_key": row.name,
        "mh_namespace": row.namespace,
        "mh_record": row.binding_id,
        "mh_origin": row.origin,
        "mh_version": row.version,
    }


def match_hits(
    found: Sequence[Found], rows: Sequence[RemoteRecord], k: int
) -> tuple[list[MemoryHit], list[tuple[Any, str]]]:
    """(at most `k` hits of the scope, best first, and those of bindings that are not known here; which ids are now known). Pure.

    Of several hits of one record the best counts. A hit that is known here takes its binding from here. One that is not, and brings a
    binding, is given as it is: the host drops it and keeps a note. One without is nobody's, and is left out.
    """
    by_id = {row.external_id: row for row in rows if row.external_id is not None}
    by_name = {row.name: row for row in rows}
    ranked = _rank(found)
    hits: list[MemoryHit] = []
    adopted: list[tuple[Any, str]] = []
    seen: set[Any] = set()
    kept = 0
    for one, score in ranked:
        row = by_id.get(one.external_id) or (by_name.get(one.name) if one.name else None)
        if row is None:
            if one.binding is not None and one.external_id not in seen:
                hits.append(MemoryHit(one.external_id, "1", one.text, score, "tool_output", one.binding))
                seen.add(one.external_id)
            continue
        if row.external_id is None and row.id not in seen:
            adopted.append((row.id, one.external_id))
        if row.id in seen or row.forgetting_at is not None or kept == k:
            continue
        seen.add(row.id)
        kept += 1
        binding = Binding(row.namespace, row.binding_id)
        hits.append(MemoryHit(row.record_id, row.version, one.text, score, cast(Origin, row.origin), binding))
    return hits, adopted


def _rank(found: Sequence[Found]) -> list[tuple[Found, float]]:
    """By their scores where every one has one, else by their places."""
    if all(one.score is not None and abs(one.score) < float("inf") for one in found):
        ranked = [(one, cast(float, one.score)) for one in found]
        return sorted(ranked, key=lambda pair: -pair[1])
    return [(one, 1.0 / (1 + place)) for place, one in enumerate(found)]


def list_of(value: object, *names: str) -> list[dict[str, Any]]:
    """The objects of an answer, which stands under one of `names` or is the list itself. Raises: ServiceError."""
    if isinstance(value, dict):
        value = next((value[name] for name in names if name in value), None)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise malformed()
    return value


def text_of(value: object, *names: str) -> str | None:
    """The first of `names` that an object has as a text fit for an id."""
    for name in names:
        one = value.get(name) if isinstance(value, dict) else None
        if type(one) is str and 1 <= len(one.encode(errors="replace")) <= REMOTE_ID_BYTES_MAX:
            return one
    return None

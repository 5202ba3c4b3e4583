"""Which records of a scope are known, and which were forgotten, whichever provider keeps them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from providers.contract import Scope
from providers.record_models import MemoryRecord
from providers.record_names import record_id_of
from providers.record_scopes import find_scope
from providers.remote_models import RemoteRecord
from providers.remote_records import name_of


@dataclass(frozen=True, slots=True)
class KnownRecords:
    """`texts`: by id; None where the text is not kept here."""

    texts: Mapping[str, str | None] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()


def find_known(scope: Scope, record_ids: Iterable[str | None]) -> KnownRecords:
    """Of these ids, those that are records of the scope."""
    wanted = [one for one in record_ids if one is not None]
    held = find_scope(scope) if wanted else None
    if held is None:
        return KnownRecords()
    here = MemoryRecord.objects.filter(scope_id=held.id, record_id__in=wanted)
    there = RemoteRecord.objects.filter(scope_id=held.id, record_id__in=wanted)
    texts: dict[str, str | None] = dict.fromkeys(there.values_list("record_id", flat=True))
    texts |= dict(here.values_list("record_id", "text"))
    forgotten = {
        *here.exclude(forgotten_at=None).values_list("record_id", flat=True),
        *there.exclude(forgotten_at=None).values_list("record_id", flat=True),
    }
    return KnownRecords(texts, frozenset(forgotten))


def find_forgotten(scope: Scope, keys: Iterable[str]) -> set[str]:
    """Of the keys of saves, those whose record was forgotten."""
    keys = list(keys)
    held = find_scope(scope) if keys else None
    if held is None:
        return set()
    here = {record_id_of(scope, key): key for key in keys}
    there = {name_of(scope, key): key for key in keys}
    gone_here = MemoryRecord.objects.filter(scope_id=held.id, record_id__in=list(here))
    gone_there = RemoteRecord.objects.filter(scope_id=held.id, name__in=list(there))
    return {here[one] for one in gone_here.exclude(forgotten_at=None).values_list("record_id", flat=True)} | {
        there[one] for one in gone_there.exclude(forgotten_at=None).values_list("name", flat=True)
    }

"""Import of what another product kept, or a hub exported, as the records of one scope.

Every record is saved by itself, through the guard, under a key that its source determines: an import that is repeated, or goes on after a
stop, saves what is not there yet and nothing twice. The source is read twice, first to its end without a change: what is wrong
with it as a whole is said before anything is saved.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import batched
from typing import IO
from uuid import UUID

from django.db.transaction import atomic

from memoryhub import audit, ids
from memoryhub.actors import Actor
from memoryhub.audit import AuditAction
from memoryhub.progress import Progress
from memoryhub.source_files import Source, SourceLimits, refuse_large
from memoryhub.spools import disk_room, open_spool
from providers.contract import Err, MemoryRecord
from providers.guard import ScopedMemory, Standing, check_record
from providers.imported_ids import KnownRecords, find_forgotten, find_known
from providers.limits import (
    EXPORTED_BYTES_MAX,
    IMPORT_DEPTH_MAX,
    IMPORT_FILES_MAX,
    IMPORT_REFUSALS_SHOWN_MAX,
)
from providers.provider_choice import provider_of
from providers.record_access import WantedScope, require_scope
from providers.record_sources import FORMATS, Format
from providers.record_sources.items import Candidate, LeftOut, Refusal, Wishes

LOOKED_AT_ONCE = 500
_OTHER = "Another record was saved under its id before; forget that one first, or leave this one out."
_TWICE = "The source gives another record under the same id."
_CHANGED = "The record of this id says something else here."


@dataclass
class RecordImport:
    """What an import did, or would do. `added`, `present`: there already; `forgotten`: it was there, and stays forgotten.

    `uncertain`: nobody knows yet whether the provider saved it; `left_out`: of another user than was asked for.
    `refusals`: the first of them, in the order of the source. `stopped`: why it ended early; then `left` were not tried.
    """

    format: str
    dry_run: bool
    added: int = 0
    present: int = 0
    forgotten: int = 0
    uncertain: int = 0
    left_out: int = 0
    refused: int = 0
    left: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    stopped: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.stopped is None and not self.uncertain

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < IMPORT_REFUSALS_SHOWN_MAX:
            self.refusals.append(refusal)


@dataclass(frozen=True, slots=True)
class ImportOrder:
    """What is to be imported, and how. `format`: of `record_sources.FORMATS`."""

    format: str
    wishes: Wishes
    dry_run: bool
    records_max: int

    @property
    def of(self) -> Format:
        return FORMATS[self.format]


def import_records(
    wanted: WantedScope, source: Source, order: ImportOrder, *, progress: Progress | None = None, actor: Actor
) -> RecordImport:
    """Save what is new. `progress`: of the job that does it.

    Raises: NotFound; PermissionRefused; InvalidRequest for a source that is too large, or none of its format.
    """
    scope = require_scope(wanted, actor=actor)
    environment_id = UUID(scope.tenant_id.partition(":")[2])
    work = _Work(ScopedMemory(provider_of(environment_id), scope, actor), source, order)
    planned = work.run(RecordImport(order.format, dry_run=True))
    if order.dry_run or not planned.added:
        planned.dry_run = order.dry_run
        return planned
    note_import(environment_id, planned, actor=actor)
    if progress is not None:
        progress.expect(planned.added)
    return work.run(RecordImport(order.format, dry_run=False), progress=progress, expected=planned.added)


@atomic(durable=True)
def note_import(environment_id: UUID, planned: RecordImport, *, actor: Actor) -> None:
    """Before the first of them, so that who imports is known whatever becomes of it."""
    audit.record(
        AuditAction.RECORDS_IMPORTED,
        ids.to_wire(ids.ENVIRONMENT, environment_id),
        environment_id=environment_id,
        details={"format": planned.format, "records": planned.added, "refused": planned.refused},
        actor=actor,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A candidate and the record that it makes."""

    candidate: Candidate
    record: MemoryRecord


@dataclass
class _Work:
    memory: ScopedMemory
    source: Source
    order: ImportOrder

    def run(
        self, report: RecordImport, *, progress: Progress | None = None, expected: int = 0
    ) -> RecordImport:
        """Count, and save unless it is a dry run."""
        for batch in batched(self._records(report), LOOKED_AT_ONCE):
            for found in self._new(batch, report):
                if report.dry_run:
                    report.added += 1
                    continue
                self._save(found, report)
                if report.stopped is not None:
                    report.left = max(0, expected - report.added)
                    return report
                if progress is not None:
                    progress.advance()
        return report

    def _records(self, report: RecordImport) -> Iterator[_Found]:
        """Those that could be saved, each once; of the rest, why not."""
        seen: dict[str, bytes] = {}
        for candidate in self._candidates(report):
            try:
                record = check_record({"origin": "host", **candidate.fields})
            except (TypeError, ValueError) as error:
                report.refuse(Refusal(candidate.where, _sentence(error)))
                continue
            digest = hashlib.sha256(record.canonical()).digest()
            if candidate.key not in seen:
                seen[candidate.key] = digest
                yield _Found(candidate, record)
            elif seen[candidate.key] == digest:
                report.present += 1
            else:
                report.refuse(Refusal(candidate.where, _TWICE))

    def _candidates(self, report: RecordImport) -> Iterator[Candidate]:
        """Raises: InvalidRequest."""
        items = self.order.of.read(self.source.files(self._limits), self.order.wishes)
        for count, item in enumerate(items, 1):
            if count > self.order.records_max:
                raise refuse_large(
                    f"The source holds more than {self.order.records_max} records, the most of one import."
                )
            if isinstance(item, Refusal):
                report.refuse(item)
            elif isinstance(item, LeftOut):
                report.left_out += 1
            else:
                yield item

    @property
    def _limits(self) -> SourceLimits:
        of = self.order.of
        limits = SourceLimits(IMPORT_FILES_MAX, of.file_bytes, EXPORTED_BYTES_MAX, IMPORT_DEPTH_MAX)
        return replace(limits, hold=_held_spool) if of.is_streamed else limits

    def _new(self, batch: Sequence[_Found], report: RecordImport) -> list[_Found]:
        """Those that nothing is known of; the others are counted."""
        known = find_known(self.memory.scope, [one.candidate.record_id for one in batch])
        asked = [one for one in batch if not _count_known(one, known, report)]
        standings = self.memory.foresee([(one.candidate.key, one.record) for one in asked])
        same = [one.candidate.key for one, stands in zip(asked, standings, strict=True) if stands == "same"]
        forgotten = find_forgotten(self.memory.scope, same)
        new = []
        for one, stands in zip(asked, standings, strict=True):
            if stands == "new":
                new.append(one)
            else:
                _count(one.candidate, stands, report, is_forgotten=one.candidate.key in forgotten)
        return new

    def _save(self, found: _Found, report: RecordImport) -> None:
        candidate = found.candidate
        written = self.memory.remember({"origin": "host", **candidate.fields}, candidate.key)
        if not isinstance(written.result, Err):
            report.added += written.is_new
            report.present += not written.is_new
            return
        error = written.result.error
        if error.code in ("invalid", "scope_violation"):
            report.refuse(Refusal(candidate.where, error.message))
            return
        report.uncertain += error.is_uncertain
        report.stopped = f"{candidate.where}: The memory provider did not serve: {error.message}"


@contextmanager
def _held_spool() -> Iterator[IO[bytes]]:
    with open_spool() as spool, disk_room():
        yield spool


def _count_known(one: _Found, known: KnownRecords, report: RecordImport) -> bool:
    """Whether the scope has the record itself, from which it was exported."""
    record_id = one.candidate.record_id
    if record_id is None or record_id not in known.texts:
        return False
    text = known.texts[record_id]
    if record_id in known.forgotten:
        report.forgotten += 1
    elif text is not None and text != one.record.text:
        report.refuse(Refusal(one.candidate.where, _CHANGED))
    else:
        report.present += 1
    return True


def _count(candidate: Candidate, stands: Standing, report: RecordImport, *, is_forgotten: bool) -> None:
    if stands == "other":
        report.refuse(Refusal(candidate.where, _OTHER))
    elif stands == "uncertain":
        report.uncertain += 1
    else:
        report.forgotten += is_forgotten
        report.present += not is_forgotten


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".") + "."

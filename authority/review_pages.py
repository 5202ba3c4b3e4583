"""What the pages of reviewed memory share: the words of states and of what blocks, calls that are waited for, receipts."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages

from authority.call_waits import wait_for_call
from authority.canonical import digest_of, load, text_of
from authority.graph import Head
from authority.host_calls import ADOPT, find_receipts
from authority.models import HostCall, Receipt
from memoryhub.pages import PageRequest

WAIT_SECONDS = 5.0
STATE_WORDS = {
    "pending": "Waiting",
    "conflict": "Conflict",
    "adopting": "Adopting",
    "adopted": "Adopted",
    "already_present": "Already present",
    "rejected": "Rejected",
    "superseded": "Superseded",
}
# The style of a badge, by the state of a nomination or of a call.
STATE_STYLES = {
    "conflict": "failed",
    "adopting": "running",
    "adopted": "done",
    "already_present": "done",
    "rejected": "refused",
    "superseded": "archived",
    "queued": "",
    "running": "running",
    "succeeded": "done",
    "failed": "failed",
    "withdrawn": "archived",
}
BLOCKER_WORDS = {
    "space_purged": "The working memory was emptied. Nothing of this nomination can be adopted any more.",
    "reexport_mismatch": "The working memory gives out other bytes than were nominated. Nothing can be adopted; ask the agent to nominate again.",
    "too_many_replacements": "More than 128 reviewed records would be replaced, and one adoption may replace 128. Ask the agent for smaller nominations.",
    "too_many_records": "The reviewed memory would hold more records than it may. Remove some first, or ask for a smaller nomination.",
    "too_many_bytes": "The reviewed memory would be larger than it may be. Remove records first, or ask for a smaller nomination.",
    "operation_too_large": "The operation would be larger than this authority allows. Ask the agent for smaller nominations.",
}


@dataclass(frozen=True, slots=True)
class ShownReceipt:
    """`text`: the canonical bytes that were sealed. `holds`: their digest, made anew, is the one they carry."""

    row: Receipt
    facts: dict[str, Any]
    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class ShownCall:
    """`is_unknown`: nobody can tell whether it did what it was to do, so its request is sent again."""

    row: HostCall
    receipt: ShownReceipt | None

    @property
    def error(self) -> dict[str, Any]:
        return self.row.error or {}

    @property
    def conflict(self) -> dict[str, Any] | None:
        return self.error.get("conflict")

    @property
    def is_unknown(self) -> bool:
        return bool(self.error.get("status", 0) >= 500)

    @property
    def is_finished(self) -> bool:
        return self.row.finished_at is not None

    @property
    def style(self) -> str:
        return STATE_STYLES[self.row.state]

    @property
    def words(self) -> str:
        return "Adopt" if self.row.method == ADOPT else "Advance"


def show_receipt(row: Receipt) -> ShownReceipt:
    facts = load(row.body)
    unsealed = {name: value for name, value in facts.items() if name != "receiptSha256"}
    holds = digest_of(unsealed) == facts["receiptSha256"] == row.receipt_sha256
    return ShownReceipt(row, facts, row.body, holds)


def show_calls(calls: list[HostCall]) -> list[ShownCall]:
    receipts = {sha256: show_receipt(row) for sha256, row in find_receipts(calls).items()}
    return [ShownCall(call, receipts.get(call.receipt_sha256 or "")) for call in calls]


def head_text(head: Head) -> str:
    """For a hidden field."""
    return text_of(head.as_wire()).decode()


def tell_outcome(request: PageRequest, call: HostCall) -> HostCall:
    """Wait a moment for a call's end, and say what became of it."""
    call = wait_for_call(call, WAIT_SECONDS)
    shown = ShownCall(call, None)
    if not shown.is_finished:
        messages.info(request, f"Host call {call.ordinal} waits in line. This page tells what comes of it.")
    elif call.error is None and call.method == ADOPT:
        messages.success(request, "The nomination is adopted.")
    elif call.error is None:
        messages.success(request, "The pin has moved.")
    elif not shown.conflict:
        messages.error(request, f"Host call {call.ordinal} failed: {call.error['message']}")
    return call

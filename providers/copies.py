"""What this room keeps of the texts of memories: projections, arguments and outcomes. Erased with the versions they show."""

from collections.abc import Sequence
from uuid import UUID

from memoryhub.columns import ClockTimestamp
from providers.models import Projection, ToolCall


def erase_copies(version_ids: Sequence[UUID]) -> None:
    """A step, in the erasing transaction."""
    shown = {"version_ids__overlap": list(version_ids), "erased_at": None}
    Projection.objects.filter(**shown).update(text="", sources=[], version_ids=[], erased_at=ClockTimestamp())
    ToolCall.objects.filter(**shown).update(
        arguments=None, request_sha256=None, output=None, version_ids=[], erased_at=ClockTimestamp()
    )

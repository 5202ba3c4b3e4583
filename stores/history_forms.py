"""The forms of the history: what to show of a store's timeline, and the time to show a store at."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django import forms

from memoryhub.forms import ShapedForm
from stores.history_serializers import SnapshotQuery

CHANGES = (
    ("", "Every change"),
    ("created", "Created"),
    ("modified", "Modified"),
    ("deleted", "Deleted"),
)
_MINUTES_LENGTH = len("2026-11-30T06:00")


class TimelineForm(forms.Form):
    """What of a timeline to show. A choice that there is none of shows all."""

    change = forms.ChoiceField(label="Change", choices=CHANGES, required=False)
    by = forms.ChoiceField(label="Written by", required=False)

    def filters(self) -> dict[str, str | None]:
        change = self.data.get("change")
        known = change if change in dict(CHANGES) else None
        return {"operation": known or None, "created_by_id": self.data.get("by") or None}

    def offer_writers(self, writers: Iterable[str], names: Mapping[str, str]) -> None:
        """Those of the page that is shown, by name."""
        named = [(writer, names.get(writer, writer)) for writer in writers if writer]
        field = self.fields["by"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Anybody"), *sorted(named, key=lambda one: one[1])]


class AsItWasForm(ShapedForm):
    """The field of a browser knows no zone and no microseconds; a link may carry both."""

    shape = SnapshotQuery
    at = forms.CharField(
        label="Time, in UTC",
        max_length=64,
        error_messages={"required": "Choose a time."},
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}),
    )

    def clean_at(self) -> str:
        at = str(self.cleaned_data["at"])
        return f"{at}:00" if len(at) == _MINUTES_LENGTH else at

    @property
    def field_value(self) -> str:
        """What the browser's field shows: never earlier than the time asked for, so that sending it again loses nothing."""
        at = self.cleaned_data.get("at") if self.is_bound and not self.errors else None
        if at is None:
            return str(self.data.get("at", "")) if self.is_bound else _to_seconds(datetime.now(UTC))
        return _to_seconds(at)


def _to_seconds(at: datetime) -> str:
    whole = at.replace(microsecond=0) + timedelta(seconds=1 if at.microsecond else 0)
    return whole.replace(tzinfo=None).isoformat(timespec="seconds")

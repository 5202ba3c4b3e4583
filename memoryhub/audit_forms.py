"""The form that restricts the audit trail."""

from datetime import UTC, datetime, time

from django import forms

from memoryhub.audit import AuditAction


def action_words(action: str) -> str:
    """`api_key.revoked` as `API key revoked`."""
    words = action.replace("_", " ").replace(".", " ")
    return f"API{words[3:]}" if words.startswith("api ") else words.capitalize()


class AuditFilterForm(forms.Form):
    actor = forms.CharField(
        label="Who", help_text="A name, an address or an id.", required=False, max_length=255
    )
    action = forms.ChoiceField(
        label="What was done",
        choices=[
            ("", "Anything"),
            *sorted(
                ((action.value, action_words(action)) for action in AuditAction), key=lambda pair: pair[1]
            ),
        ],
        required=False,
    )
    subject_id = forms.CharField(label="To which thing", help_text="Its id.", required=False, max_length=64)
    first_day = forms.DateField(
        label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    last_day = forms.DateField(
        label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def instants(self) -> tuple[datetime | None, datetime | None]:
        """The first and the last instant of the days, in UTC."""
        first, last = self.cleaned_data["first_day"], self.cleaned_data["last_day"]
        return (
            datetime.combine(first, time.min, UTC) if first else None,
            datetime.combine(last, time.max, UTC) if last else None,
        )


class ExportForm(forms.Form):
    after = forms.IntegerField(min_value=0, max_value=2**53, required=False)

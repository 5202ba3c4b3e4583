"""The forms of webhooks. The secret is in none of them."""

from typing import Any

from django import forms

from memoryhub import ids
from memoryhub.forms import IssuingForm, ShapedForm
from memoryhub.notice_types import EVERY_TYPE, list_notice_types
from memoryhub.webhook_shapes import CreateWebhookBody, RotateWebhookBody, UpdateWebhookBody

_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
OVERLAP_CHOICES = [
    (0, "Not at all: only the new secret signs from now on"),
    (3_600, "One hour"),
    (86_400, "One day"),
    (604_800, "Seven days"),
]


def _url_field() -> forms.CharField:
    return forms.CharField(
        label="Address",
        help_text="Where notices are posted, such as https://desk.example.com/hooks. Only owners see it.",
        widget=forms.TextInput(attrs={"inputmode": "url"} | _PLAIN),
        error_messages={"required": "Give the address of the receiver."},
    )


def _description_field() -> forms.CharField:
    return forms.CharField(label="Description", help_text="For the people here.", required=False)


def _types_field() -> forms.MultipleChoiceField:
    """All there are at this moment; rooms have registered theirs by the time a form is made."""
    return forms.MultipleChoiceField(
        label="What is told",
        choices=[(EVERY_TYPE, "Everything, also what a later version adds")]
        + [(kind.name, f"{kind.name}: {kind.sentence}") for kind in list_notice_types()],
        widget=forms.CheckboxSelectMultiple,
        initial=[EVERY_TYPE],
        error_messages={"required": "Choose what is told."},
    )


class CreateWebhookForm(IssuingForm):
    issues = ids.WEBHOOK
    shape = CreateWebhookBody
    url = _url_field()
    description = _description_field()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["event_types"] = _types_field()


class WebhookForm(ShapedForm):
    shape = UpdateWebhookBody
    url = _url_field()
    description = _description_field()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["event_types"] = _types_field()
        self.fields["enabled"] = forms.BooleanField(
            label="Enabled",
            help_text="While it is not, nothing is sent, and nothing is kept for it.",
            required=False,
        )


class RotateWebhookForm(ShapedForm):
    shape = RotateWebhookBody
    overlap_seconds = forms.TypedChoiceField(
        label="How long the old secret signs beside the new one",
        help_text="Long enough to put the new one into the receiver.",
        choices=OVERLAP_CHOICES,
        coerce=int,
        initial=86_400,
    )


class ReplayForm(forms.Form):
    """`first_day`: of those that are sent again, in UTC."""

    first_day = forms.DateField(
        label="Failed since",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        error_messages={"required": "Choose a day.", "invalid": "Choose a day."},
    )

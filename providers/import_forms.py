"""The form of an import of records. What is in the file is checked by the job."""

from typing import Any

from django import forms

from memoryhub.actors import SCOPE_NAME_LENGTH_MAX
from memoryhub.fields import Choice, Flag, StrictSerializer, Text
from memoryhub.forms import ShapedForm, require_importable
from providers.limits import RECORD_NAME_BYTES_MAX
from providers.record_sources import FORMATS


class ImportShape(StrictSerializer):
    agent = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    issuer = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    subject = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    format = Choice(choices=list(FORMATS))
    user = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)
    dry_run = Flag()


class ImportForm(ShapedForm):
    shape = ImportShape
    agent = forms.CharField(
        label="Agent",
        help_text="Whose memory the records become.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Name the agent whose memory they become."},
    )
    issuer = forms.CharField(
        label="Issuer",
        help_text="Who names the person, as in the calls of your application.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Name who names the person."},
    )
    subject = forms.CharField(
        label="Person",
        help_text="Of whom they are remembered.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Name the person of whom they are remembered."},
    )
    format = forms.ChoiceField(
        label="Format", choices=[(name, one.title) for name, one in FORMATS.items()], initial="memoryhub"
    )
    file = forms.FileField(
        label="File",
        help_text="One file, or a ZIP of a folder.",
        allow_empty_file=True,
        validators=[require_importable],
        error_messages={"required": "Choose the file to import."},
    )
    user = forms.CharField(
        label="User in the file",
        help_text="Of mem0, when the file holds the memories of several: whose are meant.",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    dry_run = forms.BooleanField(
        label="Only count", help_text="Nothing is saved; the job says what would be.", required=False
    )

    def shape_values(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {name: value for name, value in given.items() if name != "file" and value != ""}

    def clean(self) -> dict[str, Any]:
        file = self.cleaned_data.get("file")
        return {**super().clean(), "file": file}

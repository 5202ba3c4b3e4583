"""The form of an import. What is in the archive is checked by the reader."""

from typing import Any

from django import forms

from memoryhub.fields import StrictSerializer, Text
from memoryhub.forms import ShapedForm, require_importable
from stores.limits import STORE_NAME_LENGTH_MAX


class NameBody(StrictSerializer):
    name = Text(length_min=1, length_max=STORE_NAME_LENGTH_MAX, plain=True, required=False)


class ImportForm(ShapedForm):
    shape = NameBody
    archive = forms.FileField(
        label="Archive",
        help_text="The .tar file that the export of a store gave.",
        allow_empty_file=True,
        validators=[require_importable],
        error_messages={"required": "Choose the archive to import."},
        widget=forms.FileInput(attrs={"accept": ".tar,application/x-tar"}),
    )
    name = forms.CharField(
        label="Name of the new store", help_text="Left empty, it keeps the name it had.", required=False
    )

    def clean(self) -> dict[str, Any]:
        archive = self.cleaned_data.pop("archive", None)
        if not self.cleaned_data.get("name"):
            self.cleaned_data.pop("name", None)
        return {**super().clean(), "archive": archive}

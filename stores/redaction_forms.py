"""The forms of finding and erasing a text. Their limits are those of the API's shapes."""

from typing import Any, ClassVar

from django import forms

from memoryhub.erasure import Sought
from memoryhub.fields import StrictSerializer
from memoryhub.forms import ShapedForm
from stores.redaction_serializers import ReasonBody, RedactionBody, SearchVersionsBody


class SparseForm(ShapedForm):
    """A field that was left empty is left out."""

    def clean(self) -> dict[str, Any]:
        self.cleaned_data = {name: value for name, value in self.cleaned_data.items() if value}
        return super().clean()


class SoughtForm(SparseForm):
    shape: ClassVar[type[StrictSerializer]] = SearchVersionsBody
    prefix = (
        "sought"  # a field named `contains` would hide the method of that name that every form element has
    )
    contains = forms.CharField(
        label="Text",
        help_text="Exactly as it was written: at least 4 characters, on one line or several. It is looked for in texts and in paths.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"}),
    )
    content_sha256 = forms.CharField(
        label="Or the SHA-256 of a whole text",
        help_text="Finds every copy of one text without naming it.",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    page = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        given = [name for name in ("contains", "content_sha256") if self.data.get(self.add_prefix(name))]
        if len(given) != 1:
            self.add_error("contains", "Type the text to look for, or else the SHA-256 of a whole text.")
            return self.cleaned_data
        return super().clean()

    def sought(self) -> Sought:
        return Sought(self.cleaned_data.get("contains"), self.cleaned_data.get("content_sha256"))


def _reason() -> forms.CharField:
    return forms.CharField(
        label="Reason",
        help_text="Kept for good, and shown to everybody who may read here: name the cause, not the text. May be left empty.",
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class RedactionForm(SoughtForm):
    shape = RedactionBody
    contains = forms.CharField(required=False, widget=forms.HiddenInput)
    content_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)
    heads = forms.ChoiceField(
        label="Current texts that hold it",
        choices=[
            (
                "refuse",
                "Leave what is current as it is. It keeps the text until somebody writes a newer one.",
            ),
            ("delete", "Delete the memories that hold it now, and redact these versions too."),
        ],
        required=False,
        widget=forms.RadioSelect,
    )
    reason = _reason()


class ReasonForm(SparseForm):
    shape = ReasonBody
    reason = _reason()

"""The forms of records: what one searches, what is to be forgotten, what a record should say instead."""

from typing import Any, ClassVar

from django import forms

from memoryhub import ids
from memoryhub.fields import Integer, StrictSerializer, Text
from memoryhub.forms import IssuingForm, ShapedForm
from providers.limits import (
    RECALL_HITS_DEFAULT,
    RECALL_HITS_MAX,
    RECORD_NAME_BYTES_MAX,
    RECORD_QUERY_LENGTH_MAX,
    RECORD_TEXT_BYTES_MAX,
)


class NoShape(StrictSerializer):
    """Nothing is asked for."""


class CorrectionShape(StrictSerializer):
    text = Text(length_min=1, length_max=RECORD_TEXT_BYTES_MAX)
    title = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)
    author = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)


class RecordQueryShape(StrictSerializer):
    query = Text(length_min=1, length_max=RECORD_QUERY_LENGTH_MAX)
    k = Integer(min_value=1, max_value=RECALL_HITS_MAX)


class RecordSearchForm(ShapedForm):
    shape: ClassVar[type[StrictSerializer]] = RecordQueryShape
    query = forms.CharField(
        label="What is searched for",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
        error_messages={"required": "Type what a model would search for."},
    )
    k = forms.IntegerField(
        label="At most",
        help_text=f"1 to {RECALL_HITS_MAX} hits. A model that does not say gets {RECALL_HITS_DEFAULT}.",
        widget=forms.NumberInput(attrs={"min": 1, "max": RECALL_HITS_MAX}),
        error_messages={"required": "Say how many.", "invalid": "Write it in digits."},
    )


class WriteForm(IssuingForm):
    """A write of a record, under a key that the form was given: however often it is sent, it is done once."""

    issues = ids.MEMORY_EFFECT

    @property
    def key(self) -> str:
        assert self.promised_id is not None, "a form without its promise is not valid"
        return f"console:{self.promised_id.hex}"


class DecisionForm(forms.Form):
    """What became of a write. `attempts`: how often it had been sent when its page was shown."""

    decision = forms.ChoiceField(choices=[("done", "done"), ("not_done", "not_done")])
    attempts = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class ForgetForm(WriteForm):
    shape: ClassVar[type[StrictSerializer]] = NoShape


class CorrectionForm(WriteForm):
    """Fields that were left empty are left out. A service keeps no title and no author."""

    shape: ClassVar[type[StrictSerializer]] = CorrectionShape
    text = forms.CharField(
        label="What it should say",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        error_messages={"required": "Type what it should say. To have nothing said, forget it."},
    )
    title = forms.CharField(
        label="Title", required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    author = forms.CharField(
        label="Who said it", required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, is_local: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_local:
            del self.fields["title"], self.fields["author"]

    def shape_values(self) -> dict[str, Any]:
        given = super().shape_values()
        return {name: value for name, value in given.items() if value or name == "text"}

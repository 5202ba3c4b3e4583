"""The forms of endpoints: what one is called and keeps, its credentials, a record of a partition, and what is typed to delete."""

from typing import Any

from django import forms

from memoryhub import ids
from memoryhub.fields import Choice, Integer, StrictSerializer, Text
from memoryhub.forms import IssuingForm, ShapedForm
from providers.endpoint_models import OWN, PROVIDER
from providers.endpoint_serializers import (
    BACKINGS,
    NAME_LENGTH_MAX,
    RETENTION_DAYS_MAX,
    CreateCredentialBody,
    UpdateRecordBody,
)
from providers.limits import FACT_LENGTH_MAX, PARTITION_LENGTH_MAX, RECALL_BYTES_DEFAULT, RESOURCE_BYTES_MAX

_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class EndpointBody(StrictSerializer):
    name = Text(length_min=1, length_max=NAME_LENGTH_MAX, plain=True)
    bytes_max = Integer(min_value=1, max_value=RESOURCE_BYTES_MAX)
    retention_days = Integer(allow_null=True, min_value=1, max_value=RETENTION_DAYS_MAX)


class EndpointForm(ShapedForm):
    shape = EndpointBody
    name = forms.CharField(
        label="Name",
        help_text="For the people here, such as Facts for the shop.",
        error_messages={"required": "Give the endpoint a name."},
    )
    bytes_max = forms.IntegerField(
        label="Bytes of a recall at most",
        help_text=f"1 to {RESOURCE_BYTES_MAX:,}. A host may ask for less.",
        initial=RECALL_BYTES_DEFAULT,
    )
    retention_days = forms.IntegerField(
        label="Days that records are kept",
        help_text="After their last change. Left empty, they are kept until somebody deletes them.",
        required=False,
    )


class CreateEndpointBody(EndpointBody):
    backing = Choice(choices=BACKINGS)


class CreateEndpointForm(EndpointForm):
    """`provider`: the name of the environment's memory provider."""

    shape = CreateEndpointBody
    backing = forms.ChoiceField(
        label="Who keeps its records",
        help_text="Chosen once. A memory provider can search, remember and forget; it cannot replace a record.",
        initial=OWN,
        required=False,
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, provider: str, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields["backing"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (OWN, "The endpoint: in partitions of its own"),
            (PROVIDER, f"The memory provider of this environment, {provider}: as records"),
        ]

    def shape_values(self) -> dict[str, Any]:
        return self.cleaned_data | {"backing": self.cleaned_data.get("backing") or OWN}


class CredentialForm(IssuingForm):
    issues = ids.ENDPOINT_CREDENTIAL
    shape = CreateCredentialBody
    name = forms.CharField(
        label="Name",
        help_text="Who will present it, such as the other host.",
        error_messages={"required": "Give the credential a name, so that people know whose it is."},
    )
    scope = forms.ChoiceField(
        label="What it is for",
        choices=[
            ("memory", "Memory: recalls and tools"),
            ("ingest", "Ingest: it gives conversations, and reads nothing"),
        ],
        initial="memory",
        widget=forms.RadioSelect,
    )


class RotateCredentialForm(IssuingForm):
    """Name and scope are those of the one that is replaced."""

    issues = ids.ENDPOINT_CREDENTIAL
    shape = StrictSerializer


class RecordForm(ShapedForm):
    """`expected_revision`: the one that was shown."""

    shape = UpdateRecordBody
    text = forms.CharField(
        label="Text",
        help_text=f"At most {FACT_LENGTH_MAX:,} characters. A host that recalled the older text gets a conflict.",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        error_messages={"required": "A record has a text. To be rid of it, delete it."},
    )
    expected_revision = forms.IntegerField(widget=forms.HiddenInput)


class DeleteRecordForm(forms.Form):
    """`revision`: the one that was shown."""

    revision = forms.IntegerField(widget=forms.HiddenInput)


class TypedNameForm(forms.Form):
    """`typed_name`: what the thing is called, once more."""

    typed_name = forms.CharField(
        label="Its name",
        help_text="Type it to show that you mean this one.",
        max_length=PARTITION_LENGTH_MAX,
        error_messages={"required": "Type its name."},
        widget=forms.TextInput(attrs=_PLAIN),
    )

    def __init__(self, *args: Any, name: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.name = name

    def clean_typed_name(self) -> str:
        typed = str(self.cleaned_data["typed_name"])
        if typed != self.name:
            raise forms.ValidationError(f"Type {self.name} to delete it.")
        return typed

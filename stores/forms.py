"""The forms of the stores. Their limits are those of the API's shapes."""

from django import forms

from memoryhub.forms import ShapedForm
from stores.serializers import CreateStoreBody


class StoreForm(ShapedForm):
    shape = CreateStoreBody
    name = forms.CharField(
        label="Name",
        help_text="What the memories are about, such as Customer notes.",
        error_messages={"required": "Give the store a name."},
    )
    description = forms.CharField(
        label="Description",
        help_text="Agents that work with the store read it. May be left empty.",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

"""The forms of projects and environments."""

from django import forms

from memoryhub.forms import ShapedForm
from memoryhub.ground_shapes import NameBody


class NameForm(ShapedForm):
    shape = NameBody
    name = forms.CharField(
        label="Name",
        help_text="Lowercase letters, digits and hyphens, such as support-bot. It stands in addresses and commands.",
        error_messages={"required": "Give a name."},
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )


class DeletionForm(forms.Form):
    """`name`: of what is deleted, typed once more."""

    name = forms.CharField(
        label="Its name",
        help_text="Type it to show that you mean this one.",
        max_length=255,
        error_messages={"required": "Type the name."},
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

"""The forms of the console's ground floor. They check shape; rules live in the verbs."""

from typing import Any, ClassVar

from django import forms
from rest_framework.serializers import ValidationError

from memoryhub.fields import StrictSerializer


class ShapedForm(forms.Form):
    """A form whose values are checked by a shape of the API, so that a limit is written once.

    Its fields only say how they look; an error of the shape stands beside the field of that name.
    """

    shape: ClassVar[type[StrictSerializer]]

    def clean(self) -> dict[str, Any]:
        values = {name: _plain_lines(value) for name, value in self.cleaned_data.items()}
        try:
            return dict(self.shape(context={"is_query": False}).run_validation(values))
        except ValidationError as error:
            for name, wrong in dict(error.detail).items():  # type: ignore[arg-type]
                if name in self.errors:  # the form has said it already
                    continue
                self.add_error(name if name in self.fields else None, [str(one) for one in wrong])
        return values


def _plain_lines(value: Any) -> Any:
    """Browsers send the lines of a textarea with CR LF."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


class SignInForm(forms.Form):
    email = forms.EmailField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label="Password",
        max_length=1_024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


def _new_password(label: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=1_024,
        strip=False,
        help_text="At least 10 characters.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class PasswordForm(forms.Form):
    current = forms.CharField(
        label="Current password",
        max_length=1_024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = _new_password("New password")

    def __init__(self, *args: Any, asks_current: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not asks_current:
            del self.fields["current"]


class AcceptInvitationForm(forms.Form):
    name = forms.CharField(
        label="Your name", max_length=255, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = _new_password("Password")

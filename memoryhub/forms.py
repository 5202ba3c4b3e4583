"""The forms of the console's ground floor. They check shape; rules live in the verbs."""

from typing import Any

from django import forms


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

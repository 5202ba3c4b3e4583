"""The forms of the console's ground floor. They check shape; rules live in the verbs."""

import re
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from rest_framework.serializers import ValidationError

from memoryhub.actors import Actor
from memoryhub.errors import HubError
from memoryhub.fields import StrictSerializer
from memoryhub.promised_ids import find_promised, promise_id

type Upload = UploadedFile[Any]

_NAMED = re.compile(r"([a-z_]+): (.+)", re.DOTALL)


def require_importable(file: Upload) -> None:
    """For the fields of files to import. Raises: ValidationError."""
    if (file.size or 0) > settings.ARCHIVE_BYTES_MAX:
        raise forms.ValidationError(
            f"The file is larger than {settings.ARCHIVE_BYTES_MAX:,} bytes, the most that can be imported here."
        )


class ShapedForm(forms.Form):
    """A form whose values are checked by a shape of the API, so that a limit is written once.

    Its fields only say how they look; an error of the shape stands beside the field of that name.
    """

    shape: ClassVar[type[StrictSerializer]]

    def shape_values(self) -> dict[str, Any]:
        """What the shape is given. A form whose fields look otherwise than the API's says here how they are read."""
        return self.cleaned_data

    def clean(self) -> dict[str, Any]:
        values = {name: _plain_lines(value) for name, value in self.shape_values().items()}
        try:
            return dict(self.shape(context={"is_query": False}).run_validation(values))
        except ValidationError as error:
            for name, wrong in dict(error.detail).items():  # type: ignore[arg-type]
                if name in self.errors:  # the form has said it already
                    continue
                self.add_error(name if _shows(self, name) else None, [str(one) for one in wrong])
        except HubError as error:
            add_refusal(self, error)
        return values


class IssuingForm(ShapedForm):
    """Issues what is shown once, under an id that it was promised. `issues`: the prefix of the id."""

    issues: ClassVar[str]
    promise = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, data: QueryDict | None, *, actor: Actor, **options: Any) -> None:
        sent = find_promised(self.issues, data.get("promise", ""), actor) if data else None
        promise = promise_id(self.issues, actor)
        if data and sent is None:
            data = data.copy()
            data["promise"] = promise
        super().__init__(data, **options)
        self.fields["promise"].initial = promise
        self.promised_id = sent

    def shape_values(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if name != "promise"}

    def clean(self) -> dict[str, Any]:
        if self.promised_id is None:
            self.add_error(None, "This form was not complete. Look through it, and send it again.")
        return super().clean()


def _plain_lines(value: Any) -> Any:
    """Browsers send the lines of a textarea with CR LF."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def add_refusal(form: forms.Form, error: HubError, *, field: str | None = None) -> None:
    """What a verb refused, beside its field: a message that is about one begins with its name. Else beside `field`."""
    named = _NAMED.fullmatch(error.message)
    name, sentence = named.groups() if named else ("", error.message)
    form.add_error(name if _shows(form, name) else field, f"{sentence[0].upper()}{sentence[1:].rstrip('.')}.")


def _shows(form: forms.Form, name: str) -> bool:
    """Whether the page has a place beside the field: a template may draw one whose widget is hidden."""
    drawn = getattr(form, "drawn_by_template", ())
    return name in form.fields and (name in drawn or not form.fields[name].widget.is_hidden)


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


class NameForm(forms.Form):
    name = forms.CharField(
        label="Your name",
        max_length=255,
        help_text="Your colleagues see it beside what you write.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
        error_messages={"required": "Your colleagues see it beside what you write, so it cannot be empty."},
    )


class AcceptInvitationForm(forms.Form):
    name = forms.CharField(
        label="Your name", max_length=255, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = _new_password("Password")

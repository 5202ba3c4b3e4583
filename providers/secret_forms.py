"""The form that writes a secret. Its value is never filled in again."""

from typing import Any

from django import forms
from django.conf import settings

from memoryhub import secrets
from memoryhub.forms import ShapedForm
from memoryhub.origins import parse_origin
from providers.secret_serializers import PutSecretBody

_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class SecretForm(ShapedForm):
    """`name` None: of a new secret."""

    shape = PutSecretBody
    name = forms.RegexField(
        r"^[A-Z][A-Z0-9_]{0,127}\Z",
        label="Name",
        help_text="A to Z, 0 to 9 and _, a letter first, such as MEMORY_TOKEN. Declarations name it.",
        widget=forms.TextInput(attrs=_PLAIN),
        error_messages={
            "required": "Give the secret a name.",
            "invalid": "A name is A to Z, 0 to 9 and _, a letter first.",
        },
    )
    agent_id = forms.CharField(
        label="Agent",
        help_text="Only for this agent, and before one for all of the same name. Left empty: for every agent.",
        required=False,
        widget=forms.TextInput(attrs=_PLAIN),
    )
    value = forms.CharField(
        label="Value",
        help_text="Sealed when it is saved, and never shown again, to nobody.",
        max_length=secrets.VALUE_BYTES_MAX,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        error_messages={"required": "Give the value."},
    )
    allowed_origins = forms.CharField(
        label="Where it may be sent",
        help_text="One origin a line, such as https://memory.example.com. No connection to another one can use it.",
        widget=forms.Textarea(attrs={"rows": 3} | _PLAIN),
        error_messages={"required": "Name one origin at least."},
    )

    def __init__(self, *args: Any, name: str | None = None, agent_id: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.fixed = None if name is None else {"name": name, "agent_id": agent_id}
        if self.fixed is not None:
            del self.fields["name"], self.fields["agent_id"]

    def clean_allowed_origins(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["allowed_origins"].splitlines() if line.strip()]
        for line in lines:
            _, problem = parse_origin(line, listed=settings.EGRESS_PRIVATE_ORIGINS)
            if problem is not None:
                raise forms.ValidationError(f"{line}: {problem}")
        return lines

    def shape_values(self) -> dict[str, Any]:
        values = {**self.cleaned_data, **(self.fixed or {})}
        return {key: value for key, value in values.items() if key != "agent_id" or value}

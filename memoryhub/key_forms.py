"""The forms that issue a key and give it a successor."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms

from memoryhub import ids
from memoryhub.actors import SCOPE_NAME_LENGTH_MAX
from memoryhub.clock import to_wire
from memoryhub.forms import IssuingForm, ShapedForm
from memoryhub.ground_shapes import CreateKeyBody, RotateKeyBody
from memoryhub.models import Environment
from memoryhub.operations import SCOPE_PURPOSES

HERE, WHOLE_PROJECT = "here", "project"
ACCESS_CHOICES = [("", "No access"), ("read_only", "May read"), ("read_write", "May read and write")]
RECORD_PARTS = ("record_agent", "record_subject", "record_issuer")
OVERLAP_CHOICES = [
    (0, "Not at all: the old key ends now"),
    (3_600, "One hour"),
    (86_400, "One day"),
    (604_800, "Seven days"),
]


def _record_part(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=SCOPE_NAME_LENGTH_MAX)


class KeyForm(IssuingForm):
    """`stores`: (id, name) of those that an agent's key may name; each has a field, by its wire id."""

    issues = ids.API_KEY
    shape = CreateKeyBody
    name = forms.CharField(
        label="Name",
        help_text="Who or what will use it, such as Release agent. The history of a memory shows this name.",
        error_messages={"required": "Give the key a name, so that people know whose it is."},
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=[(scope, f"{scope}: {purpose}") for scope, purpose in SCOPE_PURPOSES.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Tick at least one: a key without any may do nothing."},
    )
    environment = forms.ChoiceField(
        label="Where",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose where the key works."},
    )
    expires_at = forms.DateField(
        label="Last day",
        help_text="The key works to the end of this day, in UTC. Left empty, it does not expire.",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": "Give the day as 2031-12-31."},
    )
    record_agent = _record_part("Agent", "Its name, such as support. Each agent has records of its own.")
    record_subject = _record_part("Whom it speaks with", "The person's or team's name, such as alice.")
    record_issuer = _record_part(
        "Who knows them by that name", "Your sign-in service, or api when your application names them itself."
    )

    def __init__(
        self, *args: Any, environment: Environment, stores: Sequence[tuple[UUID, str]], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.environment_name = environment.name
        self.fields["environment"].choices = [  # type: ignore[attr-defined]
            (HERE, f"{environment.name} only"),
            (WHOLE_PROJECT, "every environment of the project"),
        ]
        self.store_ids = [ids.to_wire(ids.MEMORY_STORE, key) for key, _ in stores]
        for wire_id, (_, name) in zip(self.store_ids, stores, strict=True):
            self.fields[wire_id] = forms.ChoiceField(label=name, choices=ACCESS_CHOICES, required=False)

    @property
    def own_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("name", "scopes", "environment", "expires_at")]

    @property
    def record_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in RECORD_PARTS]

    @property
    def store_fields(self) -> list[forms.BoundField]:
        return [self[wire_id] for wire_id in self.store_ids]

    def clean(self) -> dict[str, Any]:
        """The records of an agent's key are named whole or not at all."""
        typed = self.cleaned_data
        if "agent" in typed.get("scopes", []) and any(typed.get(name) for name in RECORD_PARTS):
            for name in RECORD_PARTS:
                if name not in self.errors and not typed.get(name):
                    self.add_error(name, "Fill in all three, or none for a key that reaches no records.")
        return super().clean()

    def shape_values(self) -> dict[str, Any]:
        typed = self.cleaned_data
        values: dict[str, Any] = {name: typed[name] for name in ("name", "scopes") if name in typed}
        values["environment"] = self.environment_name if typed.get("environment") == HERE else None
        if typed.get("expires_at"):
            values["expires_at"] = to_wire(_end_of(typed["expires_at"]))
        if "agent" in typed.get("scopes", []):
            values["stores"] = [
                {"memory_store_id": wire_id, "access": typed[wire_id]}
                for wire_id in self.store_ids
                if typed.get(wire_id)
            ]
            agent, subject, issuer = (typed.get(name) for name in RECORD_PARTS)
            if agent and subject and issuer:
                principal = {"issuer": issuer, "subject": subject}
                values["record_scope"] = {"agent": agent, "principal": principal}
        return values


def _end_of(day: date) -> datetime:
    """The midnight behind it; the calendar's last day has none."""
    if day == date.max:
        return datetime.combine(day, time.max, UTC)
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


class RotateKeyForm(ShapedForm):
    shape = RotateKeyBody
    overlap_seconds = forms.TypedChoiceField(
        label="How long the old key works beside the new one",
        help_text="Long enough to put the new one everywhere.",
        choices=OVERLAP_CHOICES,
        coerce=int,
        initial=86_400,
    )

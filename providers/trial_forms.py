"""The form that tries what a model would be given."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms

from memoryhub import ids
from providers.bindings import WantedBinding
from providers.limits import NAMESPACE_ID_LENGTH_MAX
from providers.sessions import WantedSession
from providers.trials import Choice
from stores.attachments import WantedStore

INPUT_LENGTH_MAX = 65_536
_BIND, _WRITES = "bind-", "writes-"


class ServiceTrialForm(forms.Form):
    """A recall of a service, for one namespace."""

    input = forms.CharField(
        label="Input",
        help_text="What a user would ask. It is sent to the service as it stands here.",
        strip=False,
        max_length=INPUT_LENGTH_MAX,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Type what a user would ask."},
    )
    namespace = forms.RegexField(
        r"^[A-Za-z0-9_-]{1,128}\Z",
        label="Namespace",
        help_text="Whose memory is asked for: 1 to 128 letters, digits, _ and -. One that was never bound is made by this.",
        max_length=NAMESPACE_ID_LENGTH_MAX,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "autocapitalize": "none",
                "spellcheck": "false",
                "list": "namespaces",
            }
        ),
        error_messages={
            "required": "Name the namespace.",
            "invalid": "A namespace is 1 to 128 letters, digits, _ and -.",
        },
    )


class TrialForm(forms.Form):
    """`choices`: what the agent declares, each with a choice of its own. `stores`: [(id, name)] that can be attached."""

    input = forms.CharField(
        label="Input",
        help_text="What a user asks. Documents are given whole, whatever it is; the memory of another service"
        " would be sent this text. Here it is sent nowhere and not kept.",
        required=False,
        strip=False,
        max_length=INPUT_LENGTH_MAX,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    stores = forms.MultipleChoiceField(
        label="Attached stores", required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self, *args: Any, choices: Sequence[Choice], stores: Sequence[tuple[UUID, str]], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.choices = choices
        self.fields["stores"].choices = [  # type: ignore[attr-defined]
            (ids.to_wire(ids.MEMORY_STORE, key), name) for key, name in stores
        ]
        for one in choices:
            self._add_choice(one)

    def _add_choice(self, one: Choice) -> None:
        options = [("", "Not bound")]
        if one.kind == "document":
            options.append(("collection", "All documents: an overview"))
            options += [(f"document:{id_}", f"{id_}: {title}") for id_, title in one.documents]
            first = f"document:{one.documents[0][0]}" if one.documents else "collection"
        elif one.kind == "records":
            options.append(("records", "The records of whoever asks: its tools"))
            first = "records"
        else:
            options.append(("namespace", "A namespace: only its tools can be shown here"))
            first = ""
        self.fields[_BIND + one.resource_id] = forms.ChoiceField(
            label=one.resource_id, choices=options, required=False, initial=first
        )
        self.fields[_WRITES + one.resource_id] = forms.BooleanField(
            label="The model may write", required=False, initial=True
        )

    @property
    def own_fields(self) -> list[forms.BoundField]:
        return [self["input"]]

    @property
    def rows(self) -> list[tuple[Choice, forms.BoundField, forms.BoundField]]:
        return [(one, self[_BIND + one.resource_id], self[_WRITES + one.resource_id]) for one in self.choices]

    def wanted(self, agent_id: str) -> WantedSession:
        bindings = [
            self._binding(one.resource_id)
            for one in self.choices
            if self.cleaned_data.get(_BIND + one.resource_id)
        ]
        stores = [WantedStore(store_id, "read_write", None) for store_id in self.cleaned_data["stores"]]
        return WantedSession(None, agent_id, None, bindings, stores, "")

    def _binding(self, resource_id: str) -> WantedBinding:
        scope, _, target_id = self.cleaned_data[_BIND + resource_id].partition(":")
        may_write = self.cleaned_data[_WRITES + resource_id] and scope != "collection"
        target_id = "any" if scope == "namespace" else target_id
        return WantedBinding(resource_id, scope, target_id, "read-write" if may_write else "read")

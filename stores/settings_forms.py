"""The forms of a store's settings and of its end. Their limits are those of the API's shapes."""

from typing import Any

from django import forms

from stores.forms import StoreForm

EMPTY_PAIRS_SHOWN = 3


class _PairRows(forms.Widget):
    """Rows of a name and a value, each a field of its own; the page shows them."""

    input_type = "hidden"  # so that the form as a whole leaves it to the page

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[tuple[str, str]]:
        rows = zip(data.getlist(f"{name}_key"), data.getlist(f"{name}_value"), strict=False)
        return [(key, value) for key, value in rows if key or value]

    def render(self, *args: Any, **kwargs: Any) -> str:  # type: ignore[override]
        return ""


class PairsField(forms.Field):
    """Rows as a mapping."""

    widget = _PairRows

    def clean(self, value: list[tuple[str, str]]) -> dict[str, str]:
        keys = [key for key, _ in value]
        if any("\0" in text for row in value for text in row):
            raise forms.ValidationError("A pair holds a character that cannot be kept.")
        if "" in keys:
            raise forms.ValidationError("Give each value a name, or empty both fields of the row.")
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise forms.ValidationError(f"The name {twice} stands twice; keep one of the rows.")
        return dict(value)


class StoreSettingsForm(StoreForm):
    """`metadata` as it is to be; rows that are emptied go."""

    drawn_by_template = ("metadata",)
    metadata = PairsField(required=False)

    def rows(self) -> list[tuple[str, str]]:
        """What was typed or what is kept, and empty ones to fill."""
        return [*(self["metadata"].value() or []), *[("", "")] * EMPTY_PAIRS_SHOWN]


class DeleteStoreForm(forms.Form):
    name = forms.CharField(
        label="The store's name",
        help_text="Type it to show that you mean this store.",
        max_length=1_024,
        error_messages={"required": "Type the name of the store."},
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

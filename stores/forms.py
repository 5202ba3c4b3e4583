"""The forms of the stores. Their limits are those of the API's shapes."""

from typing import Any

from django import forms

from memoryhub.fields import Sha256, StrictSerializer, Text
from memoryhub.forms import ShapedForm
from stores.models import Memory, MemoryVersion
from stores.serializers import CreateMemoryBody, CreateStoreBody, MemoryContent, MemoryPath
from stores.typed_texts import as_typed

NUL_REFUSED = "The text holds a NUL character, which cannot be kept. It is shown as �: remove it."


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


def _hidden(*, required: bool = True) -> forms.CharField:
    return forms.CharField(required=required, strip=False, widget=forms.HiddenInput)


def _content() -> forms.CharField:
    return forms.CharField(
        label="Text",
        required=False,
        strip=False,
        error_messages={"null_characters_not_allowed": NUL_REFUSED},
        widget=forms.Textarea(attrs={"rows": 24, "data-editor": "", "spellcheck": "false"}),
    )


def _path() -> forms.CharField:
    return forms.CharField(
        label="Path",
        help_text="Where the memory stands in its store, such as /customers/acme.md. Directories need not be made first.",
        strip=False,
        error_messages={"required": "Give the memory a path."},
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )


class NewMemory(CreateMemoryBody):
    base = Text(required=False)


class NewMemoryForm(ShapedForm):
    """`base`: the version of a deleted memory that the text was made of."""

    shape = NewMemory
    path = _path()
    content = _content()
    base = _hidden(required=False)


class EditedMemory(StrictSerializer):
    content = MemoryContent()
    content_sha256 = Sha256()
    base = Text()


class EditForm(ShapedForm):
    """`content_sha256`: of the text that the page showed as the current one. `base`: the version typing began with."""

    shape = EditedMemory
    content = _content()
    content_sha256 = _hidden()
    base = _hidden()

    @classmethod
    def of(cls, current: MemoryVersion, *, content: str | None, base: MemoryVersion) -> "EditForm":
        """`content`: what was typed. None: the current text."""
        typed = (current.content or "") if content is None else content
        initial = {"content_sha256": current.content_sha256, "base": base.wire_id}
        return cls(initial={"content": as_typed(typed), **initial})


class MovedMemory(StrictSerializer):
    path = MemoryPath()
    content_sha256 = Sha256()
    expected_path = Text()


class MoveForm(ShapedForm):
    """`content_sha256`, `expected_path`: of the memory as the page showed it."""

    shape = MovedMemory
    path = _path()
    content_sha256 = _hidden()
    expected_path = _hidden()


class DeletedMemory(StrictSerializer):
    content_sha256 = Sha256()
    expected_path = Text()


class DeleteForm(ShapedForm):
    shape = DeletedMemory
    content_sha256 = _hidden()
    expected_path = _hidden()


def seen(memory: Memory) -> dict[str, Any]:
    """What a form carries of the memory that its page shows."""
    return {"content_sha256": memory.content_sha256, "expected_path": memory.path}

"""The forms of documents. Each carries the revision that its page showed."""

from typing import Any

from django import forms

from memoryhub.errors import HubError
from memoryhub.fields import Pattern, StrictSerializer, Text
from memoryhub.forms import ShapedForm, add_refusal
from providers.documents import Document
from providers.limits import DOCUMENT_ID_LENGTH_MAX
from stores.forms import NUL_REFUSED
from stores.typed_texts import as_typed

_ID = r"^[A-Za-z0-9_-]+\Z"
_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


def _hidden() -> forms.CharField:
    return forms.CharField(required=False, strip=False, widget=forms.HiddenInput)


def _title() -> forms.CharField:
    return forms.CharField(
        label="Title",
        help_text="For people, and in the overview that models get of all documents. At most 240 bytes.",
        strip=False,
        error_messages={"required": "Give the document a title."},
    )


def _summary() -> forms.CharField:
    return forms.CharField(
        label="Summary",
        help_text="One line for the overview. Models may change it with the text. May be left empty; at most 240 bytes.",
        required=False,
        strip=False,
    )


def _content() -> forms.CharField:
    return forms.CharField(
        label="Text",
        required=False,
        strip=False,
        error_messages={"null_characters_not_allowed": NUL_REFUSED},
        widget=forms.Textarea(attrs={"rows": 20, "data-editor": "", "spellcheck": "false"}),
    )


class NewDocument(StrictSerializer):
    document_id = Pattern(_ID, length_max=DOCUMENT_ID_LENGTH_MAX)
    title = Text(length_min=1)
    summary = Text()
    content = Text()


class NewDocumentForm(ShapedForm):
    shape = NewDocument
    document_id = forms.RegexField(
        _ID,
        label="Id",
        help_text="Sessions bind the document by it, such as team-a. It does not change, and is used once.",
        widget=forms.TextInput(attrs=_PLAIN),
        max_length=DOCUMENT_ID_LENGTH_MAX,
        error_messages={
            "required": "Give the document an id.",
            "invalid": "An id is 1 to 128 letters, digits, _ and -.",
        },
    )
    title = _title()
    summary = _summary()
    content = _content()


class EditedDocument(StrictSerializer):
    summary = Text()
    content = Text()
    revision = Text(length_min=1)
    base = Text(length_min=1)


class EditDocumentForm(ShapedForm):
    """`revision`: what the page showed as the current one. `base`: the revision that typing began with."""

    shape = EditedDocument
    summary = _summary()
    content = _content()
    revision = _hidden()
    base = _hidden()

    @classmethod
    def of(cls, current: Document, *, content: str, summary: str, base: str) -> "EditDocumentForm":
        """`content`, `summary`: what was typed, or what stands."""
        named = {"revision": current.revision, "base": base}
        return cls(initial={"content": as_typed(content), "summary": summary, **named})


class TitledDocument(StrictSerializer):
    title = Text(length_min=1)
    revision = Text(length_min=1)


class TitleForm(ShapedForm):
    shape = TitledDocument
    title = _title()
    revision = _hidden()


class DeleteDocumentForm(forms.Form):
    """`typed_id`: the id of the document once more."""

    typed_id = forms.CharField(
        label="The document's id",
        help_text="Type it to show that you mean this document.",
        max_length=DOCUMENT_ID_LENGTH_MAX,
        error_messages={"required": "Type the id of the document."},
        widget=forms.TextInput(attrs=_PLAIN),
    )
    revision = _hidden()

    def __init__(self, *args: Any, document_id: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.document_id = document_id

    def clean_typed_id(self) -> str:
        typed = str(self.cleaned_data["typed_id"])
        if typed != self.document_id:
            raise forms.ValidationError(f"Type {self.document_id} to delete it.")
        return typed


def refuse(form: forms.Form, error: HubError) -> None:
    """The contract speaks of the text, the form of its content; another id is that of the path."""
    of_id = error.message.startswith(("path: ", "The document "))
    add_refusal(form, error, field="document_id" if of_id else "content")

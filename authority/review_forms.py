"""The forms of the pages of reviewed memory. They check shape; rules live in the verbs."""

from typing import Any

from django import forms

from authority.canonical import NotCanonical, is_code, is_digest, parse
from authority.graph import Wire, find_head
from authority.limits import CODE_LENGTH_MAX, KEY_LENGTH_MAX, ROUTES_MAX
from authority.models import Route, Space
from authority.reviews import NOTE_LENGTH_MAX, Choice
from memoryhub.errors import InvalidRequest

INCOMPLETE = "The form was not complete. Open the page again, and send it once more."


class RejectForm(forms.Form):
    note = forms.CharField(
        label="Reason",
        required=False,
        max_length=NOTE_LENGTH_MAX,
        help_text="Your colleagues see it beside the nomination.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class SpaceForm(forms.Form):
    space_id = forms.CharField(label="Name", max_length=CODE_LENGTH_MAX, help_text="Such as acme.canonical.")
    realm_id = forms.CharField(
        label="Realm", max_length=CODE_LENGTH_MAX, help_text="Whose memory it is, such as tenant:acme."
    )
    profile_kind = forms.ChoiceField(
        label="Kind",
        choices=[("canonical", "Canonical: reviewed memory"), ("working", "Working: the notes of agents")],
        widget=forms.RadioSelect,
        initial="canonical",
    )
    authority_id = forms.CharField(
        label="Authority ID",
        max_length=CODE_LENGTH_MAX,
        help_text="The name under which results and receipts show it.",
    )


class AuthorityForm(forms.Form):
    canonical = forms.ChoiceField(label="Canonical space", help_text="What was reviewed.")
    working = forms.ChoiceField(label="Working space", help_text="What agents noted.")
    actor_id = forms.CharField(
        label="Actor of remembered records", max_length=CODE_LENGTH_MAX, initial="agent"
    )
    adoption_actor_id = forms.CharField(
        label="Actor of adoptions", max_length=CODE_LENGTH_MAX, initial="reviewer"
    )
    routes = forms.CharField(
        label="Routes",
        help_text="One a line: a name, a space, and what nominations of it are for. Such as: review kb.review",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, spaces: list[Space], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for kind in ("canonical", "working"):
            of_kind = [(one.wire_id, one.space_id) for one in spaces if one.profile_kind == kind]
            field = self.fields[kind]
            assert isinstance(field, forms.ChoiceField)
            field.choices = of_kind

    def clean_routes(self) -> list[Wire]:
        lines = [line.split() for line in self.cleaned_data["routes"].splitlines() if line.strip()]
        if not all(len(words) == 2 for words in lines) or len(lines) > ROUTES_MAX:
            raise forms.ValidationError("Each line is a name, a space, and a purpose.")
        return [{"destinationPurpose": purpose, "nominationId": name} for name, purpose in lines]


def read_head(text: str) -> Wire:
    """Of a hidden field: the head that the page showed. Raises: InvalidRequest."""
    try:
        value: Wire = parse(text)
    except NotCanonical as error:
        raise InvalidRequest(INCOMPLETE) from error
    if find_head(value) is None:
        raise InvalidRequest(INCOMPLETE)
    return value


def read_claims(ticks: list[str]) -> list[Wire]:
    """Of ticked boxes: `KEY SHA256`, the digest that the page showed. Raises: InvalidRequest."""
    claims = []
    for tick in ticks:
        key, _, sha256 = tick.partition(" ")
        if not is_code(key, length_max=KEY_LENGTH_MAX) or not is_digest(sha256):
            raise InvalidRequest(INCOMPLETE)
        claims.append({"expectedPriorRecordSha256": sha256, "key": key, "v": 1})
    return claims


def read_choices(values: list[str]) -> list[Choice]:
    """Of ticked boxes of the queue: `AUTHORITY_ID SHA256`. Raises: InvalidRequest."""
    choices = []
    for value in values:
        authority_id, _, sha256 = value.partition(" ")
        if not is_digest(sha256):
            raise InvalidRequest(INCOMPLETE)
        choices.append(Choice(authority_id, sha256))
    return list(dict.fromkeys(choices))


class MemoryForm(forms.Form):
    """`route`: `AUTHORITY_ID NAME`."""

    route = forms.ChoiceField(label="For", help_text="What it would be reviewed for, and where.")

    def __init__(self, *args: Any, routes: list[Route], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["route"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (
                f"{one.authority.wire_id} {one.nomination_id}",
                f"{one.destination_purpose}, {one.authority.canonical.authority_id}",
            )
            for one in routes
        ]

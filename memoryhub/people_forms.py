"""The forms about a project's people."""

from django import forms

from memoryhub import ids
from memoryhub.forms import IssuingForm, ShapedForm
from memoryhub.ground_shapes import ChangeRoleBody, InvitationBody
from memoryhub.operations import ROLE_PURPOSES

ROLE_CHOICES = [(role, f"{role}: {purpose}") for role, purpose in ROLE_PURPOSES.items()]


class RoleForm(ShapedForm):
    """`expected_role`: the one it was shown for."""

    shape = ChangeRoleBody
    expected_role = forms.CharField(widget=forms.HiddenInput)
    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES, widget=forms.RadioSelect)


class InvitationForm(IssuingForm):
    issues = ids.INVITATION
    shape = InvitationBody
    email = forms.CharField(
        label="E-mail address",
        help_text="They sign in with it. The hub sends no mail: you get a link to give to them.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Give the address of the person."},
    )
    role = forms.ChoiceField(
        label="Role",
        choices=ROLE_CHOICES,
        initial="viewer",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what they may do here."},
    )

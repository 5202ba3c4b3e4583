"""The form of how long the versions of a store are kept. Its limits are those of the API's shapes."""

from typing import Any

from django import forms

from memoryhub.errors import InvalidRequest
from stores.limits import RETENTION_DAYS_MAX, RETENTION_VERSIONS_MAX
from stores.retention import Expected, Policy
from stores.retention_serializers import VERSIONS_MIN_DEFAULT


class RetentionForm(forms.Form):
    """`shown_*`: the policy that the page showed, empty for none."""

    days = forms.IntegerField(
        label="Days",
        help_text="A version that was replaced longer ago goes. Leave it empty to keep every version for ever.",
        min_value=1,
        max_value=RETENTION_DAYS_MAX,
        required=False,
    )
    versions_min = forms.IntegerField(
        label="Versions of each memory that always stay",
        help_text="The newest ones, however old, the current content among them.",
        min_value=1,
        max_value=RETENTION_VERSIONS_MAX,
    )

    @property
    def policy(self) -> Policy | None:
        days = self.cleaned_data["days"]
        return None if days is None else Policy(days, self.cleaned_data["versions_min"])


def kept_values(policy: Policy | None) -> dict[str, Any]:
    if policy is None:
        return {"days": None, "versions_min": VERSIONS_MIN_DEFAULT}
    return {"days": policy.days, "versions_min": policy.versions_min}


def shown_policy(data: Any) -> Expected:
    """Raises: InvalidRequest."""
    days, versions_min = data.get("shown_days"), data.get("shown_versions_min")
    if days == "" and versions_min == "":
        return "for_ever"
    numbers = [
        text for text in (days, versions_min) if text and text.isascii() and text.isdigit() and len(text) < 10
    ]
    if len(numbers) != 2:
        raise InvalidRequest("The form is not whole; reload the page.")
    return Policy(int(numbers[0]), int(numbers[1]))

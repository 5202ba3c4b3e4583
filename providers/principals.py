"""Whose input is current: the principal that the trusted application names, of a session or of one of its requests. Pure.

Source: contract of the memory provider, section 1.1.
"""

from dataclasses import dataclass
from typing import Any

from memoryhub.errors import InvalidRequest
from providers.contract import check_text, scope_of
from providers.limits import SCOPE_PART_BYTES_MAX

OWN_ISSUER = "project"  # of a session whose application names nobody


@dataclass(frozen=True, slots=True)
class Principal:
    issuer: str
    subject: str

    @property
    def scope(self) -> str:
        return scope_of(self.issuer, self.subject)

    def to_wire(self) -> dict[str, str]:
        return {"issuer": self.issuer, "subject": self.subject}


def read_principal(given: dict[str, Any] | None) -> Principal | None:
    """Raises: InvalidRequest for one that no scope can be made of."""
    if given is None:
        return None
    principal = Principal(given["issuer"], given["subject"])
    try:
        check_text(principal.scope, "principal", bytes_max=SCOPE_PART_BYTES_MAX)
    except ValueError as error:
        raise InvalidRequest(f"principal: {error}") from error
    return principal

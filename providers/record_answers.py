"""What the doors answer of records: how a write went, and the error of a provider in the hub's own words.

Source: contract of the memory provider, section 10.
"""

from dataclasses import dataclass
from typing import Any

from memoryhub.errors import HubError, PermissionRefused, ProviderTimeout, Unavailable, Unprocessable
from providers.contract import Err, ProviderError, RecordRef
from providers.guard import Written


@dataclass(frozen=True, slots=True)
class Waiting:
    """A write that a person decides on. `id`: of the write; `message`: what its model is told."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Saved:
    """`ref` None: it is taken for done, and nobody knows as what. `is_uncertain`: it may have been saved. `waiting`: not yet."""

    ref: RecordRef | None
    is_new: bool
    is_uncertain: bool = False
    waiting: Waiting | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Once it is certain nothing answers the text any more. `waiting`: it is not forgotten yet."""

    is_uncertain: bool = False
    waiting: Waiting | None = None


def saved_of(written: Written) -> Saved:
    """Raises: what the write failed with."""
    if written.is_uncertain:
        return Saved(None, written.is_new, is_uncertain=True)
    return Saved(value_of(written), written.is_new)


def forgotten_of(written: Written) -> Forgotten:
    """Raises: what the write failed with."""
    if written.is_uncertain:
        return Forgotten(is_uncertain=True)
    value_of(written)
    return Forgotten()


def value_of(written: Written) -> Any:
    """What a write gave. Raises: what it failed with."""
    if isinstance(written.result, Err):
        raise hub_error(written.result.error)
    return written.result.value


def hub_error(error: ProviderError) -> HubError:
    message = f"The memory provider refused: {error.message}"
    if error.code == "invalid":
        return Unprocessable(message, error_code="invalid")
    if error.code == "scope_violation":
        return PermissionRefused(message, error_code="scope_violation")
    if error.code == "timeout":
        return ProviderTimeout(f"The memory provider did not answer: {error.message}", error_code="timeout")
    return Unavailable(
        f"The memory provider cannot serve now: {error.message}", error_code="provider_unavailable"
    )

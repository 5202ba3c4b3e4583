"""Whose records a caller may reach: a trusted application says for whom it asks, an agent's key has one scope and no other."""

from dataclasses import dataclass

from memoryhub import tenancy
from memoryhub.actors import Actor, RecordScope
from memoryhub.errors import InvalidRequest, PermissionRefused
from providers.contract import Scope, scope_of
from providers.record_scopes import tenant_of

NAMES_OF_SCOPE = ("agent", "issuer", "subject")


@dataclass(frozen=True, slots=True)
class WantedScope:
    """`environment` None: the credential's own. `of` None: the scope of the credential."""

    environment: str | None
    of: RecordScope | None


def require_scope(wanted: WantedScope, *, actor: Actor) -> Scope:
    """The scope that is asked for. Raises: NotFound for a foreign environment, InvalidRequest, PermissionRefused."""
    environment_id = tenancy.choose_environment(wanted.environment, actor=actor)
    of = wanted.of or actor.record_scope
    if of is None:
        if actor.is_agent:
            raise _refused()
        raise InvalidRequest("scope: Name the agent and the principal whose records are meant.")
    if actor.is_agent and of != actor.record_scope:
        raise _refused()
    try:
        return Scope(tenant_of(actor.project_id, environment_id), of.agent, scope_of(of.issuer, of.subject))
    except ValueError as error:
        raise InvalidRequest(f"scope: {error}") from error


def require_own_scope(wanted: WantedScope, *, actor: Actor) -> None:
    """Of a session's token, which has the scope of its session and names none. Raises: NotFound, PermissionRefused."""
    tenancy.choose_environment(wanted.environment, actor=actor)
    if wanted.of is not None:
        raise PermissionRefused(
            "A session's token reaches the records of its session, and names no scope.",
            error_code="scope_violation",
        )


def _refused() -> PermissionRefused:
    return PermissionRefused(
        "This credential reaches the records of one agent and principal, which are named on it, or none.",
        error_code="scope_violation",
    )

"""Promise K2: whoever has a copy of the database has no credential that works."""

import base64
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client

from memoryhub import accounts, invitations
from memoryhub.models import ApiKey
from tests.plants import run_sql
from tests.world import Caller, Tenant

type Way = Callable[[str], bool]
"""Whether somebody who presents this gets in."""

# Of the tenant's own rows: other tests leave theirs.
CREDENTIAL_TABLES = {
    "memoryhub_apikey": "project_id = %(project)s",
    "memoryhub_signinlink": "user_id = %(owner)s",
    "memoryhub_invitation": "project_id = %(project)s",
    "memoryhub_browsersession": "user_id = %(owner)s",
}


def by_key(secret: str) -> bool:
    newest = ApiKey.objects.latest("id")
    return any(
        Caller(key)("GET", "/v1/projects").status == 200 for key in (secret, f"mh_{newest.id.hex}_{secret}")
    )


def by_link(token: str) -> bool:
    return bool(Client().get(f"/sign-in/{token}").status_code == 200)


def by_invitation(token: str) -> bool:
    return bool(Client().get(f"/invitations/{token}").status_code == 200)


def by_session(cookie: str) -> bool:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return bool(client.get("/").status_code == 200)


WAYS: dict[str, Way] = {"key": by_key, "link": by_link, "invitation": by_invitation, "session": by_session}


@pytest.fixture
def credentials(tenant: Tenant) -> dict[str, str]:
    """One of each kind, as its owner has it."""
    client = Client()
    client.force_login(tenant.owner)
    invited = invitations.create_invitation(email="new@example.com", role="owner", actor=tenant.actor)
    return {
        "key": tenant.new_key("admin", whole=True).split("_", 2)[2],
        "link": accounts.create_sign_in_link(tenant.owner.id),
        "invitation": invited.token,
        "session": client.cookies[settings.SESSION_COOKIE_NAME].value,
    }


def stored_values(tenant: Tenant) -> Iterator[str]:
    """Every value of the tables that keep something of a credential, in the spellings a credential could have."""
    own = {"project": tenant.project.id, "owner": tenant.owner.id}
    for table, condition in CREDENTIAL_TABLES.items():
        rows = run_sql(
            f"SELECT value FROM {table} AS row, jsonb_each_text(to_jsonb(row)) WHERE {condition}", own
        )
        assert rows, f"VACUOUS: {table} is empty"
        for (value,) in rows:
            if value is None or "/" in value:  # no credential has one, and a URL would end there
                continue
            yield value
            if value.startswith("\\x"):
                stored = bytes.fromhex(value[2:])
                yield stored.hex()
                yield base64.urlsafe_b64encode(stored).decode().rstrip("=")


@pytest.mark.parametrize("kind", WAYS)
def test_what_its_owner_has_lets_in_and_what_the_database_keeps_does_not(
    credentials: dict[str, str], tenant: Tenant, kind: str
) -> None:
    values = {value for value in stored_values(tenant) if value and value.isascii() and value.isprintable()}
    assert len(values) > 20
    assert [value for value in values if WAYS[kind](value)] == []
    assert WAYS[kind](credentials[kind])
    assert credentials[kind] not in values

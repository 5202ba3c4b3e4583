"""An invitation and its revocation at once: one of them wins, and both tell the truth."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from memoryhub import invitations
from memoryhub.errors import HubError
from memoryhub.models import Membership
from tests.world import Tenant, make_tenant

ROUNDS = 20


@pytest.fixture
def tenant(committed: Any) -> Tenant:
    return make_tenant()


def attempt(action: Any) -> bool:
    try:
        action()
    except HubError:
        return False
    finally:
        connection.close()
    return True


def test_a_revoked_invitation_is_never_accepted(tenant: Tenant) -> None:
    for number in range(ROUNDS):
        email = f"{tenant.project.name}-{number}@example.com"
        issued = invitations.create_invitation(email=email, role="viewer", actor=tenant.actor)
        accept = lambda: invitations.accept_invitation(issued.token, name="x", password="a long passphrase")  # noqa: B023, E731
        revoke = lambda: invitations.revoke_invitation(issued.invitation.wire_id, actor=tenant.actor)  # noqa: B023, E731
        with ThreadPoolExecutor(2) as pool:
            accepted, revoked = pool.map(attempt, (accept, revoke))
        assert accepted != revoked
        assert Membership.objects.filter(user__email=email).exists() == accepted

"""No operation of the document answers anything but 401 without a valid key."""

import pytest
from django.test import Client
from django.utils import timezone

from memoryhub import keys
from memoryhub.models import ApiKey
from tests.authorization.attempts import Attempt, attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.plots import Plot
from tests.authorization.snapshots import snapshot_project
from tests.documented import EVERY_OPERATION, DocumentedOperation

REFUSED_HEADERS = {
    "nothing": {},
    "an empty bearer": {"Authorization": "Bearer "},
    "another scheme": {"Authorization": "Basic dXNlcjpwYXNz"},
    "no scheme": {"Authorization": "{admin}"},
    "words": {"Authorization": "Bearer mh_unknown"},
    "not ASCII": {"Authorization": "Bearer mh_\xe9"},
    "an unknown key": {"Authorization": f"Bearer mh_{'0' * 32}_{'A' * 43}"},
    "a wrong secret": {"Authorization": "Bearer {wrong}"},
    "a revoked key": {"X-Api-Key": "{revoked}"},
    "an expired key": {"Authorization": "Bearer {expired}"},
    "two keys that differ": {"Authorization": "Bearer {admin}", "X-Api-Key": "{other}"},
    "a bad scheme beside a good key": {"Authorization": "Basic x", "X-Api-Key": "{admin}"},
    "a key in a cookie": {"Cookie": "key={admin}"},
}


@pytest.fixture
def presented(plots: Plots) -> dict[str, str]:
    """Keys by what is wrong with them."""
    tenant = plots.mine.tenant
    revoked = keys.create_key(environment="development", name="revoked", scopes=["admin"], actor=tenant.actor)
    keys.revoke_key(revoked.key.wire_id, actor=tenant.actor)
    expired = keys.create_key(environment="development", name="old", scopes=["admin"], actor=tenant.actor)
    ApiKey.objects.filter(id=expired.key.id).update(expires_at=timezone.now())
    return {
        "admin": tenant.key,
        "other": tenant.production_key,
        "wrong": tenant.key[:-1] + ("A" if tenant.key[-1] != "A" else "B"),
        "revoked": revoked.secret,
        "expired": expired.secret,
    }


@EVERY_OPERATION
def test_without_a_valid_key_every_operation_answers_401(
    plots: Plots, presented: dict[str, str], operation: DocumentedOperation
) -> None:
    before = snapshot_project(plots.mine.tenant.project)
    attempt = attempt_on(operation, plots.mine)
    for kind, headers in REFUSED_HEADERS.items():
        shown = {name: value.format(**presented) for name, value in headers.items()}
        refuse(attempt, shown, kind, plots.mine)
    assert snapshot_project(plots.mine.tenant.project) == before


@EVERY_OPERATION
def test_the_cookie_of_a_signed_in_person_is_no_key(plots: Plots, operation: DocumentedOperation) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(plots.mine.tenant.owner)
    refuse(attempt_on(operation, plots.mine), {}, "a session", plots.mine, client)


def test_the_keys_of_this_test_differ_from_a_working_one_in_one_thing(
    plots: Plots, presented: dict[str, str]
) -> None:
    client = Client()
    for headers in ({"Authorization": "bearer {admin}"}, {"X-Api-Key": "{admin}"}):
        shown = {name: value.format(**presented) for name, value in headers.items()}
        assert client.get("/v1/projects", headers=shown).status_code == 200
    both = {"Authorization": f"Bearer {presented['admin']}", "X-Api-Key": presented["admin"]}
    assert client.get("/v1/projects", headers=both).status_code == 200


def refuse(
    attempt: Attempt, headers: dict[str, str], kind: str, victim: Plot, client: Client | None = None
) -> None:
    operation = attempt.operation
    answer = (client or Client(raise_request_exception=False)).generic(
        operation.method, operation.url(attempt.ids | attempt.seed.path), headers=headers
    )
    assert answer.status_code == 401, f"{kind}: {answer.status_code}"
    assert answer["WWW-Authenticate"] == "Bearer", kind
    assert answer.json()["error"]["type"] == "authentication_error", kind
    assert not any(secret in answer.content for secret in victim.secrets), kind

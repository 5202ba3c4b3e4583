from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from memoryhub.models import ApiKey, AuditEvent
from tests.world import Caller, Tenant, unused_id


def test_a_key_is_shown_once_and_kept_as_a_digest(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "reader", "scopes": ["read"]})
    assert made.status == 200, made.body
    secret = made.body["key"]
    shown = tenant.call()("GET", f"/v1/api_keys/{made.body['id']}").body
    assert "key" not in shown
    assert shown == {name: value for name, value in made.body.items() if name != "key"}
    row = ApiKey.objects.get(id=made.body["id"].removeprefix("apikey_"))
    assert secret.split("_", 2)[2] not in str(vars(row))


def test_a_new_key_works_with_its_scopes_and_no_more(tenant: Tenant) -> None:
    secret = tenant.call()("POST", "/v1/api_keys", {"name": "reader", "scopes": ["read"]}).body["key"]
    reader = Caller(secret)
    assert reader("GET", "/v1/memory_stores").status == 200
    refused = reader("POST", "/v1/memory_stores", {"name": "x"})
    assert (refused.status, refused.error_type, refused.error_code) == (
        403,
        "permission_error",
        "scope_missing",
    )


def test_both_headers_are_accepted_and_must_agree(tenant: Tenant) -> None:
    caller = tenant.call()
    assert (
        caller("GET", "/v1/memory_stores", headers={"Authorization": "", "X-Api-Key": tenant.key}).status
        == 401
    )
    assert caller("GET", "/v1/memory_stores", headers={"X-Api-Key": tenant.key}).status == 200
    differing = caller("GET", "/v1/memory_stores", headers={"X-Api-Key": tenant.production_key})
    assert (differing.status, differing.error_type) == (401, "authentication_error")


@pytest.mark.parametrize(
    "header", ["Basic x", "Bearer", "Bearer  ", "bearer mh_x", "mh_" + "0" * 32 + "_" + "A" * 43]
)
def test_a_malformed_or_unknown_key_is_refused(tenant: Tenant, header: str) -> None:
    answer = tenant.call()("GET", "/v1/memory_stores", headers={"Authorization": header})
    assert (answer.status, answer.error_type) == (401, "authentication_error")


def test_a_revoked_key_is_refused_at_the_next_request(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "reader", "scopes": ["read"]}).body
    reader = Caller(made["key"])
    assert reader("GET", "/v1/memory_stores").status == 200
    revoked = tenant.call()("POST", f"/v1/api_keys/{made['id']}/revoke").body
    assert reader("GET", "/v1/memory_stores").status == 401
    again = tenant.call()("POST", f"/v1/api_keys/{made['id']}/revoke").body
    assert again["revoked_at"] == revoked["revoked_at"] is not None
    assert AuditEvent.objects.filter(action="api_key.revoked", subject_id=made["id"]).count() == 1


def test_an_expired_key_is_refused(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "old", "scopes": ["read"]}).body
    assert Caller(made["key"])("GET", "/v1/memory_stores").status == 200
    ApiKey.objects.filter(name="old").update(expires_at=timezone.now())
    assert Caller(made["key"])("GET", "/v1/memory_stores").status == 401


def test_a_key_cannot_be_made_with_an_expiry_that_has_passed(tenant: Tenant) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        for expires_at, status in ((now, 400), (now + timedelta(microseconds=1), 200)):
            body = {"name": "k", "scopes": ["read"], "expires_at": expires_at.isoformat()}
            assert tenant.call()("POST", "/v1/api_keys", body).status == status


def test_a_rotated_key_overlaps_its_successor_for_as_long_as_asked(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "reader", "scopes": ["read"]}).body
    rotated = tenant.call()("POST", f"/v1/api_keys/{made['id']}/rotate", {"overlap_seconds": 60}).body
    assert rotated["id"] != made["id"] and rotated["scopes"] == ["read"]
    assert [Caller(key)("GET", "/v1/memory_stores").status for key in (made["key"], rotated["key"])] == [
        200,
        200,
    ]
    last = tenant.call()("POST", f"/v1/api_keys/{rotated['id']}/rotate", {}).body
    assert [Caller(key)("GET", "/v1/memory_stores").status for key in (rotated["key"], last["key"])] == [
        401,
        200,
    ]


def test_the_overlap_has_a_limit(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "reader", "scopes": ["read"]}).body
    week = 7 * 86_400
    url = f"/v1/api_keys/{made['id']}/rotate"
    assert tenant.call()("POST", url, {"overlap_seconds": week + 1}).status == 400
    assert tenant.call()("POST", url, {"overlap_seconds": week}).status == 200


def test_an_environment_key_makes_and_sees_only_keys_of_its_environment(tenant: Tenant) -> None:
    caller = tenant.call()
    foreign = caller("POST", "/v1/api_keys", {"name": "x", "scopes": ["read"], "environment": "production"})
    assert (foreign.status, foreign.error_type) == (404, "not_found_error")
    own = caller("POST", "/v1/api_keys", {"name": "x", "scopes": ["read"], "environment": None}).body
    assert own["environment"] == "development"
    listed = caller("GET", "/v1/api_keys").body["data"]
    assert {key["environment"] for key in listed} == {"development"}
    hidden = Caller(tenant.production_key)("GET", f"/v1/api_keys/{own['id']}")
    unknown = Caller(tenant.production_key)("GET", f"/v1/api_keys/{unused_id('apikey')}")
    assert hidden.status == unknown.status == 404 and hidden.message == unknown.message


def test_an_agent_key_names_existing_stores_of_its_environment(tenant: Tenant, stranger: Tenant) -> None:
    store = tenant.call()("POST", "/v1/memory_stores", {"name": "s"}).body["id"]
    foreign = stranger.call()("POST", "/v1/memory_stores", {"name": "s"}).body["id"]

    def create(stores: object, scopes: tuple[str, ...] = ("agent",)) -> int:
        return tenant.call()(
            "POST", "/v1/api_keys", {"name": "a", "scopes": list(scopes), "stores": stores}
        ).status

    assert create([{"memory_store_id": store, "access": "read_only"}]) == 200
    assert create([{"memory_store_id": foreign}]) == 404
    assert create([{"memory_store_id": unused_id("memstore")}]) == 404
    assert create([{"memory_store_id": store}, {"memory_store_id": store}]) == 400
    assert create([{"memory_store_id": store}], ("read",)) == 400
    assert create([{"memory_store_id": store}], ("agent", "read")) == 400


def test_a_project_has_a_most_of_keys(tenant: Tenant, settings: object) -> None:
    settings.KEYS_MAX = ApiKey.objects.filter(project=tenant.project).count() + 1
    body = {"name": "one", "scopes": ["read"]}
    first = tenant.call()("POST", "/v1/api_keys", body)
    full = tenant.call()("POST", "/v1/api_keys", body)
    assert (first.status, full.status, full.error_code) == (200, 400, "keys_full")
    tenant.call()("POST", f"/v1/api_keys/{first.body['id']}/revoke")
    assert tenant.call()("POST", "/v1/api_keys", body).status == 200


def test_at_the_limit_a_key_can_still_be_rotated(tenant: Tenant, settings: object) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "leaked", "scopes": ["read"]}).body
    settings.KEYS_MAX = ApiKey.objects.filter(project=tenant.project, revoked_at=None).count()
    rotated = tenant.call()("POST", f"/v1/api_keys/{made['id']}/rotate", {"overlap_seconds": 60})
    assert rotated.status == 200
    assert (
        tenant.call()("POST", "/v1/api_keys", {"name": "one", "scopes": ["read"]}).error_code == "keys_full"
    )


def test_an_agent_key_is_rotated_though_a_store_of_it_is_gone(tenant: Tenant, store_id: str) -> None:
    body = {"name": "agent", "scopes": ["agent"], "stores": [{"memory_store_id": store_id}]}
    made = tenant.call()("POST", "/v1/api_keys", body).body
    tenant.call()("DELETE", f"/v1/memory_stores/{store_id}")
    assert tenant.call()("POST", f"/v1/api_keys/{made['id']}/rotate", {}).body["scopes"] == ["agent"]


def test_keys_are_listed_newest_first_in_pages(tenant: Tenant) -> None:
    for number in range(3):
        tenant.call()("POST", "/v1/api_keys", {"name": f"key {number}", "scopes": ["read"]})
    first = tenant.call()("GET", "/v1/api_keys", query={"limit": 2}).body
    second = tenant.call()("GET", "/v1/api_keys", query={"limit": 2, "page": first["next_page"]}).body
    names = [key["name"] for key in first["data"] + second["data"]]
    assert names == ["key 2", "key 1", "key 0", "admin"]
    assert (first["has_more"], second["has_more"], second["next_page"]) == (True, False, None)


def test_too_many_requests_with_one_key_are_told_when_to_come_back(tenant: Tenant, settings: object) -> None:
    settings.KEY_REQUESTS_PER_MINUTE_MAX = 3
    reader = tenant.caller("read")
    answers = [reader("GET", "/v1/memory_stores") for _ in range(7)]
    # The minute may turn once between two of them.
    assert answers[2].status == 200 and 429 in [answer.status for answer in answers]
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.error_type == "rate_limit_error" and 1 <= int(refused.headers["retry-after"]) <= 60
    assert tenant.call()("GET", "/v1/memory_stores").status == 200

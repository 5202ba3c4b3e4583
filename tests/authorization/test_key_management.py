"""Who may make, see and end keys: never beyond one's own reach."""

import pytest

from memoryhub import ids
from memoryhub.models import ApiKey
from tests.authorization.attempts import without_request_id
from tests.world import Caller, Tenant, unused_id


def test_an_environment_admin_makes_keys_for_its_own_environment_only(tenant: Tenant) -> None:
    call = tenant.call()
    made = call("POST", "/v1/api_keys", {"name": "new", "scopes": ["host"]})
    assert (made.status, made.body["environment"]) == (200, "development")
    named = call("POST", "/v1/api_keys", {"name": "new", "scopes": ["host"], "environment": "development"})
    assert (named.status, named.body["environment"]) == (200, "development")
    count = ApiKey.objects.count()
    for other in ("production", tenant.production.wire_id, "nowhere", unused_id(ids.ENVIRONMENT)):
        refused = call("POST", "/v1/api_keys", {"name": "new", "scopes": ["host"], "environment": other})
        assert refused.error_type == "not_found_error", other
    assert ApiKey.objects.count() == count


def test_null_for_the_environment_is_not_the_whole_project(tenant: Tenant) -> None:
    made = tenant.call()("POST", "/v1/api_keys", {"name": "new", "scopes": ["admin"], "environment": None})
    assert (made.status, made.body["environment_id"]) == (200, tenant.development.wire_id)


def test_a_whole_project_admin_makes_keys_of_both_reaches(tenant: Tenant) -> None:
    call = tenant.caller("admin", whole=True)
    assert call("POST", "/v1/api_keys", {"name": "new", "scopes": ["admin"]}).body["environment_id"] is None
    named = call("POST", "/v1/api_keys", {"name": "new", "scopes": ["admin"], "environment": "production"})
    assert named.body["environment"] == "production"


def test_an_environment_admin_sees_and_ends_only_its_own_keys(tenant: Tenant) -> None:
    call = tenant.call()
    other_id, whole_id = _key_id(tenant.production_key), _key_id(tenant.new_key("read", whole=True))
    shown = [key["id"] for key in call("GET", "/v1/api_keys", query={"limit": 100}).body["data"]]
    assert _key_id(tenant.key) in shown
    for foreign_id in (other_id, whole_id):
        assert foreign_id not in shown
        for method, end in (("GET", ""), ("POST", "/revoke"), ("POST", "/rotate")):
            body = {} if end == "/rotate" else None
            foreign = call(method, f"/v1/api_keys/{foreign_id}{end}", body)
            absent = call(method, f"/v1/api_keys/{unused_id(ids.API_KEY)}{end}", body)
            assert foreign.status == 404
            assert without_request_id(foreign) == without_request_id(absent)
    assert ApiKey.objects.filter(revoked_at=None).count() >= 4


def test_a_rotated_key_has_the_rights_of_the_old_one_and_no_more(tenant: Tenant) -> None:
    call = tenant.call()
    store_id = call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    stores = [{"memory_store_id": store_id, "access": "read_only"}]
    old = call("POST", "/v1/api_keys", {"name": "agent", "scopes": ["agent"], "stores": stores}).body
    new = call("POST", f"/v1/api_keys/{old['id']}/rotate", {}).body
    same = ("name", "scopes", "stores", "environment_id", "expires_at")
    assert [new[name] for name in same] == [old[name] for name in same]
    assert new["stores"] == stores


@pytest.mark.parametrize("scope", ["host", "review", "read", "worker", "agent"])
def test_only_admins_manage_keys(tenant: Tenant, scope: str) -> None:
    call, key_id = tenant.caller(scope), _key_id(tenant.key)
    tried = [
        call("GET", "/v1/api_keys"),
        call("GET", f"/v1/api_keys/{key_id}"),
        call("POST", "/v1/api_keys", {"name": "new", "scopes": [scope]}),
        call("POST", f"/v1/api_keys/{key_id}/rotate", {}),
        call("POST", f"/v1/api_keys/{key_id}/revoke"),
    ]
    assert [answer.status for answer in tried] == [403] * 5
    assert ApiKey.objects.get(id=ids.from_wire(ids.API_KEY, key_id)).revoked_at is None


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"scopes": ["agent", "admin"]}, "scopes"),
        ({"scopes": ["agent", "read"]}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["owner"]}, "scopes"),
        ({"scopes": ["read"], "stores": []}, "stores"),
        ({"scopes": ["agent"], "stores": [{"memory_store_id": "x", "access": "admin"}]}, "stores"),
        ({"scopes": ["agent"], "project": "other"}, "project"),
        ({"scopes": ["agent"], "id": unused_id(ids.API_KEY)}, "id"),
        ({"scopes": ["agent"], "created_by": {}}, "created_by"),
    ],
)
def test_a_key_cannot_be_given_more_than_the_rules_allow(
    tenant: Tenant, body: dict[str, object], sentence: str
) -> None:
    refused = tenant.call()("POST", "/v1/api_keys", {"name": "new", **body})
    assert refused.status == 400
    assert refused.message.startswith(sentence)


def test_an_agent_key_without_stores_reaches_none(tenant: Tenant) -> None:
    store_id = tenant.call()("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    agent = tenant.caller("agent")
    assert agent("GET", f"/v1/memory_stores/{store_id}").status == 404
    assert agent("GET", f"/v1/memory_stores/{store_id}/memories").status == 404


def test_a_deleted_store_leaves_nothing_to_an_agent_that_had_it(tenant: Tenant) -> None:
    call = tenant.call()
    store_id = call("POST", "/v1/memory_stores", {"name": "Notes"}).body["id"]
    key = call(
        "POST", "/v1/api_keys", {"name": "a", "scopes": ["agent"], "stores": [{"memory_store_id": store_id}]}
    ).body
    call("DELETE", f"/v1/memory_stores/{store_id}")
    assert Caller(key["key"])("GET", f"/v1/memory_stores/{store_id}").status == 404


def _key_id(secret: str) -> str:
    return f"apikey_{secret.split('_')[1]}"

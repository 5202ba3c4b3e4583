from memoryhub.models import AuditEvent, Environment
from tests.world import Caller, Tenant


def test_a_credential_sees_its_own_project_only(tenant: Tenant, stranger: Tenant) -> None:
    listed = tenant.call()("GET", "/v1/projects").body
    assert [project["id"] for project in listed["data"]] == [tenant.project.wire_id]
    foreign = tenant.call()("GET", f"/v1/projects/{stranger.project.wire_id}")
    assert (foreign.status, foreign.error_type) == (404, "not_found_error")


def test_a_project_is_renamed_by_a_credential_of_the_whole_project(tenant: Tenant, stranger: Tenant) -> None:
    url = f"/v1/projects/{tenant.project.wire_id}"
    owner = tenant.caller("admin", whole=True)
    assert tenant.call()("POST", url, {"name": "other"}).error_code == "environment_credential"
    assert owner("POST", url, {"name": "renamed-it"}).body["name"] == "renamed-it"
    assert owner("POST", url, {"name": "renamed-it"}).status == 200
    assert AuditEvent.objects.filter(project=tenant.project, action="project.updated").count() == 1
    assert (
        owner("POST", url, {"name": stranger.project.name}).status == 200
    )  # a refusal would tell of the stranger
    for name in ("", "Upper", "-a", "a-", "a b", "x" * 65):
        assert owner("POST", url, {"name": name}).status == 400


def test_http_memory_is_a_setting_of_the_project(tenant: Tenant) -> None:
    url, owner = f"/v1/projects/{tenant.project.wire_id}", tenant.caller("admin", whole=True)
    assert owner("GET", url).body["http_memory"] == "enabled"
    assert owner("POST", url, {"http_memory": "preview"}).body["http_memory"] == "preview"
    assert owner("POST", url, {"name": tenant.project.name, "http_memory": "preview"}).status == 200
    [event] = AuditEvent.objects.filter(project=tenant.project, action="project.updated")
    assert event.details == {"fields": ["http_memory"]}
    for body in ({}, {"http_memory": "on"}, {"http_memory": True}):
        assert owner("POST", url, body).status == 400


def test_an_operators_project_creates_further_projects_with_their_own_key(tenant: Tenant) -> None:
    owner = tenant.caller("admin", whole=True)
    name = f"{tenant.project.name}-two"
    made = owner("POST", "/v1/projects", {"name": name})
    assert made.status == 200 and made.body["name"] == name
    inside = Caller(made.body["key"])
    assert [project["id"] for project in inside("GET", "/v1/projects").body["data"]] == [made.body["id"]]
    assert [row["name"] for row in inside("GET", "/v1/environments").body["data"]] == [
        "development",
        "production",
    ]
    assert owner("GET", f"/v1/projects/{made.body['id']}").status == 404


def test_a_project_without_an_operator_creates_no_projects(tenant: Tenant) -> None:
    tenant.owner.is_operator = False
    tenant.owner.save(update_fields=["is_operator"])
    refused = tenant.caller("admin", whole=True)("POST", "/v1/projects", {"name": "another"})
    assert (refused.status, refused.error_code) == (403, "not_an_operator")


def test_environments_are_seen_as_far_as_the_credential_reaches(tenant: Tenant) -> None:
    def names(caller) -> list[str]:
        return [environment["name"] for environment in caller("GET", "/v1/environments").body["data"]]

    owner = tenant.caller("admin", whole=True)
    assert (names(tenant.call()), names(owner)) == (["development"], ["development", "production"])
    assert tenant.call()("GET", "/v1/environments/production").status == 404
    assert owner("GET", "/v1/environments/production").body["id"] == tenant.production.wire_id
    assert owner("GET", f"/v1/environments/{tenant.production.wire_id}").body["name"] == "production"


def test_environments_are_created_up_to_the_quota(tenant: Tenant, settings) -> None:
    settings.ENVIRONMENTS_MAX = 3
    owner = tenant.caller("admin", whole=True)
    assert owner("POST", "/v1/environments", {"name": "staging"}).status == 200
    assert owner("POST", "/v1/environments", {"name": "staging"}).error_code == "environment_name_taken"
    assert owner("POST", "/v1/environments", {"name": "one-more"}).error_code == "environments_full"
    assert Environment.objects.filter(project=tenant.project).count() == 3


def test_an_environment_is_renamed_and_keeps_its_id(tenant: Tenant) -> None:
    owner = tenant.caller("admin", whole=True)
    renamed = owner("POST", "/v1/environments/production", {"name": "live"}).body
    assert (renamed["id"], renamed["name"]) == (tenant.production.wire_id, "live")
    assert owner("POST", "/v1/environments/live", {"name": "development"}).status == 409


def test_a_whole_project_key_must_name_the_environment_of_a_new_store(tenant: Tenant) -> None:
    owner = tenant.caller("admin", whole=True)
    assert owner("POST", "/v1/memory_stores", {"name": "s"}).status == 400
    made = owner("POST", "/v1/memory_stores", {"name": "s", "environment": "production"}).body
    assert tenant.call()("GET", f"/v1/memory_stores/{made['id']}").status == 404
    assert owner("GET", f"/v1/memory_stores/{made['id']}").status == 200
    listed = owner("GET", "/v1/memory_stores", query={"environment": "development"}).body
    assert listed["data"] == []

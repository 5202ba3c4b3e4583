"""Projects and environments: made and renamed by those who may, with the typed name kept."""

import pytest
from django.test import Client

from memoryhub import environments, projects
from memoryhub.models import Environment, Membership, Project, User
from tests.console.site import Site, add_person, sign_in
from tests.world import Tenant

BAD_NAMES = ["", "Upper", "-a", "a b", "x" * 65]


def test_an_operator_creates_a_project_and_stands_in_it(tenant: Tenant, owner: Site) -> None:
    assert 'href="/projects/new"' in owner.client.get("/").content.decode()
    answer = owner.client.post("/projects/new", {"name": "second"})
    created = Project.objects.get(name="second", memberships__user=tenant.owner)
    assert answer["Location"] == f"/p/{created.wire_id}/development"
    assert Membership.objects.get(project=created).role == "owner"
    assert {one.name for one in created.environments.all()} == {"development", "production"}


def test_one_who_is_no_operator_creates_none(tenant: Tenant) -> None:
    User.objects.filter(id=tenant.owner.id).update(is_operator=False)
    client = Client()
    client.force_login(User.objects.get(id=tenant.owner.id))
    assert "/projects/new" not in client.get("/").content.decode()
    assert client.get("/projects/new").status_code == 403
    assert client.post("/projects/new", {"name": "second"}).status_code == 403
    assert not Project.objects.filter(name="second").exists()


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_kept_beside_the_reason(owner: Site, tenant: Tenant, name: str) -> None:
    environment = tenant.production.wire_id
    for path in (
        "/projects/new",
        f"{owner.base}/settings/rename",
        f"{owner.base}/settings/environments/new",
        f"{owner.base}/settings/environments/{environment}/rename",
    ):
        answer = owner.client.post(path, {"name": name, "shown": ""})
        assert answer.status_code == 400, path
        assert answer.content.decode().count('class="problem"') == 1
        assert not name or f'value="{name}"' in answer.content.decode()


def test_a_project_is_renamed(owner: Site, tenant: Tenant) -> None:
    answer = owner.post("/settings/rename", {"name": "renamed", "shown": tenant.project.name})
    assert answer["Location"] == f"{owner.base}/settings"
    assert "renamed</h1>" in owner.get("/settings").content.decode()


def test_an_environment_is_made_and_renamed_and_its_pages_move(owner: Site, tenant: Tenant) -> None:
    assert owner.post("/settings/environments/new", {"name": "staging"}).status_code == 302
    assert 'development">development</a>' in owner.get("/settings").content.decode()
    url = f"/settings/environments/{tenant.development.wire_id}/rename"
    answer = owner.post(url, {"name": "dev", "shown": "development"})
    assert answer["Location"] == f"/p/{tenant.project.wire_id}/dev/settings"
    assert owner.client.get(answer["Location"]).status_code == 200
    assert owner.get().status_code == 404


def test_a_name_that_is_taken_is_said_so(owner: Site, tenant: Tenant) -> None:
    answer = owner.post("/settings/environments/new", {"name": "production"})
    assert answer.status_code == 409
    assert "An environment named production exists already." in answer.content.decode()
    assert 'value="production"' in answer.content.decode()


def test_a_rename_that_another_came_before_is_refused(owner: Site, tenant: Tenant) -> None:
    projects.update_project(tenant.project.wire_id, name="theirs", actor=tenant.actor)
    environments.rename_environment("production", name="prod", actor=tenant.actor)
    environment = f"/settings/environments/{tenant.production.wire_id}/rename"
    for path, shown in (("/settings/rename", tenant.project.name), (environment, "production")):
        answer = owner.post(path, {"name": "mine", "shown": shown})
        assert answer.status_code == 409, path
        assert "Somebody else renamed it to" in answer.content.decode()
        assert 'value="mine"' in answer.content.decode()
    assert not Environment.objects.filter(name="mine").exists()


def test_a_viewer_reads_the_settings_and_changes_none(viewer: Site, tenant: Tenant) -> None:
    shown = viewer.get("/settings").content.decode()
    assert "production" in shown
    environment = f"/settings/environments/{tenant.production.wire_id}/rename"
    for path in ("/settings/rename", "/settings/environments/new", environment):
        assert viewer.base + path not in shown
        assert viewer.get(path).status_code == 403
        assert viewer.post(path, {"name": "mine"}).status_code == 403


def test_another_projects_environment_is_not_found(owner: Site, stranger: Tenant) -> None:
    url = f"/settings/environments/{stranger.production.wire_id}/rename"
    assert owner.get(url).status_code == 404
    assert owner.post(url, {"name": "mine"}).status_code == 404


def test_one_with_one_project_starts_in_it_and_one_with_more_chooses(
    tenant: Tenant, stranger: Tenant
) -> None:
    site = sign_in(tenant.owner, tenant.project)
    assert site.client.get("/start")["Location"] == site.base
    Membership.objects.create(project=stranger.project, user=tenant.owner, role="viewer")
    assert site.client.get("/start")["Location"] == "/"
    environments.rename_environment("development", name="alpha", actor=tenant.actor)
    person = add_person(tenant, "viewer")
    assert (
        sign_in(person, tenant.project).client.get("/start")["Location"]
        == f"/p/{tenant.project.wire_id}/alpha"
    )

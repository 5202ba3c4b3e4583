"""The REST door of the ground floor: projects, environments, members, invitations, API keys."""

from typing import Any

from django.conf import settings

from memoryhub import (
    deletions,
    environments,
    invitations,
    keys,
    members,
    projects,
    provisioning,
    store_access,
    tenancy,
)
from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.ground_shapes import (
    ChangeRoleBody,
    CreateKeyBody,
    EnvironmentShape,
    ExpectedNameQuery,
    InvitationBody,
    InvitationShape,
    IssuedInvitationShape,
    IssuedKeyShape,
    KeyShape,
    MemberShape,
    NameBody,
    ProjectShape,
    ProvisionedProjectShape,
    RemainingShape,
    RotateKeyBody,
    UpdateProjectBody,
    environment_wire,
    invitation_wire,
    issued_invitation_wire,
    issued_key_wire,
    key_wire,
    list_request,
    member_wire,
    project_wire,
    provisioned_project_wire,
    record_scope_of,
    remaining_wire,
)
from memoryhub.pagination import Page
from memoryhub.shapes import DeletedShape, PageQuery, deleted_wire

type Values = dict[str, Any]


class Projects(HubView):
    @operation("projects.list", "List the credential's project", answer=ProjectShape, lists=True)
    def get(self, *, actor: Actor) -> Values:
        return Page([tenancy.get_project(actor)], None).as_wire(project_wire)

    @operation(
        "projects.create", "Create a project, with a first key", body=NameBody, answer=ProvisionedProjectShape
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        return provisioned_project_wire(provisioning.provision_project(name=body["name"], actor=actor))


class Project(HubView):
    def require_visible(self, actor: Actor) -> None:
        tenancy.get_project_by_id(self.kwargs["project_id"], actor=actor)

    @operation("projects.get", "Get a project", answer=ProjectShape)
    def get(self, project_id: str, *, actor: Actor) -> Values:
        return project_wire(tenancy.get_project_by_id(project_id, actor=actor))

    @operation("projects.update", "Update a project", body=UpdateProjectBody, answer=ProjectShape)
    def post(self, project_id: str, *, body: Values, actor: Actor) -> Values:
        return project_wire(projects.update_project(project_id, **body, actor=actor))

    @operation("projects.delete", "Delete a project for good", query=ExpectedNameQuery, answer=RemainingShape)
    def delete(self, project_id: str, *, query: Values, actor: Actor) -> Values:
        deleted = deletions.delete_project(project_id, expected_name=query["expected_name"], actor=actor)
        return remaining_wire(deleted, "project_deleted")


class Environments(HubView):
    @operation("environments.list", "List environments", answer=EnvironmentShape, lists=True)
    def get(self, *, actor: Actor) -> Values:
        return Page(environments.list_environments(actor=actor), None).as_wire(environment_wire)

    @operation("environments.create", "Create an environment", body=NameBody, answer=EnvironmentShape)
    def post(self, *, body: Values, actor: Actor) -> Values:
        return environment_wire(environments.create_environment(name=body["name"], actor=actor))


class Environment(HubView):
    def require_visible(self, actor: Actor) -> None:
        tenancy.get_environment(self.kwargs["environment_id"], actor=actor)

    @operation("environments.get", "Get an environment by id or name", answer=EnvironmentShape)
    def get(self, environment_id: str, *, actor: Actor) -> Values:
        return environment_wire(tenancy.get_environment(environment_id, actor=actor))

    @operation("environments.update", "Rename an environment", body=NameBody, answer=EnvironmentShape)
    def post(self, environment_id: str, *, body: Values, actor: Actor) -> Values:
        return environment_wire(
            environments.rename_environment(environment_id, name=body["name"], actor=actor)
        )

    @operation(
        "environments.delete",
        "Delete an environment for good",
        query=ExpectedNameQuery,
        answer=RemainingShape,
    )
    def delete(self, environment_id: str, *, query: Values, actor: Actor) -> Values:
        deleted = deletions.delete_environment(
            environment_id, expected_name=query["expected_name"], actor=actor
        )
        return remaining_wire(deleted, "environment_deleted")


class Members(HubView):
    @operation("members.list", "List members", query=PageQuery, answer=MemberShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        page = members.list_members(list_request("members", query, actor.project_id), actor=actor)
        return page.as_wire(member_wire)


class Member(HubView):
    def require_visible(self, actor: Actor) -> None:
        members.get_member(self.kwargs["member_id"], actor=actor)

    @operation("members.update", "Change a member's role", body=ChangeRoleBody, answer=MemberShape)
    def post(self, member_id: str, *, body: Values, actor: Actor) -> Values:
        return member_wire(members.change_role(member_id, **body, actor=actor))

    @operation("members.remove", "Remove a member", answer=DeletedShape)
    def delete(self, member_id: str, *, actor: Actor) -> Values:
        return deleted_wire(members.remove_member(member_id, actor=actor), "member_removed")


class Invitations(HubView):
    @operation("invitations.list", "List invitations", query=PageQuery, answer=InvitationShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        page = invitations.list_invitations(list_request("invitations", query, actor.project_id), actor=actor)
        return page.as_wire(invitation_wire)

    @operation("invitations.create", "Invite a person", body=InvitationBody, answer=IssuedInvitationShape)
    def post(self, *, body: Values, actor: Actor) -> Values:
        issued = invitations.create_invitation(email=body["email"], role=body["role"], actor=actor)
        return issued_invitation_wire(issued, settings.BASE_URL)


class InvitationRevoke(HubView):
    def require_visible(self, actor: Actor) -> None:
        invitations.get_invitation(self.kwargs["invitation_id"], actor=actor)

    @operation("invitations.revoke", "Revoke an invitation", answer=InvitationShape)
    def post(self, invitation_id: str, *, actor: Actor) -> Values:
        return invitation_wire(invitations.revoke_invitation(invitation_id, actor=actor))


class ApiKeys(HubView):
    @operation("api_keys.list", "List API keys", query=PageQuery, answer=KeyShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        page = keys.list_keys(list_request("api_keys", query, actor.project_id), actor=actor)
        return page.as_wire(key_wire)

    @operation("api_keys.create", "Create an API key", body=CreateKeyBody, answer=IssuedKeyShape)
    def post(self, *, body: Values, actor: Actor) -> Values:
        issued = keys.create_key(
            environment=body.get("environment"),
            name=body["name"],
            scopes=body["scopes"],
            stores=store_access.read_grants(body.get("stores")),
            record_scope=record_scope_of(body.get("record_scope")),
            expires_at=body.get("expires_at"),
            actor=actor,
        )
        return issued_key_wire(issued)


class ApiKeyView(HubView):
    def require_visible(self, actor: Actor) -> None:
        keys.get_key(self.kwargs["key_id"], actor=actor)


class ApiKey(ApiKeyView):
    @operation("api_keys.get", "Get an API key, without its secret", answer=KeyShape)
    def get(self, key_id: str, *, actor: Actor) -> Values:
        return key_wire(keys.get_key(key_id, actor=actor))


class ApiKeyRotate(ApiKeyView):
    @operation("api_keys.rotate", "Rotate an API key", body=RotateKeyBody, answer=IssuedKeyShape)
    def post(self, key_id: str, *, body: Values, actor: Actor) -> Values:
        issued = keys.rotate_key(key_id, overlap_seconds=body.get("overlap_seconds", 0), actor=actor)
        return issued_key_wire(issued)


class ApiKeyRevoke(ApiKeyView):
    @operation("api_keys.revoke", "Revoke an API key", answer=KeyShape)
    def post(self, key_id: str, *, actor: Actor) -> Values:
        return key_wire(keys.revoke_key(key_id, actor=actor))

"""The shapes of the ground floor's API: bodies, queries, and each answer as one dict."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import SCOPE_NAME_LENGTH_MAX, RecordScope, actor_wire
from memoryhub.clock import optional_to_wire, to_wire
from memoryhub.deletions import Deleted
from memoryhub.fields import Choice, Integer, Moment, StrictSerializer, Text
from memoryhub.invitations import IssuedInvitation
from memoryhub.keys import KEY_OVERLAP_SECONDS_MAX, IssuedKey
from memoryhub.models import (
    HTTP_MEMORY_STATES,
    NAME_LENGTH_MAX,
    ApiKey,
    Environment,
    Invitation,
    Membership,
    Project,
)
from memoryhub.operations import ROLES, SCOPES
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from memoryhub.provisioning import ProvisionedProject


def list_request(kind: str, query: dict[str, Any], project_id: UUID) -> ListRequest:
    return ListRequest(
        kind, {"project": project_id.hex}, query.get("limit", LIST_LIMIT_DEFAULT), query.get("page")
    )


class NameBody(StrictSerializer):
    name = Text()


class UpdateProjectBody(StrictSerializer):
    name = Text(required=False)
    http_memory = Choice(choices=list(HTTP_MEMORY_STATES), required=False)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values:
            raise serializers.ValidationError("Give name, http_memory or both.")
        return values


class RoleBody(StrictSerializer):
    role = Choice(choices=list(ROLES))


class ChangeRoleBody(RoleBody):
    expected_role = Choice(choices=list(ROLES), required=False)


class InvitationBody(RoleBody):
    email = Text(length_max=254)


class StoreAccessBody(StrictSerializer):
    memory_store_id = Text()
    access = Choice(choices=["read_only", "read_write"], required=False)


class PrincipalBody(StrictSerializer):
    issuer = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    subject = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)


class RecordScopeBody(StrictSerializer):
    """Whose records: an agent's memory of one principal."""

    agent = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    principal = PrincipalBody()


def record_scope_of(given: dict[str, Any] | None) -> RecordScope | None:
    if given is None:
        return None
    return RecordScope(given["agent"], given["principal"]["issuer"], given["principal"]["subject"])


class CreateKeyBody(StrictSerializer):
    name = Text(length_min=1, length_max=NAME_LENGTH_MAX, plain=True)
    scopes = serializers.ListField(child=Choice(choices=list(SCOPES)), min_length=1, max_length=len(SCOPES))
    environment = Text(required=False, allow_null=True)
    stores = StoreAccessBody(many=True, required=False)
    record_scope = RecordScopeBody(required=False)
    expires_at = Moment(required=False, allow_null=True)


class RotateKeyBody(StrictSerializer):
    overlap_seconds = Integer(required=False, min_value=0, max_value=KEY_OVERLAP_SECONDS_MAX)


class ProjectShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["project"])
    name = serializers.CharField()
    http_memory = serializers.ChoiceField(choices=list(HTTP_MEMORY_STATES))
    created_at = serializers.DateTimeField()


def project_wire(project: Project) -> dict[str, Any]:
    return {
        "id": project.wire_id,
        "type": "project",
        "name": project.name,
        "http_memory": project.http_memory,
        "created_at": to_wire(project.created_at),
    }


class ProvisionedProjectShape(ProjectShape):
    key = serializers.CharField()


def provisioned_project_wire(provisioned: ProvisionedProject) -> dict[str, Any]:
    """With an admin key of the whole project, shown this once."""
    return {**project_wire(provisioned.project), "key": provisioned.issued.secret}


class EnvironmentShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["environment"])
    project_id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


def environment_wire(environment: Environment) -> dict[str, Any]:
    return {
        "id": environment.wire_id,
        "type": "environment",
        "project_id": ids.to_wire(ids.PROJECT, environment.project_id),
        "name": environment.name,
        "created_at": to_wire(environment.created_at),
    }


class MemberShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["member"])
    user_id = serializers.CharField()
    email = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    role = serializers.ChoiceField(choices=list(ROLES))
    created_at = serializers.DateTimeField()


def member_wire(member: Membership) -> dict[str, Any]:
    return {
        "id": member.wire_id,
        "type": "member",
        "user_id": member.user.wire_id,
        "email": member.user.email,
        "name": member.user.name,
        "role": member.role,
        "created_at": to_wire(member.created_at),
    }


class InvitationShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["invitation"])
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=list(ROLES))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    accepted_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class IssuedInvitationShape(InvitationShape):
    url = serializers.CharField()


def invitation_wire(invitation: Invitation) -> dict[str, Any]:
    return {
        "id": invitation.wire_id,
        "type": "invitation",
        "email": invitation.email,
        "role": invitation.role,
        "created_at": to_wire(invitation.created_at),
        "expires_at": to_wire(invitation.expires_at),
        "accepted_at": optional_to_wire(invitation.accepted_at),
        "revoked_at": optional_to_wire(invitation.revoked_at),
    }


def issued_invitation_wire(issued: IssuedInvitation, base_url: str) -> dict[str, Any]:
    return {**invitation_wire(issued.invitation), "url": f"{base_url}/invitations/{issued.token}"}


class StoreAccessShape(serializers.Serializer[Any]):
    memory_store_id = serializers.CharField()
    access = serializers.ChoiceField(choices=["read_only", "read_write"])


class PrincipalShape(serializers.Serializer[Any]):
    issuer = serializers.CharField()
    subject = serializers.CharField()


class RecordScopeShape(serializers.Serializer[Any]):
    agent = serializers.CharField()
    principal = PrincipalShape()


def record_scope_wire(of: RecordScope) -> dict[str, Any]:
    return {"agent": of.agent, "principal": {"issuer": of.issuer, "subject": of.subject}}


class KeyShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["api_key"])
    name = serializers.CharField()
    environment_id = serializers.CharField(allow_null=True)
    environment = serializers.CharField(allow_null=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=list(SCOPES)))
    stores = StoreAccessShape(many=True, allow_null=True)
    record_scope = RecordScopeShape(allow_null=True)
    hint = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.DictField(child=serializers.CharField(), allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class IssuedKeyShape(KeyShape):
    key = serializers.CharField()


def key_wire(key: ApiKey) -> dict[str, Any]:
    of = key.record_scope
    return {
        "id": key.wire_id,
        "type": "api_key",
        "name": key.name,
        "environment_id": ids.to_wire(ids.ENVIRONMENT, key.environment_id) if key.environment_id else None,
        "environment": key.environment.name if key.environment else None,
        "scopes": key.scopes,
        "stores": None if key.stores is None else [_access_wire(*pair) for pair in key.stores.items()],
        "record_scope": None if of is None else record_scope_wire(RecordScope(**of)),
        "hint": key.secret_hint,
        "created_at": to_wire(key.created_at),
        "created_by": actor_wire(key.created_by_type, key.created_by_id),
        "expires_at": optional_to_wire(key.expires_at),
        "revoked_at": optional_to_wire(key.revoked_at),
        "last_used_at": optional_to_wire(key.last_used_at),
    }


def _access_wire(store_hex: str, access: str) -> dict[str, str]:
    return {"memory_store_id": ids.to_wire(ids.MEMORY_STORE, UUID(hex=store_hex)), "access": access}


def issued_key_wire(issued: IssuedKey) -> dict[str, Any]:
    """The only answer that shows a key."""
    return {**key_wire(issued.key), "key": issued.secret}


class ExpectedNameQuery(StrictSerializer):
    """The name of what is deleted for good, so that nobody does it by a wrong id."""

    expected_name = Text()


class RemainingShape(serializers.Serializer[Any]):
    """`remaining`: what other services keep of it, which is theirs to delete."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["project_deleted", "environment_deleted"])
    remaining = serializers.ListField(child=serializers.DictField())


def remaining_wire(deleted: Deleted, kind: str) -> dict[str, Any]:
    return {"id": deleted.wire_id, "type": kind, "remaining": deleted.remaining}

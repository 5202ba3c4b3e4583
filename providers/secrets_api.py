"""The REST door of secrets: written, listed without values, never read back. Source: contract, section 2.5."""

from typing import Any

from memoryhub import secrets
from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.shapes import DeletedShape, deleted_wire
from providers.secret_serializers import ListSecretsQuery, PutSecretBody, SecretShape, secret_wire
from providers.serializers import list_request

type Values = dict[str, Any]


class Secrets(HubView):
    @operation("secrets.put", "Make a secret, or replace its value", body=PutSecretBody, answer=SecretShape)
    def put(self, *, body: Values, actor: Actor) -> Values:
        secret = secrets.put_secret(
            environment=body.get("environment"),
            name=body["name"],
            agent_id=body.get("agent_id", ""),
            value=body["value"],
            allowed_origins=body["allowed_origins"],
            actor=actor,
        )
        return secret_wire(secret)

    @operation(
        "secrets.list",
        "List secrets, without their values",
        query=ListSecretsQuery,
        answer=SecretShape,
        lists=True,
    )
    def get(self, *, query: Values, actor: Actor) -> Values:
        environment = query.get("environment")
        reach = {"project": actor.project_id.hex, "reach": str(actor.environment_id)}
        wanted = list_request("secrets", query, {"environment": environment} | reach)
        return secrets.list_secrets(wanted, environment=environment, actor=actor).as_wire(secret_wire)


class Secret(HubView):
    def require_visible(self, actor: Actor) -> None:
        secrets.get_secret(self.kwargs["secret_id"], actor=actor)

    @operation("secrets.get", "Get a secret, without its value", answer=SecretShape)
    def get(self, secret_id: str, *, actor: Actor) -> Values:
        return secret_wire(secrets.get_secret(secret_id, actor=actor))

    @operation("secrets.delete", "Delete a secret", answer=DeletedShape)
    def delete(self, secret_id: str, *, actor: Actor) -> Values:
        return deleted_wire(secrets.delete_secret(secret_id, actor=actor), "secret_deleted")

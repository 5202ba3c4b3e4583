"""The REST door of endpoints and their credentials, for those who run them."""

from typing import Any

from memoryhub.actors import Actor
from memoryhub.api import HubView, operation
from memoryhub.shapes import DeletedShape, PageQuery, deleted_wire
from providers import endpoints
from providers.endpoint_models import OWN
from providers.endpoint_serializers import (
    CreateCredentialBody,
    CreateEndpointBody,
    CredentialShape,
    EndpointShape,
    ExpectedNameQuery,
    IssuedCredentialShape,
    ListEndpointsQuery,
    UpdateEndpointBody,
    credential_wire,
    endpoint_wire,
)
from providers.limits import RECALL_BYTES_DEFAULT
from providers.serializers import list_request
from providers.views import EndpointView

type Values = dict[str, Any]


class Endpoints(HubView):
    @operation(
        "endpoints.create", "Create an endpoint", body=CreateEndpointBody, answer=EndpointShape, status=201
    )
    def post(self, *, body: Values, actor: Actor) -> Values:
        endpoint = endpoints.create_endpoint(
            environment=body.get("environment"),
            name=body["name"],
            bytes_max=body.get("bytes_max", RECALL_BYTES_DEFAULT),
            retention_days=body.get("retention_days"),
            backing=body.get("backing", OWN),
            actor=actor,
        )
        return endpoint_wire(endpoint)

    @operation("endpoints.list", "List endpoints", query=ListEndpointsQuery, answer=EndpointShape, lists=True)
    def get(self, *, query: Values, actor: Actor) -> Values:
        environment = query.get("environment")
        filters = {"environment": environment, "reach": str(actor.environment_id)}
        wanted = list_request("endpoints", query, filters | {"project": actor.project_id.hex})
        page = endpoints.list_endpoints(wanted, environment=environment, actor=actor)
        return page.as_wire(endpoint_wire)


class Endpoint(EndpointView):
    @operation("endpoints.get", "Get an endpoint, with its declaration", answer=EndpointShape)
    def get(self, endpoint_id: str, *, actor: Actor) -> Values:
        return endpoint_wire(endpoints.get_endpoint(endpoint_id, actor=actor))

    @operation("endpoints.update", "Update an endpoint", body=UpdateEndpointBody, answer=EndpointShape)
    def patch(self, endpoint_id: str, *, body: Values, actor: Actor) -> Values:
        return endpoint_wire(endpoints.update_endpoint(endpoint_id, changes=body, actor=actor))

    @operation(
        "endpoints.delete",
        "Delete an endpoint and all that hosts keep in it",
        query=ExpectedNameQuery,
        answer=DeletedShape,
    )
    def delete(self, endpoint_id: str, *, query: Values, actor: Actor) -> Values:
        deleted = endpoints.delete_endpoint(endpoint_id, expected_name=query["expected_name"], actor=actor)
        return deleted_wire(deleted, "endpoint_deleted")


class Credentials(EndpointView):
    @operation(
        "endpoint_credentials.create",
        "Create a credential of an endpoint",
        body=CreateCredentialBody,
        answer=IssuedCredentialShape,
        status=201,
    )
    def post(self, endpoint_id: str, *, body: Values, actor: Actor) -> Values:
        issued = endpoints.create_credential(
            endpoint_id, name=body["name"], scope=body.get("scope", "memory"), actor=actor
        )
        return credential_wire(issued.credential) | {"token": issued.token}

    @operation(
        "endpoint_credentials.list",
        "List the credentials of an endpoint",
        query=PageQuery,
        answer=CredentialShape,
        lists=True,
    )
    def get(self, endpoint_id: str, *, query: Values, actor: Actor) -> Values:
        wanted = list_request("endpoint_credentials", query, {"endpoint": endpoint_id})
        return endpoints.list_credentials(endpoint_id, wanted, actor=actor).as_wire(credential_wire)


class CredentialRevoke(EndpointView):
    @operation("endpoint_credentials.revoke", "Revoke a credential of an endpoint", answer=CredentialShape)
    def post(self, endpoint_id: str, credential_id: str, *, actor: Actor) -> Values:
        return credential_wire(endpoints.revoke_credential(endpoint_id, credential_id, actor=actor))

"""One hub, reached with one key."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote

from memoryhub.client.declarations import Declaration
from memoryhub.client.documents import Documents
from memoryhub.client.records import Records
from memoryhub.client.secrets import Secrets
from memoryhub.client.sessions import Sessions
from memoryhub.client.stores import Stores
from memoryhub.client.transport import TIMEOUT_SECONDS, Transport
from memoryhub.client.webhooks import Webhooks
from memoryhub.client.wire import Deployment, Namespace, Promotion, Resource


class Hub:
    """Use it in a `with`, or call `close`."""

    def __init__(self, base_url: str, api_key: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._transport = Transport(base_url, api_key, timeout_seconds=timeout_seconds)
        self.stores = Stores(self._transport)
        self.records = Records(self._transport)
        self.sessions = Sessions(self._transport)
        self.secrets = Secrets(self._transport)
        self.webhooks = Webhooks(self._transport)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Hub":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None) -> Any:
        """Any operation of the API reference. Raises: HubRefused, UnexpectedAnswer, ConnectionFailed."""
        return self._transport.call(method, path, body, query=query)

    def documents(self, environment: str, *, project_id: str | None = None) -> Documents:
        """Of the key's own project unless another is named."""
        return Documents(self._transport, project_id or self.project_id(), environment)

    def project_id(self) -> str:
        return str(self._transport.call("GET", "/v1/projects")["data"][0]["id"])

    def declare(
        self,
        resource: Declaration,
        *,
        connection: Declaration | None = None,
        environment: str | None = None,
        acknowledge_endpoint_change: bool | None = None,
    ) -> Resource:
        """Declare one resource, without a manifest: in a deployment of the default agent that is promoted at once."""
        body = {
            "resource": resource,
            "connection": connection,
            "environment": environment,
            "acknowledge_endpoint_change": acknowledge_endpoint_change,
        }
        given = {name: value for name, value in body.items() if value is not None}
        return cast(Resource, self._transport.call("POST", "/v1/memory_resources", given, repeatable=True))

    def deploy(
        self,
        agent_id: str,
        manifest: Declaration,
        *,
        environment: str | None = None,
        acknowledge_endpoint_change: list[str] | None = None,
    ) -> Deployment:
        """Create a deployment and promote it.

        Raises: HubRefused with every problem of the manifest in `details["problems"]`.
        """
        body = {"agent_id": agent_id, "manifest": manifest}
        deployment = cast(Deployment, self._transport.call("POST", "/v1/deployments", body))
        self.promote(
            deployment["id"],
            environment=environment,
            acknowledge_endpoint_change=acknowledge_endpoint_change,
        )
        return deployment

    def promote(
        self,
        deployment_id: str,
        *,
        environment: str | None = None,
        acknowledge_endpoint_change: list[str] | None = None,
    ) -> Promotion:
        """Make a deployment, also an earlier one, the one that an environment runs. Live sessions keep theirs."""
        body: dict[str, Any] = {"acknowledge_endpoint_change": acknowledge_endpoint_change or []}
        if environment is not None:
            body["environment"] = environment
        path = f"/v1/deployments/{quote(deployment_id, safe='')}/promote"
        return cast(Promotion, self._transport.call("POST", path, body, repeatable=True))

    def deployments(self, *, agent_id: str | None = None) -> Iterator[Deployment]:
        """Newest first."""
        return self._transport.pages("/v1/deployments", query={"agent_id": agent_id})

    def get_deployment(self, deployment_id: str) -> Deployment:
        path = f"/v1/deployments/{quote(deployment_id, safe='')}"
        return cast(Deployment, self._transport.call("GET", path))

    def resources(self, environment: str) -> Iterator[Resource]:
        """Every resource that the environment ever had, by id."""
        return self._transport.pages(self._memory(), query={"environment": environment})

    def get_resource(self, environment: str, resource_id: str) -> Resource:
        path = f"{self._memory()}/{quote(resource_id, safe='')}"
        return cast(Resource, self._transport.call("GET", path, query={"environment": environment}))

    def namespaces(self, environment: str, resource_id: str) -> Iterator[Namespace]:
        """Of a resource of another service: what was opened there, newest first."""
        path = f"{self._memory()}/{quote(resource_id, safe='')}/namespaces"
        return self._transport.pages(path, query={"environment": environment})

    def _memory(self) -> str:
        return f"/v1/projects/{self.project_id()}/memory"

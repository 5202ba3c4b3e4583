"""One hub, reached with one key."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, cast

from memoryhub.client.declarations import Declaration
from memoryhub.client.documents import Documents
from memoryhub.client.sessions import Sessions
from memoryhub.client.stores import Stores
from memoryhub.client.transport import TIMEOUT_SECONDS, Transport
from memoryhub.client.wire import Deployment, Resource


class Hub:
    """Use it in a `with`, or call `close`."""

    def __init__(self, base_url: str, api_key: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._transport = Transport(base_url, api_key, timeout_seconds=timeout_seconds)
        self.stores = Stores(self._transport)
        self.sessions = Sessions(self._transport)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Hub":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None) -> Any:
        """Any operation of the API reference. Raises: HubRefused, ConnectionFailed."""
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
    ) -> Resource:
        """Declare one resource, without a manifest: in a deployment of the default agent that is promoted at once."""
        body = {"resource": resource, "connection": connection, "environment": environment}
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
        promote: dict[str, Any] = {"acknowledge_endpoint_change": acknowledge_endpoint_change or []}
        if environment is not None:
            promote["environment"] = environment
        path = f"/v1/deployments/{deployment['id']}/promote"
        self._transport.call("POST", path, promote, repeatable=True)
        return deployment

    def resources(self, environment: str) -> Iterator[Resource]:
        path = f"/v1/projects/{self.project_id()}/memory"
        return self._transport.pages(path, query={"environment": environment})

"""What a session keeps for life: its deployment, with the manifest read. Kept in each process, since neither ever changes."""

from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from providers import deployments
from providers.declarations import Manifest, RecordsProvider
from providers.models import Deployment, PinnedDeployment
from providers.principals import Principal, read_principal

SESSIONS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Pinned:
    """`deployment` is shared by threads: read it, and nothing else. `principal`: whom the session was made for, if one was named."""

    deployment: Deployment
    manifest: Manifest
    principal: Principal | None

    @property
    def has_records(self) -> bool:
        return any(isinstance(one.provider, RecordsProvider) for one in self.manifest.resources.values())


def find_pinned(session_id: UUID) -> Pinned | None:
    """None for a session without a deployment, which only attaches stores."""
    try:
        deployment_id, principal = _pinned_of(session_id)
    except PinnedDeployment.DoesNotExist:  # not kept: the session may be about to begin
        return None
    return Pinned(*_read(deployment_id), principal)


@lru_cache(maxsize=SESSIONS_KEPT)
def _pinned_of(session_id: UUID) -> tuple[UUID, Principal | None]:
    pinned = PinnedDeployment.objects.only("deployment_id", "principal").get(session_id=session_id)
    return pinned.deployment_id, read_principal(pinned.principal)


@lru_cache(maxsize=deployments.MANIFESTS_KEPT)
def _read(deployment_id: UUID) -> tuple[Deployment, Manifest]:
    deployment = Deployment.objects.get(id=deployment_id)
    return deployment, deployments.manifest_of(deployment)

"""Memory services that refuse the hub's credential, for those who may give another."""

from memoryhub import tenancy
from memoryhub.actors import Actor
from memoryhub.rooms import Need
from providers.remote_models import RemoteScope


def list_refused(actor: Actor) -> list[Need]:
    """One for each service: one query."""
    environment_id = tenancy.choose_environment(None, actor=actor)
    refused = RemoteScope.objects.filter(scope__environment_id=environment_id).exclude(refused_at=None)
    names = refused.order_by("provider").values_list("provider", flat=True).distinct()
    return [Need(f"The memory service {name} refuses its secret.", "secrets") for name in names]

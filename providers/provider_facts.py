"""What people are told of the provider that keeps an environment's records: where it is, and what it declares of its writes."""

from dataclasses import dataclass
from uuid import UUID

from providers import provider_choice
from providers.adapters.remote import RemoteMemory
from providers.contract import BoundProvider, EffectClass, LooksUp
from providers.provider_choice import LOCAL


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """`adapter`: the name of its class, and `origin` where its service is; both empty for the hub itself.

    `window_seconds`: for how long it knows a key, None where that is for ever or it knows none. `lag_seconds`: after which it
    shows what it took. `is_listed`: the hub knows which records it holds. `is_configured` False: it is not there any more.
    """

    name: str
    adapter: str = ""
    origin: str = ""
    write_effect: EffectClass = "unguarded"
    window_seconds: int | None = None
    lag_seconds: float = 0.0
    looks_up: bool = False
    is_listed: bool = True
    is_configured: bool = True

    @property
    def is_local(self) -> bool:
        return self.name == LOCAL


def describe_provider(environment_id: UUID) -> ProviderFacts:
    """The one that keeps the environment's records now."""
    return _describe(provider_choice.provider_of(environment_id))


def describe_named(name: str) -> ProviderFacts:
    """One that may have been taken out of the configuration since."""
    bound = provider_choice.find_provider(name)
    return ProviderFacts(name, is_configured=False) if bound is None else _describe(bound)


def _describe(bound: BoundProvider) -> ProviderFacts:
    provider, window_ms = bound.provider, bound.dedup_window_ms
    if bound.name == LOCAL:
        return ProviderFacts(bound.name, write_effect=bound.write_effect)
    is_ours = isinstance(provider, RemoteMemory)
    return ProviderFacts(
        bound.name,
        type(provider).__name__,
        provider.service.target.origin if isinstance(provider, RemoteMemory) else "",
        bound.write_effect,
        None if window_ms is None else window_ms // 1_000,
        provider.lag_seconds if isinstance(provider, RemoteMemory) else 0.0,
        looks_up=isinstance(provider, LooksUp),
        is_listed=is_ours,
    )

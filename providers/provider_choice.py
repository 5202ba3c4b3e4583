"""Which provider keeps an environment's records: what the operator configured, else the hub itself.

    {"providers": {"team": {"adapter": "hindsight", "options": {"url": "https://…", "secret": "HINDSIGHT_KEY"}}},
     "default": "team", "environments": {"env_…": "local"}}

An adapter is one of ours, or what a package registers as an entry point of `memoryhub.memory_providers`: `factory(name, options)`,
which validates its options and neither reads nor sends anything.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any
from uuid import UUID

from django.conf import settings

from memoryhub import ids
from memoryhub.strict_json import StrictJSONError, parse_object
from providers.adapters import ADAPTERS, Factory
from providers.contract import BoundProvider, ConfigError, MemoryProvider, bind_provider
from providers.local import local_memory

LOCAL = "local"
ENTRY_POINTS = "memoryhub.memory_providers"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Choice:
    """`providers`: by name, the hub's own among them. `environments`: by id, where one has another than `default`."""

    providers: Mapping[str, BoundProvider]
    default: str
    environments: Mapping[UUID, str]


def provider_of(environment_id: UUID) -> BoundProvider:
    """The provider that keeps an environment's records. Raises: ConfigError."""
    choice = read_choice(settings.MEMORY_PROVIDERS)
    return choice.providers[choice.environments.get(environment_id, choice.default)]


def find_provider(name: str) -> BoundProvider | None:
    """By the name under which an effect was begun. Raises: ConfigError."""
    return read_choice(settings.MEMORY_PROVIDERS).providers.get(name)


@lru_cache(maxsize=8)
def read_choice(text: str) -> Choice:
    """Once for each text. Raises: ConfigError."""
    configured = _read_object(text)
    _require_known(configured, {"providers", "default", "environments"}, "")
    named = _object_of(configured, "providers", "")
    providers = {LOCAL: bind_provider(LOCAL, local_memory())}
    providers |= {name: _make(name, given) for name, given in named.items()}
    default = configured.get("default", LOCAL)
    environments = _object_of(configured, "environments", "")
    for name in (default, *environments.values()):
        if type(name) is not str or name not in providers:
            raise ConfigError(f"{name!r} is none of the providers.")
    return Choice(providers, default, {_read_environment(one): name for one, name in environments.items()})


def _make(name: str, given: Any) -> BoundProvider:
    if not _NAME.fullmatch(name) or name == LOCAL:
        raise ConfigError(f"A provider cannot be called {name!r}: a-z, 0-9, - and _, and not local.")
    if not isinstance(given, dict):
        raise ConfigError(f"{name}: write an object with adapter and options.")
    _require_known(given, {"adapter", "options"}, name)
    provider = _find_factory(name, given.get("adapter"))(name, _object_of(given, "options", name))
    if not isinstance(provider, MemoryProvider):
        raise ConfigError(f"{name}: its adapter made no memory provider.")
    return bind_provider(name, provider)


def _find_factory(name: str, adapter: Any) -> Factory:
    """Ours win over those of packages. Raises: ConfigError."""
    if type(adapter) is not str:
        raise ConfigError(f"{name}: adapter is missing.")
    if adapter in ADAPTERS:
        return ADAPTERS[adapter]
    for point in entry_points(group=ENTRY_POINTS, name=adapter):
        try:
            factory: Factory = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{name}: the adapter {adapter} cannot be loaded ({error}).") from error
        return factory
    raise ConfigError(f"{name}: there is no adapter {adapter}.")


def _read_object(text: str) -> dict[str, Any]:
    try:
        return parse_object(text.encode())
    except StrictJSONError as error:
        raise ConfigError(str(error)) from error


def _object_of(value: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    one = value.get(name, {})
    if not isinstance(one, dict):
        raise ConfigError(f"{where}{': ' if where else ''}{name} must be an object.")
    return one


def _require_known(value: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(value.keys() - known)
    if unknown:
        raise ConfigError(f"{where}{': ' if where else ''}there is no field {unknown[0]}.")


def _read_environment(wire_id: str) -> UUID:
    key = ids.from_wire(ids.ENVIRONMENT, wire_id)
    if key is None:
        raise ConfigError(f"environments: {wire_id!r} is no environment's id.")
    return key

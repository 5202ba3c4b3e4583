"""The options of an adapter, read without asking anybody: what is missing, unknown or contradicts is told at once. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from providers.contract import ConfigError, is_positive_integer

_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*", re.ASCII)

type Check = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a service is. `secret`: the name of what stands in its Authorization header, None for a service that asks for nothing."""

    provider: str
    origin: str
    base: str
    secret: str | None


def read_target(
    provider: str,
    options: Mapping[str, Any],
    *,
    url: str | None = None,
    needs_secret: bool = True,
    more: Mapping[str, Check] = {},
) -> Target:
    """`url`: where the service is unless it is said. `more`: what else may be given, and whether it holds.

    Raises: ConfigError.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"{provider}: options must be an object.")
    unknown = sorted(set(options) - {"url", "secret", *more})
    if unknown:
        raise ConfigError(f"{provider}: there is no option {unknown[0]}.")
    given = options.get("url", url)
    if given is None:
        raise ConfigError(f"{provider}: url is missing.")
    origin, base = _read_url(provider, given)
    secret = options.get("secret")
    if secret is None and needs_secret:
        raise ConfigError(f"{provider}: secret is missing: the name of the secret that holds its key.")
    if secret is not None and (type(secret) is not str or not _SECRET.fullmatch(secret)):
        raise ConfigError(f"{provider}: secret must be the name of a secret.")
    for name, holds in more.items():
        if name in options and not holds(options[name]):
            raise ConfigError(f"{provider}: {name} has no value that it can have.")
    return Target(provider, origin, base, secret)


def _read_url(provider: str, given: object) -> tuple[str, str]:
    """(origin, path before every path). Raises: ConfigError."""
    problem = ConfigError(f"{provider}: url must be http(s)://host[:port][/path], in lower case.")
    if type(given) is not str:
        raise problem
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError as error:
        raise problem from error
    origin = f"{parts.scheme}://{parts.netloc}"
    base = parts.path.rstrip("/")
    is_whole = given.rstrip("/") == f"{origin}{base}" and origin == origin.lower()
    is_origin = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and port != 0
    if not is_whole or not is_origin or not _PATH.fullmatch(base):
        raise problem
    return origin, base


def is_window(value: object) -> bool:
    return is_positive_integer(value)


def one_of(*values: str) -> Check:
    return lambda value: type(value) is str and value in values


def is_word(value: object) -> bool:
    return type(value) is str and 1 <= len(value) <= 256 and value.isprintable()

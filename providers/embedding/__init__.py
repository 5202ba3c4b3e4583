"""What makes vectors of texts: the interface, and the one backend that the operator chose, if any.

MEMORYHUB_EMBEDDING_BACKEND names a factory as a path, `package.module.name`; it is called with the object in
MEMORYHUB_EMBEDDING_OPTIONS. It reads its options and neither loads nor sends anything before the first text.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from django.conf import settings

from memoryhub.strict_json import StrictJSONError, parse_object
from providers.contract import ConfigError

DIMENSIONS_MAX = 4_096
BATCH_TEXTS_MAX = 8  # longer batches of long texts take memory out of proportion

type Vector = Sequence[float]
type Factory = Callable[[Mapping[str, Any]], "EmbeddingBackend"]


class EmbeddingError(Exception):
    """There are no vectors. `refuses`: it is the texts that are refused, and not the backend that is away."""

    def __init__(self, reason: str, *, refuses: bool = False) -> None:
        super().__init__(reason)
        self.refuses = refuses


@runtime_checkable
class EmbeddingBackend(Protocol):
    """`name`: of the model, at most 128 characters; vectors of another name are never compared. `dim`: numbers of a vector.

    Vectors need no length of their own. Both methods are called from several threads, and neither within a transaction.
    """

    name: str
    dim: int

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Of at most BATCH_TEXTS_MAX texts, a vector each, in their order. Raises: EmbeddingError."""

    def embed_query(self, text: str) -> Vector:
        """Raises: EmbeddingError."""


def find_backend() -> EmbeddingBackend | None:
    """The same one in all threads of a process. Raises: ConfigError."""
    if settings.EMBEDDING_BACKEND is None:
        return None
    return make_backend(settings.EMBEDDING_BACKEND, settings.EMBEDDING_OPTIONS)


@lru_cache(maxsize=8)
def make_backend(path: str, options: str) -> EmbeddingBackend:
    """Raises: ConfigError."""
    backend = _find_factory(path)(_read_options(options))
    if not isinstance(backend, EmbeddingBackend):
        raise ConfigError(f"{path} makes no embedding backend.")
    if type(backend.dim) is not int or not 1 <= backend.dim <= DIMENSIONS_MAX:
        raise ConfigError(f"{path}: a vector has 1 to {DIMENSIONS_MAX} numbers.")
    if type(backend.name) is not str or not 1 <= len(backend.name) <= 128:
        raise ConfigError(f"{path}: the name of its model has 1 to 128 characters.")
    return backend


def _find_factory(path: str) -> Factory:
    module, _, name = path.rpartition(".")
    try:
        factory: Factory = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path} cannot be loaded ({error}).") from error
    return factory


def _read_options(text: str) -> dict[str, Any]:
    try:
        return parse_object(text.encode())
    except StrictJSONError as error:
        raise ConfigError(f"the options cannot be read ({error}).") from error


def require_known(options: Mapping[str, Any], known: set[str]) -> None:
    """Raises: ConfigError."""
    unknown = sorted(options.keys() - known)
    if unknown:
        raise ConfigError(f"there is no option {unknown[0]}.")

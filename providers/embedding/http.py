"""Vectors from a service that speaks OpenAI's `/embeddings`: Ollama, llama.cpp, text-embeddings-inference, vLLM and others.

Its requests go through the egress guard: a public https origin, or one that MEMORYHUB_EGRESS_PRIVATE_ORIGINS lists. Source: the OpenAI
API reference, "Create embeddings".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings

from memoryhub import egress
from memoryhub.digests import canonical_json
from memoryhub.egress import EgressError, Outgoing, Reply
from memoryhub.origins import split_url
from memoryhub.strict_json import StrictJSONError, parse_object
from providers.contract import ConfigError, is_positive_integer
from providers.embedding import DIMENSIONS_MAX, EmbeddingError, Vector, require_known

QUERY_SECONDS_MAX = 2.0  # who recalls waits for it
DOCUMENTS_SECONDS_MAX = 30.0
ANSWER_BYTES_MAX = 2_097_152
REFUSING_STATUSES = (400, 413, 422)


class HttpEmbeddings:
    """Options: `url` (up to and without /embeddings), `model`, `dim`; `query_prefix`, `document_prefix`: what the model wants before a text.

    The key, if it asks for one, stands in MEMORYHUB_EMBEDDING_KEY.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises: ConfigError."""
        require_known(options, {"url", "model", "dim", "query_prefix", "document_prefix"})
        origin, path, problem = split_url(options.get("url"), listed=settings.EGRESS_PRIVATE_ORIGINS)
        if problem:
            raise ConfigError(f"url: {problem}")
        self._origin, self._path = origin, f"{path.rstrip('/')}/embeddings"
        self.name, self.dim = _read_name(options.get("model")), options.get("dim", 0)
        if not is_positive_integer(self.dim) or self.dim > DIMENSIONS_MAX:
            raise ConfigError(f"dim must be 1 to {DIMENSIONS_MAX}, the numbers of a vector of the model.")
        self._query_prefix = _read_prefix(options, "query_prefix")
        self._document_prefix = _read_prefix(options, "document_prefix")

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._embed([self._document_prefix + text for text in texts], DOCUMENTS_SECONDS_MAX)

    def embed_query(self, text: str) -> Vector:
        return self._embed([self._query_prefix + text], QUERY_SECONDS_MAX)[0]

    def _embed(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        body = canonical_json({"model": self.name, "input": list(texts), "encoding_format": "float"})
        key = settings.EMBEDDING_KEY
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        outgoing = Outgoing(self._origin, self._path, body, headers)
        try:
            reply = async_to_sync(egress.send)(outgoing, seconds=seconds, answer_bytes_max=ANSWER_BYTES_MAX)
        except EgressError as error:
            raise EmbeddingError(f"The service did not answer ({type(error).__name__}).") from error
        return _read_reply(reply, len(texts), self.dim)


def _read_name(value: object) -> str:
    if type(value) is not str or not 1 <= len(value) <= 128 or not value.isprintable():
        raise ConfigError("model must be the name of a model, 1 to 128 characters.")
    return value


def _read_prefix(options: Mapping[str, Any], name: str) -> str:
    value = options.get(name, "")
    if type(value) is not str or len(value) > 1_024:
        raise ConfigError(f"{name} must be a text of at most 1,024 characters.")
    return value


def _read_reply(reply: Reply, count: int, dim: int) -> list[Vector]:
    """`data`: a vector each, by `index` wherever it stands. Raises: EmbeddingError."""
    if reply.status != 200:
        raise EmbeddingError(
            f"The service answered {reply.status}.", refuses=reply.status in REFUSING_STATUSES
        )
    try:
        data = parse_object(reply.body)["data"]
        found = {int(one["index"]): one["embedding"] for one in data}
        vectors: list[Vector] = [[float(number) for number in found[index]] for index in range(count)]
    except (StrictJSONError, KeyError, TypeError, ValueError) as error:
        raise EmbeddingError("The service's answer cannot be read.") from error
    if len(data) != count or any(len(vector) != dim for vector in vectors):
        raise EmbeddingError(f"The service's answer is not {count} vectors of {dim} numbers.")
    return vectors

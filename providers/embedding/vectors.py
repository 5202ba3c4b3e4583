"""Vectors as bytes: numbers of 16 bits, little-endian, of length one; those of a text's passages one after the other. Pure."""

import math
import struct
from collections.abc import Sequence

from providers.embedding import EmbeddingError, Vector

NUMBER_BYTES = 2


def pack(vector: Vector, dim: int) -> bytes:
    """Of length one, so that a product is a cosine. A vector of zeros stays one: it is like nothing.

    Raises: EmbeddingError, as for a text that is refused, for other than `dim` finite numbers.
    """
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    length = math.hypot(*numbers)
    if len(numbers) != dim or not math.isfinite(length):
        raise EmbeddingError(f"The backend gave a vector that is not {dim} numbers.", refuses=True)
    return struct.pack(f"<{dim}e", *(number / length if length else 0.0 for number in numbers))


def unpack(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // NUMBER_BYTES}e", packed)


def unpack_each(packed: bytes, dim: int) -> list[tuple[float, ...]]:
    """Of each passage."""
    length = dim * NUMBER_BYTES
    return [unpack(packed[start : start + length]) for start in range(0, len(packed), length)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of two vectors of length one and as many numbers."""
    return math.sumprod(one, other)

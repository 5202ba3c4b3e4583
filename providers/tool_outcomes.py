"""What a model is told of a call of a memory tool. Pure. Source: contract of document and HTTP memory, sections 7.2 and 9.2."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model is told. `version_ids`: the memory versions whose text or title stands in it or in the arguments.

    `keeps_arguments`: False for a call that did nothing: its text stands in no version, so no erasure would find it.
    """

    output: Any
    is_error: bool = False
    resource_id: str | None = None
    version_ids: list[UUID] = field(default_factory=list)
    keeps_arguments: bool = False


def rejected(reason: str, **facts: Any) -> Outcome:
    return Outcome({"status": "rejected", "reason": reason, **facts})


def tool_error(code: str, message: str, **details: Any) -> Outcome:
    error: dict[str, Any] = {"code": code, "message": message}
    return Outcome({"error": error | ({"details": details} if details else {})}, is_error=True)

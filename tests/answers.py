"""What a caller gets back. Imports nothing of Django: a real hub is called from outside it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, the same from the in-process client and from a real server."""

    status: int
    headers: dict[str, str]
    content: bytes

    @cached_property
    def body(self) -> Any:
        return json.loads(self.content) if self.content else None

    @property
    def error_type(self) -> str:
        return str(self.body["error"]["type"])

    @property
    def error_code(self) -> str | None:
        code = self.body["error"].get("details", {}).get("error_code")
        return None if code is None else str(code)

    @property
    def refusal(self) -> tuple[int, str, str | None]:
        """(status, error.type, error.details.error_code): what most refusals are compared with."""
        return self.status, self.error_type, self.error_code

    @property
    def message(self) -> str:
        return str(self.body["error"]["message"])


# `call(method, path, body=None, *, raw, content_type, headers, query) -> Answer`, in process or over HTTP.
type Call = Callable[..., Answer]

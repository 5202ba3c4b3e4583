"""Lists: `limit`, opaque `page_…` cursors, and the page they give. Source: contract stores 2.7.

Keyset paging: a cursor holds the position of the last item shown, sealed with a keyed fingerprint of the list, its
filters and that position, so that it can be neither made up nor used on another list.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.db.models.query import QuerySet
from django.utils.crypto import salted_hmac

from memoryhub.digests import canonical_json
from memoryhub.errors import InvalidRequest

LIST_LIMIT_DEFAULT = 20  # contract: list limit default
LIST_LIMIT_MAX = 100  # contract: list limit max
FULL_VIEW_LIMIT_MAX = 20  # contract: full-view max
_FORMAT = 1
_PREFIX = "page_"
_CURSOR_LENGTH_MAX = 4_096


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What a caller asks of a list. `kind` and `filters` bind the cursor; limit and view do not."""

    kind: str
    filters: dict[str, Any]
    limit: int
    page: str | None

    def position(self) -> list[Any] | None:
        """The position after which the page begins; None for the first page. Raises: InvalidRequest."""
        return None if self.page is None else self._decode(self.page)

    def cursor(self, position: Sequence[Any]) -> str:
        compact = {"v": _FORMAT, "k": self.kind, "p": list(position), "q": self._seal(list(position))}
        raw = json.dumps(compact, separators=(",", ":"), ensure_ascii=False).encode()
        return _PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def _seal(self, position: list[Any]) -> str:
        sealed = canonical_json([_FORMAT, self.kind, self.filters, position])
        return salted_hmac("memoryhub.pagination", sealed, algorithm="sha256").hexdigest()[:32]

    def _decode(self, token: str) -> list[Any]:
        try:
            if not token.startswith(_PREFIX) or len(token) > _CURSOR_LENGTH_MAX:
                raise ValueError("not a cursor")
            body = token.removeprefix(_PREFIX)
            raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
            position = json.loads(raw.decode("utf-8", "strict"))["p"]
            if not isinstance(position, list) or self.cursor(position) != token:
                raise ValueError("not the bytes that were given out")
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            raise InvalidRequest("invalid page cursor") from error
        return position


@dataclass(frozen=True, slots=True)
class Page[Row]:
    rows: list[Row]
    next_page: str | None

    def as_wire(self, shape: Callable[[Row], dict[str, Any]]) -> dict[str, Any]:
        return {
            "data": [shape(row) for row in self.rows],
            "has_more": self.next_page is not None,
            "next_page": self.next_page,
        }


def cut_page[Row](
    rows: Sequence[Row], request: ListRequest, position_of: Callable[[Row], Sequence[Any]]
) -> Page[Row]:
    """Make a page of rows fetched with one row more than the limit."""
    shown = list(rows[: request.limit])
    more = len(rows) > request.limit
    return Page(shown, request.cursor(position_of(shown[-1])) if more else None)


def cut_newest[Row: Model](rows: QuerySet[Row], request: ListRequest) -> Page[Row]:
    """The page of rows whose ids are in the order of time, newest first. Raises: InvalidRequest for a foreign cursor."""
    position = request.position()
    if position is not None:
        rows = rows.filter(pk__lt=UUID(hex=position[0]))
    return cut_page(list(rows.order_by("-pk")[: request.limit + 1]), request, lambda row: [row.pk.hex])

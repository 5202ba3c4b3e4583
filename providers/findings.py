"""What is wrong with a declaration: every problem is found in one pass, each with the place where it stands."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoryhub.errors import InvalidRequest

PROBLEMS_MAX = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A JSON Pointer (RFC 6901) into the declaration."""

    pointer: str = ""

    def __truediv__(self, key: str | int) -> "Place":
        escaped = str(key).replace("~", "~0").replace("/", "~1")
        return Place(f"{self.pointer}/{escaped}")


@dataclass(slots=True)
class Findings:
    """`listed_origins`: those that need not be public."""

    listed_origins: Container[str]
    problems: list[dict[str, str]] = field(default_factory=list)

    def add(self, place: Place, sentence: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append({"pointer": place.pointer, "message": sentence})

    def require_none(self) -> None:
        """Raises: InvalidRequest with every problem when there is one."""
        if self.problems:
            first = self.problems[0]
            raise InvalidRequest(
                f"The declaration has {len(self.problems)} problem{'s' if len(self.problems) > 1 else ''}; the first,"
                f" at {first['pointer'] or 'its top'}: {first['message']}",
                error_code="invalid_declaration",
                problems=self.problems,
            )

    def read_object(self, value: Any, place: Place, *, keys: frozenset[str]) -> Mapping[str, Any]:
        """The value if it is an object of these keys, else an empty one, and the problem is noted."""
        if not isinstance(value, dict):
            self.add(place, "It must be an object.")
            return {}
        for unknown in sorted(value.keys() - keys):
            self.add(place / unknown, "This key is not known here.")
        return value

    def read_list(self, value: Any, place: Place, *, items_max: int) -> list[Any]:
        if not isinstance(value, list):
            self.add(place, "It must be a list.")
            return []
        if len(value) > items_max:
            self.add(place, f"It has {len(value)} items; at most {items_max} are allowed.")
            return []
        return value

    def read_text(self, value: Any, place: Place, *, length_max: int) -> str:
        """Trimmed; empty with a problem noted."""
        text = value.strip() if isinstance(value, str) else ""
        if not isinstance(value, str):
            self.add(place, "It must be a string.")
        elif not text:
            self.add(place, "It must not be empty.")
        elif len(text) > length_max:
            self.add(place, f"It has {len(text)} characters; at most {length_max} are allowed.")
        elif "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
            self.add(place, "It holds a NUL or half of a character.")
        return text

    def read_integer(self, value: Any, place: Place, *, minimum: int, maximum: int) -> int:
        if type(value) is not int or not minimum <= value <= maximum:  # True is an int
            self.add(place, f"It must be a whole number from {minimum} to {maximum}.")
            return minimum
        return value

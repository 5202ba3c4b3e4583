"""JSON whose bytes are hashed: what may stand in it, how it is read and how it is written.

The bytes are RFC 8785's, for fewer values than it allows: nothing here can be read in two ways, and what is written can
be read back to the same bytes. `object_text` and `array_text` put canonical parts together without reading them again.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from authority.failures import BytesExceededError, CapacityError, ValidationTypeError
from authority.limits import CODE_LENGTH_MAX, DEPTH_MAX, ENTRIES_MAX, INTEGER_MAX, VALUES_MAX
from memoryhub.digests import canonical_json, is_sha256_hex, sha256_hex

_CODE = re.compile(r"[a-z][a-z0-9]*(?:[._:/-][a-z0-9]+)*", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d\.\d{3}Z", re.ASCII)
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")
_INTEGER_DIGITS_MAX = 17


class NotCanonical(ValueError):
    """The value is outside the JSON that may be hashed. The message says why, without quoting content."""


class TooLarge(NotCanonical):
    """A bound on depth, entries or values is passed."""


def parse(raw: bytes | str) -> Any:
    """The value of a JSON text; whole floats become integers. Raises: NotCanonical."""
    try:
        text = raw.decode("utf-8", "strict") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as error:
        raise NotCanonical("not UTF-8") from error
    if _nesting(text) > DEPTH_MAX + 1:
        raise TooLarge("nesting depth")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise NotCanonical("not JSON") from error
    check(value)
    return value


def load(text: str | bytes) -> Any:
    """The value of a text that was canonical when it was kept; whoever is given it checks it, and its digest, anew."""
    return json.loads(text)


def _nesting(text: str) -> int:
    """The deepest nesting, without recursion: the parser would recurse first."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise NotCanonical("repeated key")
    return unique


def _refuse_constant(name: str) -> None:
    raise NotCanonical(f"{name} is not JSON")


def _float(digits: str) -> int | float:
    return _plain_number(float(digits))


def _integer(digits: str) -> int:
    if digits == "-0":
        raise NotCanonical("negative zero")
    if len(digits) > _INTEGER_DIGITS_MAX or abs(int(digits)) > INTEGER_MAX:
        raise NotCanonical("whole number beyond 2**53 - 1")
    return int(digits)


def _plain_number(number: float) -> int | float:
    if not math.isfinite(number):
        raise NotCanonical("not a finite number")
    if number == 0 and math.copysign(1, number) < 0:
        raise NotCanonical("negative zero")
    if not number.is_integer():
        return number
    if abs(number) > INTEGER_MAX:
        raise NotCanonical("whole number beyond 2**53 - 1")
    return int(number)


def check(value: Any) -> None:
    """Walk a value without recursion. Raises: NotCanonical for what may not be hashed, TooLarge past a bound."""
    seen, waiting = 0, [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if depth > DEPTH_MAX:
            raise TooLarge("nesting depth")
        if seen > VALUES_MAX:
            raise TooLarge("number of values")
        kind = type(item)
        if kind is str:
            _check_text(item)
        elif kind is dict:
            _check_entries(item)
            for key, inner in item.items():
                if type(key) is not str:
                    raise NotCanonical("a key that is no string")
                _check_text(key)
                waiting.append((inner, depth + 1))
        elif kind is list:
            _check_entries(item)
            waiting.extend((inner, depth + 1) for inner in item)
        else:
            _check_scalar(item)


def _check_entries(container: dict[str, Any] | list[Any]) -> None:
    if len(container) > ENTRIES_MAX:
        raise TooLarge("number of entries")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise NotCanonical("a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotCanonical("half a surrogate pair") from error


def _check_scalar(item: Any) -> None:
    kind = type(item)
    if item is None or kind is bool:
        return
    if kind is int:
        if abs(item) > INTEGER_MAX:
            raise NotCanonical("whole number beyond 2**53 - 1")
    elif kind is float:
        _plain_number(item)
    else:
        raise NotCanonical(f"{kind.__name__} is not JSON")


def detach(value: Any, *, label: str, bytes_max: int) -> Any:
    """A copy that later changes of the original do not reach; whole floats become integers.

    Raises: ValidationTypeError and CapacityError, whose message begins with the label.
    """
    try:
        check(value)
    except TooLarge as error:
        raise CapacityError(f"{label} exceeds its canonical bound: {error}.") from error
    except NotCanonical as error:
        raise ValidationTypeError(f"{label} is not canonical JSON: {error}.") from error
    copy = _copy(value)
    if len(text_of(copy)) > bytes_max:
        raise BytesExceededError(f"{label} exceeds its canonical byte bound.")
    return copy


def read(raw: bytes, *, label: str, bytes_max: int) -> Any:
    """The same of a JSON text; one that is nested too deep is no JSON of ours. Raises: as detach."""
    try:
        value = parse(raw)
    except NotCanonical as error:
        raise ValidationTypeError(f"{label} is not canonical JSON: {error}.") from error
    if len(text_of(value)) > bytes_max:
        raise BytesExceededError(f"{label} exceeds its canonical byte bound.")
    return value


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copy(inner) for key, inner in value.items()}
    if kind is list:
        return [_copy(inner) for inner in value]
    return _plain_number(value) if kind is float else value


def text_of(value: Any) -> bytes:
    """The canonical bytes of a checked value."""
    return canonical_json(value)


def digest_of(value: Any) -> str:
    return sha256_hex(canonical_json(value))


def object_text(fields: Mapping[str, bytes]) -> bytes:
    """The canonical bytes of an object of canonical parts; the names are ASCII and need no escape."""
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), fields[name]) for name in sorted(fields)) + b"}"


def array_text(items: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def sealed_text(fields: Mapping[str, bytes], digest_name: str) -> tuple[str, bytes]:
    """(digest over the fields, the bytes of the object with it)."""
    digest = sha256_hex(object_text(fields))
    return digest, object_text({**fields, digest_name: text_of(digest)})


def has_exact_keys(value: Any, keys: frozenset[str], *, version: int = 1) -> bool:
    """Whether it is an object of these keys, no more and no fewer, whose `v`, where it has one, is that integer."""
    if type(value) is not dict or value.keys() != keys:
        return False
    return "v" not in keys or is_integer(value["v"], version, version)


def is_code(text: object, *, length_max: int = CODE_LENGTH_MAX) -> bool:
    """Whether it is a safe code: the grammar of every identifier."""
    return isinstance(text, str) and len(text) <= length_max and _CODE.fullmatch(text) is not None


def is_integer(value: object, minimum: int, maximum: int = INTEGER_MAX) -> bool:
    return type(value) is int and minimum <= value <= maximum


def is_digest(value: object) -> bool:
    return is_sha256_hex(value)


def is_instant(text: object) -> bool:
    if not isinstance(text, str) or not _INSTANT.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def instant_of(milliseconds: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ` of milliseconds since 1970."""
    seconds, rest = divmod(milliseconds, 1_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"

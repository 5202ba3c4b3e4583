"""What may be hashed, what is refused before anything is, and that reading and writing are each other's inverse."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authority.canonical import (
    NotCanonical,
    TooLarge,
    check,
    detach,
    digest_of,
    has_exact_keys,
    instant_of,
    is_code,
    is_instant,
    parse,
    read,
    text_of,
)
from authority.failures import BytesExceededError, CapacityError, ValidationTypeError

REFUSED = {
    "minus zero": "-0",
    "minus zero as a float": "-0.0",
    "minus zero by underflow": "-1e-400",
    "no number": "NaN",
    "infinity": "Infinity",
    "overflow": "1e400",
    "integer past a double": "9007199254740992",
    "whole float past a double": "1e20",
    "digits without end": "9" * 100_000,
    "repeated key": '{"a":1,"a":2}',
    "repeated key by an escape": '{"a":1,"\\u0061":2}',
    "half a pair": '"\\ud800"',
    "half a pair in a key": '{"\\ud800":1}',
    "NUL": '"\\u0000"',
    "NUL in a key": '{"\\u0000":1}',
    "too deep": "[" * 130 + "]" * 130,
    "much too deep": "[" * 100_000,
    "too many entries": "[" + "0," * 65_536 + "0]",
    "nothing": "",
    "two values": "1 2",
    "a byte order mark": "\ufeff1",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_text_that_may_not_be_hashed_is_refused(text: str) -> None:
    with pytest.raises(NotCanonical):
        parse(text)
    with pytest.raises((ValidationTypeError, CapacityError), match=r"^The request "):
        read(text.encode("utf-8", "surrogatepass"), label="The request", bytes_max=1_000_000)


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(NotCanonical):
        parse(b'"\xff"')


@pytest.mark.parametrize(
    "value",
    [-0.0, math.nan, math.inf, 2**53, 1e20, "\ud800", "\0", {1: 2}, {"\ud800": 1}, (1,), {1}, b"", object()],
    ids=lambda value: type(value).__name__ if type(value) is object else repr(value),
)
def test_a_value_that_may_not_be_hashed_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        check([{"inner": value}])
    with pytest.raises(ValidationTypeError):
        detach({"inner": value}, label="The request", bytes_max=1_000)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_the_deepest_nesting_is_read_and_one_more_is_refused() -> None:
    assert parse("[" * 129 + "]" * 129) == nested(129)
    with pytest.raises(TooLarge):
        parse("[" * 129 + "1" + "]" * 129)
    with pytest.raises(TooLarge):
        check(nested(130))
    with pytest.raises(CapacityError, match=r"^The request .*nesting"):
        detach(nested(100_000), label="The request", bytes_max=1_000_000)


def test_brackets_in_strings_do_not_nest() -> None:
    assert parse(json.dumps(["[" * 1_000 + '\\"{'])) == ["[" * 1_000 + '\\"{']


def test_whole_floats_become_integers_and_true_is_no_one() -> None:
    assert [type(item) for item in parse("[1.0, 1e2, 0.5, 1e-400, true]")] == [int, int, float, int, bool]
    assert text_of(detach([2.0, 0.0], label="The request", bytes_max=10)) == b"[2,0]"
    keys = frozenset({"v"})
    assert has_exact_keys({"v": 1}, keys)
    for wrong in ({"v": True}, {"v": 1.0}, {"v": 2}, {"v": "1"}, {}, {"v": 1, "w": 1}, ["v"], None):
        assert not has_exact_keys(wrong, keys), wrong


def test_one_byte_past_a_bound_is_refused() -> None:
    assert read(b'"abc"', label="The request", bytes_max=5) == "abc"
    with pytest.raises(BytesExceededError, match=r"^The request exceeds its canonical byte bound\.$"):
        read(b' "abcd" ', label="The request", bytes_max=5)


def test_a_detached_value_is_not_reached_by_later_changes() -> None:
    given_value = {"list": [{"name": "first"}]}
    copy = detach(given_value, label="The request", bytes_max=1_000)
    given_value["list"][0]["name"] = "changed"
    assert copy == {"list": [{"name": "first"}]}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: not number.is_integer() or (abs(number) < 2**53 and math.copysign(1, number) > 0)
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_what_is_written_is_read_to_the_same_bytes(value: Any) -> None:
    plain = detach(value, label="The request", bytes_max=10_000_000)
    text = text_of(plain)
    assert text_of(parse(text)) == text
    assert digest_of(parse(json.dumps(plain, indent=2))) == digest_of(plain)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        parse(text)
    except NotCanonical:
        return
    json.loads(text)


CODES = ["a", "a1", "entity:ada", "a.b_c:d/e-f", "memory_" + "0" * 48]
NO_CODES = ["", "A", "1a", "a-", "-a", "a..b", "a b", "a\n", "ä", "a:", "a__b", None, 1, "a" * 129]


def test_safe_codes() -> None:
    assert all(is_code(code) for code in CODES)
    assert [text for text in NO_CODES if is_code(text)] == []
    assert is_code("a" * 512, length_max=512)
    assert not is_code("a" * 513, length_max=512)


def test_instants() -> None:
    assert is_instant("2026-12-01T09:00:00.000Z")
    assert is_instant("2028-02-29T23:59:59.999Z")
    wrong = [
        "2026-12-01T09:00:00Z",
        "2026-12-01T09:00:00.0000Z",
        "2026-02-30T09:00:00.000Z",
        "2026-12-01T24:00:00.000Z",
        "2026-12-01T09:00:60.000Z",
        "2026-12-01 09:00:00.000Z",
        "2026-12-01T09:00:00.000Z\n",
        None,
    ]
    assert [text for text in wrong if is_instant(text)] == []
    assert instant_of(1_796_115_600_005) == "2026-12-01T09:00:00.005Z"

"""Canonical JSON is RFC 8785, whichever writer makes it."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryhub.digests import _is_plain, canonical_json, sha256_hex

LEAVES = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=2_000, deadline=None)
@given(VALUES)
def test_both_writers_give_the_same_bytes_or_refuse(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        with pytest.raises(ValueError):
            canonical_json(value)
    else:
        assert canonical_json(value) == expected


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, True, None, 'é\x00\x1f\x7f\u2028"\\/\b\f\n\r\t'], "B": {}}, True),
        ({"n": 2**53 - 1, "m": -(2**53 - 1)}, True),
        ({"n": 2**53}, False),
        ({"n": 1.0}, False),
        ({"\uff61": 1, "\U0001f600": 2}, False),  # UTF-16 puts the second first
        ({1: 2}, False),
    ],
)
def test_only_values_that_both_write_alike_take_the_fast_way(value: Any, plain: bool) -> None:
    assert _is_plain(value) is plain


def test_known_bytes() -> None:
    """Source: RFC 8785, section 3.2.3, and its example of strings."""
    assert canonical_json({"b": '\u20ac$\u000f\nA\'B"\\\\"/', "a": [333333333.33333329, 1e30, 4.5]}) == (
        b'{"a":[333333333.3333333,1e+30,4.5],"b":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    for wrong in (float("nan"), float("inf"), 2**53, "\ud800", {"\ud800": 1}, object()):
        with pytest.raises(ValueError):
            canonical_json(wrong)


def test_a_digest_is_of_utf8_bytes() -> None:
    assert sha256_hex("é") == sha256_hex(b"\xc3\xa9") != sha256_hex("e\u0301")

"""The one JSON parser: it agrees with the standard library on what it accepts, and refuses what two parsers read differently."""

import json
from typing import Any

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.api import check_content_type, read_json_body
from memoryhub.errors import InvalidRequest
from memoryhub.strict_json import NESTING_MAX, StrictJSONError, check_text, parse, parse_object

# Text without NUL and surrogates, which PostgreSQL and UTF-8 cannot hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_what_the_standard_library_writes_comes_back_equal(
    value: Any, ensure_ascii: bool, indent: int | str | None
) -> None:
    raw = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent).encode()
    assert parse(raw) == value == json.loads(raw)


@given(st.binary(max_size=60) | st.text('{}[]",:\\ntrue0123.eE-+ u', max_size=40).map(str.encode))
def test_nothing_is_accepted_that_the_standard_library_refuses(raw: bytes) -> None:
    try:
        accepted = parse(raw)
    except StrictJSONError:
        return
    assert accepted == json.loads(raw)


@given(TEXT)
def test_text_is_kept_as_sent(text: str) -> None:
    assert parse(json.dumps({"t": text}).encode()) == {"t": text}


REFUSED = {
    "is not valid UTF-8": [
        b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32-le") + b"\xff",
    ],
    "is not valid JSON": [
        b"", b" ", b"{", b"[1,]", b'{"a":1,}', b"{'a':1}", b"{a:1}", b'{"a":1}{}', b'{"a":1} x', b"// c\n1", b"01", b"1.", b".5", b"+1",
        b"0x1", b"True", b"undefined", b'"\t"', b'"\\x41"', b'"\\u12"', b'"a', b"\xef\xbb\xbf1", '{"a":1}'.encode("utf-16-le"), b"\x00",
    ],
    "repeats a key": [b'{"a":1,"a":1}', b'{"x":[{"a":1,"a":2}]}', b'{"a":1,"\\u0061":2}'],
    "is not JSON": [b"NaN", b"[Infinity]", b'{"a":-Infinity}'],
    "out of range": [b"1e999", b"-1e999", b"[1.5e400]"],
    "beyond 64 bits": [b"9223372036854775808", b"-9223372036854775809", b"9" * 5_000, b"[" + b"1" * 21 + b"]"],
    "NUL": [b'"\\u0000"', b'{"a\\u0000":1}', b'[{"k":"x\\u0000"}]'],
    "half a surrogate pair": [b'"\\ud800"', b'"\\udc00"', b'"\\udc00\\ud800"', b'{"\\ud800":1}', b'["\\ud83dx"]'],
    "nested deeper": [
        b"[" * 65 + b"]" * 65, b'{"a":' * 65 + b"1" + b"}" * 65, b"[" * 1_000_000, b'[{"a":' * 100_000, b'"x' + b"[" * 70,
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "raw"), [(sentence, raw) for sentence, raws in REFUSED.items() for raw in raws], ids=lambda value: repr(value)[:40]
)  # fmt: skip
def test_refused(sentence: str, raw: bytes) -> None:
    with pytest.raises(StrictJSONError, match=sentence):
        parse(raw)


ACCEPTED: list[tuple[bytes, Any]] = [
    (b"[" * NESTING_MAX + b"]" * NESTING_MAX, None),
    (b'"' + b"[" * 1_000 + b'"', "[" * 1_000),
    (b'"\\"' + b"{" * 100 + b'"', '"' + "{" * 100),
    (b"9223372036854775807", (1 << 63) - 1),
    (b"-9223372036854775808", -(1 << 63)),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b' \r\n\t{"a" : [ ] } ', {"a": []}),
    (b"-0.0", 0.0),
    (b"1E2", 100.0),
]


@pytest.mark.parametrize(("raw", "value"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_accepted_at_the_edge(raw: bytes, value: Any) -> None:
    found = parse(raw)
    assert found == value or (value is None and isinstance(found, list))


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"1", b"null", b"true"])
def test_a_body_is_one_object(raw: bytes) -> None:
    with pytest.raises(StrictJSONError, match="one JSON object"):
        parse_object(raw)


def test_a_refusal_quotes_nothing_of_the_body() -> None:
    for raw in (b'{"secret":"mh_secret"', b'{"mh_secret":1,"mh_secret":2}', b'{"mh_secret":"\\u0000"}'):
        with pytest.raises(StrictJSONError) as caught:
            parse(raw)
        assert "mh_secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["\0", "a\0", "\ud800", "\udfff"])
def test_text_that_cannot_be_kept(text: str) -> None:
    with pytest.raises(StrictJSONError):
        check_text(text)


GOOD_TYPES = [
    "application/json", "APPLICATION/JSON", "application/json; charset=utf-8", 'application/json;charset="UTF-8"', "application/json; charset=utf8",
    "application/json; profile=x",
]  # fmt: skip
BAD_TYPES = [
    "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "application/json, text/html",
    "application/json; charset=utf-7", "application/json; charset=utf-16", "application/json; charset=bogus", "application/vnd.api+json",
]  # fmt: skip


@pytest.mark.parametrize("content_type", GOOD_TYPES)
def test_a_content_type_that_is_json_in_utf8(content_type: str) -> None:
    request = RequestFactory().generic("POST", "/v1/x", b"{}", content_type=content_type)
    assert check_content_type(request, "application/json") == "application/json"
    assert read_json_body(request, optional=False) == {}


@pytest.mark.parametrize("content_type", BAD_TYPES)
def test_a_content_type_that_is_not(content_type: str) -> None:
    request = RequestFactory().generic("POST", "/v1/x", b"{}", content_type=content_type)
    with pytest.raises(InvalidRequest):
        read_json_body(request, optional=True)


def test_a_body_may_be_missing_only_where_none_is_needed() -> None:
    request = RequestFactory().generic("POST", "/v1/x", b"", content_type="application/json")
    assert read_json_body(request, optional=True) is None
    with pytest.raises(InvalidRequest, match="one JSON object"):
        read_json_body(request, optional=False)

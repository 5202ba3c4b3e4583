"""What differs between two values, field by field."""

from typing import Any

import pytest

from authority.value_diffs import FIELDS_MAX, TEXT_LENGTH_MAX, Field, diff_fields

CASES: list[tuple[Any, Any, list[Field]]] = [
    ({"a": 1}, {"a": 1}, []),
    ({"a": 1}, {"a": 2}, [Field("/a", "changed", "1", "2")]),
    ({"a": "x"}, {}, [Field("/a", "removed", "x", None)]),
    ({}, {"a": None}, [Field("/a", "added", None, "null")]),
    (
        {"a": [1, 2]},
        {"a": [1, 3, 4]},
        [Field("/a/1", "changed", "2", "3"), Field("/a/2", "added", None, "4")],
    ),
    ({"a": {"b/c~": "x"}}, {"a": {"b/c~": "y"}}, [Field("/a/b~1c~0", "changed", "x", "y")]),
    ({"a": {}}, {"a": []}, [Field("/a", "changed", "{}", "[]")]),
    ({"a": 1}, {"a": True}, [Field("/a", "changed", "1", "true")]),
    ("x", "y", [Field("", "changed", "x", "y")]),
]


@pytest.mark.parametrize(("before", "after", "found"), CASES)
def test_each_field_that_differs_is_named(before: Any, after: Any, found: list[Field]) -> None:
    assert diff_fields(before, after).fields == found


@pytest.mark.parametrize(("count", "is_cut"), [(FIELDS_MAX, False), (FIELDS_MAX + 1, True)])
def test_as_many_fields_are_shown_as_a_page_takes(count: int, is_cut: bool) -> None:
    found = diff_fields({}, {f"f{n}": n for n in range(count)})
    assert (len(found.fields), found.is_cut) == (FIELDS_MAX, is_cut)


@pytest.mark.parametrize("length", [TEXT_LENGTH_MAX, TEXT_LENGTH_MAX + 1])
def test_a_long_text_is_cut(length: int) -> None:
    after = diff_fields("", "x" * length).fields[0].after
    assert after == ("x" * length if length == TEXT_LENGTH_MAX else "x" * TEXT_LENGTH_MAX + "…")

"""The path grammar and the ranges of bytes made of paths: no database."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.errors import InvalidRequest
from stores.limits import PATH_BYTES_MAX, PATH_SEGMENTS_MAX
from stores.paths import (
    RESERVED_PATHS,
    check_path,
    check_path_prefix,
    find_path_problem,
    parent_keys,
    prefix_range,
    subtree_range,
)

ACCEPTED = [
    "/a", "/a.md", "/.hidden", "/..hidden", "/...", "/a/..b/c", "/.env", "/a/.b./c..", "/with space/and + plus", "/ ", "/100%/x", "/a_b",
    "/%2e%2e/x", "/%00", "/ünïcode/日本語.md", "/emoji/\U0001f600", "/-", "/~", "/a:b", '/a"b', "/#x?y=1", "/CON", "/\u00e9", "/a\\b", "/*",
    "/\u00a0", "/\u2003", "/\u0378", "/\ue000", "/\ufffe", "/\U0010ffff",  # blanks, unassigned and private use
    "/" + "/".join(f"s{n}" for n in range(PATH_SEGMENTS_MAX)),
    "/" + "q" * (PATH_BYTES_MAX - 1),
    "/" + "é" * 511 + "w",
    "/" + "\U0001f600" * 255 + "abc",
    "/sub/.anthropic-memory-store", "/.anthropic-memory-store/x", "/.anthropic-memory-store.md", "/.ANTHROPIC-memory-store",
]  # fmt: skip
REFUSED = {
    "it must start with / and name a file": ["", "a", "a/b", "/", ".", "..", " /a", "\\a", "%2Fa"],
    "it has an empty segment (// or a / at the end)": ["//", "/a/", "/a//b", "//a", "/a/b//"],
    "it has a segment . or ..": ["/.", "/..", "/a/.", "/a/..", "/a/./b", "/a/../b", "/../a"],
    "it holds a control, format or line separator character": [
        "/a\x00b", "/a\nb", "/a\tb", "/\x1f", "/a\x7fb", "/a\x85b", "/a\u200bb", "/a\u00adb", "/\ufeffa", "/a\u202eb", "/a\u2066b",
        "/a\U000e0041b", "/a\u2028b", "/a\u2029b", "/e\u0301\u200b",
    ],
    "it is not in Unicode normal form NFC": ["/e\u0301", "/\u212b", "/\u1100\u1161", "/a/\u0340"],
    "it is not valid Unicode text": ["/\ud800", "/\udc00\ud800"],
    "it has 1025 bytes; at most 1024 are allowed": ["/" + "q" * PATH_BYTES_MAX, "/" + "é" * 512, "/" + "\U0001f600" * 256],
    "it has 21 segments; at most 20 are allowed": ["/" + "/".join("s" * (PATH_SEGMENTS_MAX + 1)), "/" * 21],
    "this name is reserved for mounts": sorted(RESERVED_PATHS),
}  # fmt: skip


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: ascii(path)[:40])
def test_a_path_by_the_rules_is_its_bytes(path: str) -> None:
    assert check_path(path) == path.encode()
    assert check_path_prefix(path + "/") == path.encode() + b"/"


@pytest.mark.parametrize(
    ("path", "problem"),
    [(path, problem) for problem, paths in REFUSED.items() for path in paths],
    ids=lambda value: ascii(value)[:40],
)
def test_a_path_against_a_rule_names_the_rule(path: str, problem: str) -> None:
    assert find_path_problem(path) == problem
    with pytest.raises(InvalidRequest) as refused:
        check_path(path)
    assert (refused.value.message, refused.value.error_code) == (f"path: {problem}", "memory_path_invalid")


def test_limits_are_the_contracts() -> None:
    assert (PATH_BYTES_MAX, PATH_SEGMENTS_MAX) == (1_024, 20)


@pytest.mark.parametrize(
    "prefix",
    ["", "a", "a/", "/a", "//", "/a//", "/../", "/a/./", "/e\u0301/", "/\t/", "/" + "q" * 1_024 + "/"],
)
def test_a_prefix_that_is_not_a_directory_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^path_prefix: "):
        check_path_prefix(prefix)


def test_a_directory_of_a_reserved_name_is_a_prefix() -> None:
    assert check_path_prefix("/.memoryhub-store/") == b"/.memoryhub-store/"
    assert check_path_prefix("/") == b"/"


LETTERS = st.sampled_from(
    [*"ab/._-0~", "\x00", "\x7f", "\x85", "\u200b", "\u2028", "é", "e\u0301", "\U0001f600", "\ud800"]
)


@given(st.lists(LETTERS, max_size=12).map("".join), st.integers(0, 1_100))
def test_the_grammar_is_the_contracts(text: str, filler: int) -> None:
    path = "/" + text + "x" * filler
    assert (find_path_problem(path) is None) == _is_path(path)


def _is_path(path: str) -> bool:
    """Section 3.4, rule by rule."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return False
    segments = path[1:].split("/")
    return (
        size <= 1_024
        and path.startswith("/")
        and 1 <= len(segments) <= 20
        and all(segment not in ("", ".", "..") for segment in segments)
        and not any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in path)
        and unicodedata.normalize("NFC", path) == path
        and path not in ("/.anthropic-memory-store", "/.memoryhub-store")
    )


SEGMENT = st.sampled_from(["a", "b", "a-", "a.", "a0", "a_", "a%", "A", "é", "\U0001f600", "/".join("ab")])
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map(lambda segments: "/" + "/".join(segments))


@given(PATH, PATH)
def test_two_paths_conflict_when_one_is_the_other_or_lies_below_it(one: str, other: str) -> None:
    low, high = subtree_range(one.encode())
    taken = other.encode() in [*parent_keys(one.encode()), one.encode()] or low <= other.encode() < high
    a, b = one.split("/"), other.split("/")
    assert taken == (a[: len(b)] == b or b[: len(a)] == a)


@given(PATH, PATH)
def test_a_prefix_holds_what_starts_with_its_segments(directory: str, path: str) -> None:
    low, high = prefix_range(directory.encode() + b"/")
    inside = path.split("/")[: len(directory.split("/"))] == directory.split("/") and path != directory
    assert (low <= path.encode() < high) == inside


@given(PATH)
def test_the_root_holds_every_path(path: str) -> None:
    low, high = prefix_range(b"/")
    assert low <= path.encode() < high


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1),
        min_size=1,
        max_size=20,
    )
)
def test_parents_are_the_proper_ancestors_outermost_first(segments: list[str]) -> None:
    path = "/" + "/".join(segments)
    ancestors = ["/" + "/".join(segments[:depth]) for depth in range(1, len(segments))]
    assert parent_keys(path.encode()) == [ancestor.encode() for ancestor in ancestors]

import pytest

from stores.mount.ignores import GLOB_LENGTH_MAX, GLOBS_MAX, GlobError, Ignores
from stores.mount.places import Occupied, folders_above
from stores.mount.renames import Rename, find_renames


def test_the_only_pair_of_its_bytes_is_a_rename() -> None:
    assert find_renames({"/a": "1", "/b": "2"}, {"/c": "1", "/d": "3"}) == [Rename("/a", "/c", "1")]


def test_of_equal_bytes_the_name_decides() -> None:
    gone = {"/old/a": "1", "/old/b": "1", "/old/c": "1"}
    new = {"/new/b": "1", "/new/a": "1", "/new/d": "1"}
    assert find_renames(gone, new) == [Rename("/old/a", "/new/a", "1"), Rename("/old/b", "/new/b", "1")]


@pytest.mark.parametrize(
    ("gone", "new"),
    [
        ({"/a": "1", "/b": "1"}, {"/c": "1"}),
        ({"/a": "1"}, {"/c": "1", "/d": "1"}),
        ({}, {"/c": "1"}),
        ({"/a": "1"}, {}),
    ],
)
def test_what_can_mean_two_things_is_none(gone: dict[str, str], new: dict[str, str]) -> None:
    assert find_renames(gone, new) == []


def test_a_name_and_the_only_bytes_never_take_one_target_twice() -> None:
    gone = {"/x/a": "1", "/b": "1"}
    new = {"/y/a": "1"}
    assert find_renames(gone, new) == [Rename("/x/a", "/y/a", "1")]


@pytest.mark.parametrize(
    ("glob", "covered", "free"),
    [
        ("*.swp", ["/a.swp", "/in/b.swp"], ["/a.swpx", "/swp"]),
        ("build", ["/build", "/in/build/x"], ["/builds", "/rebuild"]),
        ("build/", ["/build/x"], ["/buildx"]),
        ("/a/*.md", ["/a/x.md"], ["/a/b/x.md", "/b/a/x.md"]),
        ("a/**", ["/a/x", "/a/b/c"], ["/a", "/b/a/x"]),
        ("a/**/x", ["/a/b/x", "/a/b/c/x"], ["/a/x/y"[:2]]),
        ("?.md", ["/a.md"], ["/ab.md"]),
        ("[a].md", ["/[a].md"], ["/a.md"]),
    ],
)
def test_a_glob_covers_names_or_whole_paths(glob: str, covered: list[str], free: list[str]) -> None:
    ignores = Ignores([glob])
    assert [path for path in covered if not ignores.covers(path)] == []
    assert [path for path in free if ignores.covers(path)] == []


def test_globs_have_limits() -> None:
    Ignores(["a" * GLOB_LENGTH_MAX] * GLOBS_MAX)
    for globs in (["a"] * (GLOBS_MAX + 1), ["a" * (GLOB_LENGTH_MAX + 1)], ["/"], [" "]):
        with pytest.raises(GlobError):
            Ignores(globs)


def test_no_glob_covers_nothing() -> None:
    assert not Ignores().covers("/a")


def test_a_file_and_a_folder_of_one_name_stand_in_each_others_way() -> None:
    occupied = Occupied({"/a/b/c": "1", "/d": "2"})
    assert [path for path in ("/a", "/a/b", "/d/e", "/d/e/f", "/a/b/c/d") if not occupied.blocks(path)] == []
    assert [path for path in ("/a/b/c", "/a/x", "/a-b", "/d", "/dd/e", "/x") if occupied.blocks(path)] == []
    assert folders_above("/a/b/c") == ["/a", "/a/b"] and folders_above("/a") == []

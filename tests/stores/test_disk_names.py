import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.disk_names import SEGMENT_BYTES_MAX, disk_names

FORBIDDEN = set('\\:*?"<>|') | {chr(code) for code in range(32)}
DEVICES = {"con", "prn", "aux", "nul", *(f"{word}{digit}" for word in ("com", "lpt") for digit in range(10))}
SEGMENTS = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp"), exclude_characters="/"), min_size=1, max_size=12
).map(lambda text: unicodedata.normalize("NFC", text))
ODD = st.sampled_from(
    ["a", "A", "a.", "b ", "con", "Aux.md", "ß", "SS", "x:y", "_renamed", "0001-a", "%41", "é", "é" * 150]
)
PATHS = st.lists(
    st.lists(SEGMENTS | ODD, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)),
    unique=True,
    max_size=20,
)


def folded(name: str) -> str:
    """As a disk of Windows or macOS compares names."""
    return "/".join(unicodedata.normalize("NFC", part).casefold().rstrip(" .") for part in name.split("/"))


@given(PATHS)
def test_no_name_meets_another_or_leads_out(paths: list[str]) -> None:
    paths = [path for path in paths if not {".", ".."} & set(path.split("/"))]
    names = disk_names(paths)
    assert set(names) == set(paths)
    on_disk = [folded(name) for name in names.values()]
    assert len(set(on_disk)) == len(on_disk)
    assert not any(other.startswith(f"{name}/") for name in on_disk for other in on_disk)
    for name in names.values():
        for segment in name.split("/"):
            assert segment not in ("", ".", "..") and not FORBIDDEN & set(segment)
            assert segment == segment.rstrip(" .") and segment.split(".")[0].lower() not in DEVICES
            assert len(segment.encode()) <= max(SEGMENT_BYTES_MAX, 255)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/b.md", "a/b.md"),
        ("/Müller/日本.md", "Müller/日本.md"),
        ("/a:b?.md", "a%3Ab%3F.md"),
        ("/100%.md", "100%25.md"),
        ("/end.", "end%2E"),
        ("/two  ", "two%20%20"),
        ("/con/Aux.md", "%63on/%41ux.md"),
    ],
)
def test_a_name_stays_as_it_is_but_for_what_some_system_forbids(path: str, name: str) -> None:
    assert disk_names([path]) == {path: name}


@pytest.mark.parametrize(
    ("first", "second"), [("/Read.md", "/read.md"), ("/straße", "/STRASSE"), ("/a/b", "/A"), ("/A", "/a/b")]
)
def test_a_path_that_some_disk_takes_for_another_is_renamed(first: str, second: str) -> None:
    names = disk_names([first, second])
    assert names[first] == first[1:]
    assert re.fullmatch(r"_renamed/0001-\w+(\.md)?", names[second])


def test_a_name_of_the_greatest_length_stays_and_a_longer_one_is_renamed() -> None:
    longest = "é" * (SEGMENT_BYTES_MAX // 2)
    names = disk_names([f"/{longest}", f"/{longest}é"])
    assert names[f"/{longest}"] == longest
    assert names[f"/{longest}é"].startswith("_renamed/0001-é")

"""What cannot be seen, or turns a text about, is named on a page; what is an ordinary part of a text is left alone."""

import time
import unicodedata

import pytest

from memoryhub.templatetags.hub import numbered_lines, spelled, visible
from memoryhub.unseen import replace_unseen
from tests.console.site import Site
from tests.stores.shelf import Shelf

LINES_SECONDS_MAX = 2.0

NAMED = {
    "\u202e": "U+202E RIGHT-TO-LEFT OVERRIDE",
    "\u2066": "U+2066 LEFT-TO-RIGHT ISOLATE",
    "\u200b": "U+200B ZERO WIDTH SPACE",
    "\u200d": "U+200D ZERO WIDTH JOINER",
    "\ufeff": "U+FEFF ZERO WIDTH NO-BREAK SPACE",
    "\xad": "U+00AD SOFT HYPHEN",
    "\x08": "U+0008 BACKSPACE",
    "\x1b": "U+001B ESCAPE",
    "\r": "U+000D CARRIAGE RETURN",
    "\x01": "U+0001 CONTROL CHARACTER",
    "\u2028": "U+2028 LINE SEPARATOR",
    "\u3164": "U+3164 HANGUL FILLER",
    "\ufe0f": "U+FE0F VARIATION SELECTOR-16",
    "\U000e0041": "U+E0041 TAG LATIN CAPITAL LETTER A",
    "\U000e0101": "U+E0101 VARIATION SELECTOR-18",
    "\U000e0fff": "U+E0FFF UNASSIGNED CHARACTER",
}
LEFT_ALONE = [
    "plain",
    "a\tb",
    "Größe, e\u0301",
    "日本語",
    "العربية",
    "👩\u200d🚀",
    "❤\ufe0f",
    "1\ufe0f\u20e3",
    "👩🏽\u200d🚀",
    "❤\ufe0f\u200d🔥",
]


@pytest.mark.parametrize(("character", "named"), NAMED.items(), ids=NAMED.values())
def test_an_unseen_character_is_named_where_it_stands(character: str, named: str) -> None:
    code = named.partition(" ")[0]
    assert visible(f"a{character}b") == f'a<span class="unseen-char" title="{named}">{code}</span>b'
    assert spelled(f"a{character}b") == f"a[{code}]b"


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_an_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == spelled(text) == text


def test_a_run_is_one_mark_that_names_each_character_once() -> None:
    shown = visible("\u202e\u200b\u200b<b>")
    names = "U+202E RIGHT-TO-LEFT OVERRIDE, U+200B ZERO WIDTH SPACE"
    assert shown == f'<span class="unseen-char" title="{names}">U+202E U+200B U+200B</span>&lt;b&gt;'


def test_every_character_without_a_shape_is_named() -> None:
    whole = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    found: set[str] = set()

    def note(run: str) -> str:
        found.update(run)
        return run

    assert replace_unseen(whole, note) == whole
    without_shape = {one for one in whole if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")}
    assert without_shape - found == {"\n", "\t"}
    assert not any(one.isspace() and one not in without_shape for one in found)
    assert not any(unicodedata.category(one)[0] in "NPS" and one != "\u2800" for one in found)


def test_a_break_of_lines_is_none_that_a_reader_would_not_see() -> None:
    shown = numbered_lines("one\r\ntwo\u2028three\n")
    assert shown.count("<span>") == 2
    assert 'title="U+000D CARRIAGE RETURN">U+000D</span></span><span>two' in shown


@pytest.mark.parametrize("text", ["a\n" * 100_000, "a\x01" * 51_200, "\u200b\n" * 25_600])
def test_the_longest_texts_are_shown_at_once(text: str) -> None:
    numbered_lines("\x01")  # what is made once
    started = time.process_time()
    numbered_lines(text)
    assert time.process_time() - started < LINES_SECONDS_MAX


def test_pages_name_the_unseen_characters_of_names_and_texts(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "pay \u202e001 to\u200b me")
    owner.post("/stores/new", {"name": "No\u202etes", "description": "de\u200bscribed"})
    shown = owner.get(f"/stores/{shelf.store_id}/memories/{memory.wire_id}").content.decode()
    listed = owner.get("/stores").content.decode()
    for page in (shown, listed):
        assert "\u202e" not in page
        assert "\u200b" not in page
        assert page.count('class="unseen-char"') == 2

"""Characters that are there and cannot be seen, or that turn the text around them about: they are named on a page.

Controls, bidirectional marks, zero-width and other formats, variation selectors, fillers. What is a usual part of a
pictograph (a joiner between two, the selector of its colour) is left to it: it hides nothing.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

# Drawn as nothing although their category says otherwise, and what Unicode keeps for more of that kind.
# Source: Unicode 16, DerivedCoreProperties.txt, Default_Ignorable_Code_Point; and the blank Braille pattern.
_DRAWN_AS_NOTHING = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
_LAST_WITH_CATEGORY = 0x20000  # beyond it there are only ideographs, private use, and the range above
_LINES_AND_TABS = "\n\t"  # they are seen by what they do
_CONTROLS = {0x08: "BACKSPACE", 0x0B: "LINE TABULATION", 0x0C: "FORM FEED", 0x0D: "CARRIAGE RETURN",
             0x1B: "ESCAPE", 0x7F: "DELETE", 0x85: "NEXT LINE"}  # fmt: skip
_JOINER, _TEXT_STYLE, _PICTURE_STYLE = "\u200d", "\ufe0e", "\ufe0f"


@cache
def _pattern() -> re.Pattern[str]:
    of_category: dict[str, list[int]] = {}
    for code in range(_LAST_WITH_CATEGORY):
        of_category.setdefault(unicodedata.category(chr(code)), []).append(code)
    unseen = _class(of_category, "Cc", "Cf", "Zl", "Zp") + "".join(
        f"{chr(first)}-{chr(last)}" for first, last in _DRAWN_AS_NOTHING
    )
    pictographs = _class(of_category, "So", "Sk")
    # a selector of style also stands after signs that have a picture beside their plain form: 1, #, ‼, ↔
    styled = _class(of_category, "So", "Sm", "Po", "Nd")
    usual = (
        f"(?<=[{pictographs}{_PICTURE_STYLE}]){_JOINER}(?=[{pictographs}])"
        f"|(?<=[{styled}])[{_TEXT_STYLE}{_PICTURE_STYLE}]"
    )
    return re.compile(f"(?:(?!{usual})(?![{_LINES_AND_TABS}])[{unseen}])+")


def _class(of_category: dict[str, list[int]], *categories: str) -> str:
    """The inside of a class of a regular expression; a stretch of neighbours is one range."""
    codes = sorted(code for category in categories for code in of_category[category])
    starts = [code for code, before in zip(codes, [None, *codes], strict=False) if before != code - 1]
    ends = [code for code, after in zip(codes, [*codes[1:], None], strict=True) if after != code + 1]
    return "".join(
        f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in zip(starts, ends, strict=True)
    )


def replace_unseen(text: str, write: Callable[[str], str]) -> str:
    """The text with each run of unseen characters as `write` gives it."""
    if text.isascii() and text.isprintable():
        return text
    return _pattern().sub(lambda found: write(found[0]), text)


def spell_codes(unseen: str) -> str:
    """Such as `U+202E U+200B`."""
    return " ".join(f"U+{ord(character):04X}" for character in unseen)


def spell_names(unseen: str) -> str:
    """Such as `U+202E RIGHT-TO-LEFT OVERRIDE`; each once."""
    return ", ".join(f"{spell_codes(one)} {_name(one)}" for one in dict.fromkeys(unseen))


def _name(character: str) -> str:
    is_control = unicodedata.category(character) == "Cc"
    other = "CONTROL CHARACTER" if is_control else "UNASSIGNED CHARACTER"
    return unicodedata.name(character, _CONTROLS.get(ord(character), other))

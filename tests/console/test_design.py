"""The design system keeps its own rules: one place for colours, enough contrast, every file in its layer and linked."""

import re

import pytest

from tests.source import ROOT, texts

STYLES = texts("static/css/*.css")
_COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(", re.IGNORECASE)
_VARIABLE = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6,8}), (#[0-9a-f]{6,8})\);")
CONTRAST_MIN = 4.5  # WCAG 2.2, 1.4.3
EDGE_CONTRAST_MIN = 3.0  # WCAG 2.2, 1.4.11
READ_ON = [
    *(("text", ground) for ground in ("ground", "surface", "sunken")),
    *(("text-soft", ground) for ground in ("ground", "surface", "sunken")),
    *(("accent", ground) for ground in ("ground", "surface")),
    ("accent-text", "accent"),
    ("accent-text", "accent-strong"),
    ("accent-strong", "accent-ground"),
    ("good", "good-ground"),
    ("warn", "warn-ground"),
    ("bad", "bad-ground"),
    ("bad", "surface"),
    ("surface", "bad"),
    ("mark-text", "mark"),
    *(("text", ground) for ground in ("good-ground", "good-mark", "bad-ground", "bad-mark")),
    *(("text-soft", ground) for ground in ("good-ground", "bad-ground")),
]


def schemes() -> dict[str, dict[str, str]]:
    found = _VARIABLE.findall(STYLES["static/css/tokens.css"])
    return {
        "light": {name: light for name, light, _ in found},
        "dark": {name: dark for name, _, dark in found},
    }


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_its_ground(scheme: str) -> None:
    colours = schemes()[scheme]
    found = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in READ_ON}
    assert {pair: ratio for pair, ratio in found.items() if ratio < CONTRAST_MIN} == {}
    edges = {ground: contrast(colours["edge"], colours[ground]) for ground in ("ground", "surface")}
    assert {ground: ratio for ground, ratio in edges.items() if ratio < EDGE_CONTRAST_MIN} == {}


def test_colours_stand_in_one_file() -> None:
    tokens = STYLES["static/css/tokens.css"]
    assert len(_COLOUR.findall(tokens)) == 2 * len(schemes()["light"]), "a colour is not one of a pair"
    named = {name for name, text in STYLES.items() if _COLOUR.search(text)}
    assert named == {"static/css/tokens.css"}


def test_every_variable_is_defined_and_used() -> None:
    whole = "".join(STYLES.values())
    defined, used = set(re.findall(r"(--[a-z-]+):", whole)), set(re.findall(r"var\((--[a-z-]+)\)", whole))
    assert used == defined


def test_every_file_of_style_is_in_a_layer_and_linked() -> None:
    base = (ROOT / "templates/base.html").read_text(encoding="utf-8")
    layers = set(re.findall(r"@layer ([a-z, ]+);", STYLES["static/css/tokens.css"])[0].split(", "))
    for name, text in STYLES.items():
        outside = re.sub(r"/\*.*?\*/|@layer [a-z, ]+;", "", text, flags=re.DOTALL).strip()
        assert re.match(r"@layer (\w+) \{", outside), name
        assert set(re.findall(r"@layer (\w+) \{", text)) <= layers, name
        assert f"'{name.removeprefix('static/')}'" in base, name

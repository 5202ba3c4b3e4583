"""How the console says times, sizes and finds."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from memoryhub.excerpts import Excerpt
from memoryhub.templatetags.hub import growth, moment, numbered_lines, short_digest, short_id, time_ago
from stores.templatetags.stores import directories

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SAID = [
    (timedelta(seconds=-5), "just now"),
    (timedelta(seconds=59), "just now"),
    (timedelta(seconds=60), "1 minute ago"),
    (timedelta(minutes=59, seconds=59), "59 minutes ago"),
    (timedelta(hours=1), "1 hour ago"),
    (timedelta(hours=24), "1 day ago"),
    (timedelta(days=59), "59 days ago"),
    (timedelta(days=60), "2 months ago"),
    (timedelta(days=364), "12 months ago"),
    (timedelta(days=365), "1 year ago"),
]


@pytest.mark.parametrize(("age", "said"), SAID, ids=[said for _, said in SAID])
def test_a_time_is_said_in_words(age: timedelta, said: str) -> None:
    with time_machine.travel(NOW, tick=False):
        assert time_ago(NOW - age) == said


def test_the_exact_instant_stands_beside_the_words() -> None:
    exact = 'datetime="2026-11-30T12:00:00.000000Z" title="2026-11-30 12:00:00 UTC"'
    with time_machine.travel(NOW, tick=False):
        assert moment(NOW) == f"<time {exact} data-ago>just now</time>"


def test_what_is_shortened_is_there_in_full() -> None:
    wire_id = "mem_01a22c450d0c78189f08f34c0d162dce"
    assert short_id(wire_id) == f'<code title="{wire_id}" data-copy="{wire_id}">mem_…162dce</code>'
    assert short_digest("a" * 64).endswith('">aaaaaaaaaa…</code>')
    assert "<b>" not in short_id('mem_"><b>x')


@pytest.mark.parametrize(
    ("change", "said"),
    [(None, "size change no longer known"), (0, "same size"), (1, "+1 byte"), (-2048, "−2.0 KB")],
)
def test_growth_is_said_with_its_sign(change: int | None, said: str) -> None:
    assert growth(change) == said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\n", "<span>one</span><span>two</span>"),
        ("\n\n", "<span></span><span></span>"),
        ("</span>\n<b>&\"'", "<span>&lt;/span&gt;</span><span>&lt;b&gt;&amp;&quot;&#x27;</span>"),
    ],
)
def test_each_line_of_a_text_is_escaped_and_stands_alone(text: str, shown: str) -> None:
    assert numbered_lines(text) == shown


def test_an_excerpt_is_cut_at_its_highlights() -> None:
    assert Excerpt("one two three", 0, [(0, 3), (4, 7)]).pieces == [
        ("one", True),
        (" ", False),
        ("two", True),
        (" three", False),
    ]
    assert Excerpt("plain", 0, []).pieces == [("plain", False)]
    assert Excerpt("abcd", 0, [(0, 2), (2, 4)]).pieces == [("ab", True), ("cd", True)]


def test_the_directories_of_a_path_lead_down_from_the_root() -> None:
    assert directories("/a/b c/d.md") == [{"name": "a", "path": "/a/"}, {"name": "b c", "path": "/a/b c/"}]
    assert directories("/d.md") == directories(None) == []

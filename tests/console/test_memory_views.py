"""The text of a memory as a page shows it: as a file to download, and read as Markdown."""

import re

import pytest

from memoryhub.templatetags.hub import rendered
from stores import memory_versions
from stores.text_downloads import portable_name
from tests.console.site import Site
from tests.hostile.markup import PAYLOADS
from tests.stores.shelf import Shelf

_ALLOWED = re.compile(
    r"</?(?:a|blockquote|br|code|em|h[2-6]|hr|li|ol|p|pre|strong|ul|table|tbody|td|th|thead|tr)>"
    r'|<a href="(?:https?|mailto):[^"<>]*" rel="noopener nofollow ugc">|<a rel="noopener nofollow ugc">'
    r'|<pre tabindex="0">|<div class="wide" tabindex="0">(?=<table>)|(?<=</table>)</div>'
    r'|<span class="unseen-char" title="[^"<>]*">[^<>]*</span>'
)
TEXTS = ["", "\n", "a\r\nb\r", "\ufeff\u202etxt", "<script>alert(1)</script>", "=cmd|'/c calc'!A1", "é\n"]


@pytest.mark.parametrize("content", TEXTS)
def test_a_download_is_the_bytes_and_nothing_that_runs(owner: Site, shelf: Shelf, content: str) -> None:
    memory = shelf.put("/notes/a.md", content)
    for page in (f"memories/{memory.wire_id}/raw", f"versions/{shelf.versions()[0].wire_id}/raw"):
        answer = owner.get(f"/stores/{shelf.store_id}/{page}")
        assert answer.content == content.encode()
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer["Content-Disposition"] == 'attachment; filename="a.md"'
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Cache-Control"].endswith("private")


def test_a_version_without_a_text_has_nothing_to_download(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put()
    shelf.delete(memory)
    deletion, first = shelf.versions()
    memory_versions.redact_version(shelf.store_id, first.wire_id, reason="", actor=shelf.actor)
    for version in (deletion, first):
        page = f"/stores/{shelf.store_id}/versions/{version.wire_id}"
        assert owner.get(f"{page}/raw").status_code == 404
        assert f"{page}/raw" not in owner.get(page).content.decode()


NAMES = {
    "/a/notes.md": "notes.md",
    "/a": "a.txt",
    "/a/page.html": "page.html.txt",
    "/run.exe": "run.exe.txt",
    "/table.csv": "table.csv.txt",
    "/CON": "_CON.txt",
    "/con.md": "_con.md",
    "/a:b?.md": "a_b_.md",
    '/"quoted\\.txt': "_quoted_.txt",
    "/ends. . .": "ends.txt",
    "/...": "memory.txt",
    "/日本語.md": "日本語.md",
    "/" + "n" * 300 + ".md": "n" * 97 + ".md",
    None: "memory.txt",
}


@pytest.mark.parametrize(("path", "name"), NAMES.items(), ids=[str(path)[:20] for path in NAMES])
def test_a_file_has_a_name_that_every_system_takes(path: str | None, name: str) -> None:
    assert portable_name(path) == name


def test_a_text_is_rendered_only_when_asked(owner: Site, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "# Tea\n\n*green*\n")
    url = f"/stores/{shelf.store_id}/memories/{memory.wire_id}"
    assert "# Tea" in owner.get(url).content.decode()
    assert "<em>" not in owner.get(url, view="other").content.decode()
    shown = owner.get(url, view="rendered").content.decode()
    assert "<h2>Tea</h2>\n<p><em>green</em></p>" in shown
    assert shown.count("<h1") == 1


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_rendered_text_holds_no_markup_but_its_own(payload: str) -> None:
    for text in (
        payload,
        f"[x]({payload})",
        f"![{payload}]({payload})",
        f"| {payload} |\n|-|\n| {payload} |\n",
        f"```{payload}\n{payload}\n```",
    ):
        assert re.findall(r"[<>]", _ALLOWED.sub("", rendered(text))) == [], text


def test_a_rendered_text_names_its_pictures_and_loads_none() -> None:
    shown = rendered('![a *cat*](https://evil.example/x.png "t")\n')
    assert shown == "<p>[image: a *cat*]</p>\n"


def test_a_link_says_that_nobody_vouches_for_it_and_leads_outside() -> None:
    assert rendered("[a](https://a.example/x 'title')").count('rel="noopener nofollow ugc"') == 1
    assert "title" not in rendered("[a](https://a.example/x 'title')")
    for inside in ("/sign-out", "../../x", "#main", "//evil.example", "?view=x"):
        assert "href" not in rendered(f"[a]({inside})")


def test_a_rendered_text_names_its_unseen_characters() -> None:
    shown = rendered('a\u202eb `c\u200bd` [e\u200bf](https://a.example/\u202e "g\u200bh")')
    assert shown.count('class="unseen-char"') == 3
    assert "\u202e" not in shown
    assert "\u200b" not in shown

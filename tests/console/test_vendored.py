"""Scripts by others are the files that were looked at, with their licence, and do nothing that the policy forbids."""

import hashlib
import json
import re

from tests.source import ROOT, texts

VENDOR = ROOT / "static/vendor"
_ROW = re.compile(r"^\| `([a-z.]+\.js)` \|.*\| `([0-9a-f]{64})` \|$", re.MULTILINE)
# What htmx would hand to `eval`.
_NEEDS_EVAL = re.compile(r"\bhx-on|\bhx-live|\"js:|\"javascript:|hx-trigger=\"[^\"]*\[")


def test_every_file_has_the_digest_that_is_written_down() -> None:
    written = dict(_ROW.findall((VENDOR / "README.md").read_text(encoding="utf-8")))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.glob("*.js")}
    assert found == written


def test_every_file_carries_its_licence_and_versions() -> None:
    pinned = json.loads((ROOT / "tools/vendor/package.json").read_text(encoding="utf-8"))["dependencies"]
    banners = {path.name: path.read_text(encoding="utf-8").partition("*/")[0] for path in VENDOR.glob("*.js")}
    assert f"htmx {pinned.pop('htmx.org')}" in banners["htmx.min.js"]
    title = banners["codemirror.js"].splitlines()[1].removeprefix("CodeMirror 6: ")
    bundled = dict(one.split(" ") for one in title.split(", "))
    assert len(bundled) > 20
    assert bundled.items() <= pinned.items()
    assert all("Permission" in banner and "AS IS" in banner for banner in banners.values())


def test_versions_are_exact_and_no_registry_is_named() -> None:
    for name, text in texts("tools/vendor/*.js*").items():
        assert "registry" not in text and "resolved" not in text, name
    package = json.loads((ROOT / "tools/vendor/package.json").read_text(encoding="utf-8"))
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert [name for name, version in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_htmx_asks_this_hub_only_and_brings_no_style() -> None:
    base = (ROOT / "templates/base.html").read_text(encoding="utf-8")
    settings = json.loads(re.findall(r"<meta name=\"htmx-config\" content='([^']+)'>", base)[0])
    assert settings["mode"] == "same-origin"
    assert settings["includeIndicatorCSS"] is False
    assert settings["extensions"] == "none"
    assert {"4xx", "5xx"} <= set(settings["noSwap"])


def test_no_template_asks_htmx_for_what_needs_eval() -> None:
    for name, text in texts("templates/**/*.html").items():
        assert not _NEEDS_EVAL.search(text), name

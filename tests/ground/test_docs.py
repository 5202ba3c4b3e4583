import re
from pathlib import Path

from django.conf import settings
from django.test import Client
from django.utils.html import escape

from memoryhub import docs_pages, openapi
from memoryhub.operations import ROLES

DOCS = Path(settings.BASE_DIR) / "docs"
ROLE_ROW = re.compile(r"^\| `(\w+)` \| (`[^|]*) \|", re.MULTILINE)


def test_every_page_of_the_documentation_is_served_and_listed() -> None:
    contents = Client().get("/docs").content.decode()
    for path in DOCS.glob("*.md"):
        assert f'href="/docs/{path.stem}"' in contents
        page = Client().get(f"/docs/{path.stem}").content.decode()
        assert f"<title>{docs_pages.pages()[path.stem].title} ·" in page


def test_an_unknown_page_is_not_found() -> None:
    for name in ("nowhere", "..", "%2e%2e", "quickstart.md"):
        assert Client().get(f"/docs/{name}").status_code == 404, name


def test_links_between_pages_lead_to_pages() -> None:
    for page in docs_pages.pages().values():
        for target in re.findall(r'href="/docs/([a-z-]+)', page.html):
            assert target == "reference" or target in docs_pages.pages(), (page.name, target)
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page.html)), page.name


def test_links_into_a_page_lead_to_its_headings() -> None:
    links = [
        (page.name, target or page.name, anchor)
        for page in docs_pages.pages().values()
        for target, anchor in re.findall(r'href="(?:/docs/([a-z-]+))?#([^"]+)"', page.html)
    ]
    assert len(links) > 5
    for name, target, anchor in links:
        assert f'id="{anchor}"' in docs_pages.pages()[target].html, (name, target, anchor)


def test_the_contents_say_what_each_page_is_about() -> None:
    contents = Client().get("/docs").content.decode()
    for page in docs_pages.pages().values():
        assert page.opening.endswith((".", "?")) and len(page.opening) <= 160, (page.name, page.opening)
        assert (
            f'<dt><a href="/docs/{page.name}">{page.title}</a></dt><dd>{escape(page.opening)}</dd>'
            in contents
        )


def test_an_opening_is_the_first_sentence_without_its_markup() -> None:
    text = "# T\n\nReads `a.b` and\n**c**, see [d](d.md). Then more.\n"
    assert docs_pages.read_opening(text) == "Reads a.b and c, see d."
    assert docs_pages.read_opening("# T\n\nNo end") == docs_pages.read_opening("# T\n") == ""


def commands() -> set[str]:
    """What `./hub NAME` takes: the programs and the commands of every room."""
    found = Path(settings.BASE_DIR).glob("*/management/commands/[!_]*.py")
    return {path.stem for path in found} | {
        "up",
        "mount",
        "test",
        "check",
        "bench",
        "soak",
        "backup",
        "restore",
    }


def test_every_command_is_documented() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert len(commands()) > 10
    assert commands() - set(re.findall(r"\./hub ([a-z_]+)", text)) == set()


def test_the_page_on_people_shows_every_role() -> None:
    text = (DOCS / "keys-and-people.md").read_text(encoding="utf-8")
    rows = {role: set(re.findall(r"`(\w+)`", scopes)) for role, scopes in ROLE_ROW.findall(text)}
    assert rows == ROLES


def test_the_examples_use_one_address_and_one_key() -> None:
    for path in [*DOCS.glob("*.md"), Path(settings.BASE_DIR) / "README.md"]:
        text = path.read_text(encoding="utf-8")
        examples = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        calls = examples.count("curl ")
        assert not re.search(r"\$(HUB|KEY|URL|TOKEN)\b", examples), path.name
        if calls:
            assert "http" not in examples.replace("export MEMORYHUB_URL=http", ""), path.name
            assert re.search(r"export MEMORYHUB_URL=http://127.0.0.1:8000\s", text), path.name
            assert re.search(r"\bMEMORYHUB_KEY=mh_\.\.\.", text), path.name


def test_markdown_is_sanitised() -> None:
    html = docs_pages.render_markdown(
        "<script>x</script> [a](javascript:alert(1)) ![b](https://example.com/b.png)"
    )
    assert "<script" not in html and "javascript:" not in html.replace("](javascript:", "")


def test_the_reference_shows_every_operation_and_shape() -> None:
    page = Client().get("/docs/reference").content.decode()
    for path, methods in openapi.document()["paths"].items():
        assert path.replace("'", "&#x27;") in page
        assert all(f'id="{operation["operationId"]}"' in page for operation in methods.values())
    assert all(
        f'href="#{anchor}"' not in page or f'id="{anchor}"' in page
        for anchor in re.findall(r'href="#([^"]+)"', page)
    )

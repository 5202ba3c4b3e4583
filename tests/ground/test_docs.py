import re
from pathlib import Path

from django.conf import settings
from django.test import Client

from memoryhub import docs_pages, openapi

DOCS = Path(settings.BASE_DIR) / "docs"


def test_every_page_of_the_documentation_is_served_and_listed() -> None:
    contents = Client().get("/docs").content.decode()
    for path in DOCS.glob("*.md"):
        assert f'href="/docs/{path.stem}"' in contents
        assert Client().get(f"/docs/{path.stem}").status_code == 200


def test_an_unknown_page_is_not_found() -> None:
    for name in ("nowhere", "..", "%2e%2e", "quickstart.md"):
        assert Client().get(f"/docs/{name}").status_code == 404, name


def test_links_between_pages_lead_to_pages() -> None:
    for page in docs_pages.pages().values():
        for target in re.findall(r'href="/docs/([a-z-]+)', page.html):
            assert target == "api" or target in docs_pages.pages(), (page.name, target)
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page.html)), page.name


def test_markdown_is_sanitised() -> None:
    html = docs_pages.render_markdown(
        "<script>x</script> [a](javascript:alert(1)) ![b](https://example.com/b.png)"
    )
    assert "<script" not in html and "javascript:" not in html.replace("](javascript:", "")


def test_the_reference_shows_every_operation_and_shape() -> None:
    page = Client().get("/docs/api").content.decode()
    for path, methods in openapi.document()["paths"].items():
        assert path.replace("'", "&#x27;") in page
        assert all(f'id="{operation["operationId"]}"' in page for operation in methods.values())
    assert all(
        f'href="#{anchor}"' not in page or f'id="{anchor}"' in page
        for anchor in re.findall(r'href="#([^"]+)"', page)
    )

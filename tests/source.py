"""The project's own source as syntax trees, for the rules of the house."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("memoryhub", "stores", "providers", "authority")
PACKAGES = (*PRODUCT, "tools")

type Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """`name` is its path in the project: `stores/memories.py`."""

    name: str
    text: str
    tree: ast.Module

    def functions(self) -> Iterator[Function]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """(last word of what is called, call)."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func).rpartition(".")[2], node

    def imports(self) -> Iterator[str]:
        """Every imported name with its module: `http.client.HTTPConnection`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def modules(*packages: str) -> list[Module]:
    """Of the packages named (all when none is), without migrations."""
    found = [
        path
        for package in packages or PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
    ]
    assert found
    return [_read(path) for path in found]


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(ROOT).as_posix(), text, ast.parse(text))


def texts(pattern: str) -> dict[str, str]:
    """Files by their path in the project: `texts("templates/**/*.html")`."""
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.glob(pattern)
    }
    assert found, pattern
    return found


def headings(page: str) -> set[str]:
    """The `###` headings of a page of the documentation."""
    lines = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    found = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert len(found) == len(set(found)), f"docs/{page}.md has a heading twice"
    return set(found)

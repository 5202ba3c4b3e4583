"""A wheel in an empty environment, on each Python of this machine."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.packaging.pythons import supported_pythons
from tests.packaging.wheels import ROOT, Installed

ENVIRONMENT_BYTES_MAX = 300_000_000
SETTINGS = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "MEMORYHUB_SECRET_KEY": "x" * 50,
}
ROOMS = ("memoryhub", "stores", "providers", "authority")
BESIDE_THE_CODE = {"providers/embedding/NOTICE", "providers/embedding/bert_uncased_vocabulary.txt"}
# What a tool, a worker or a client may use where no Django is.
WITHOUT_DJANGO = (
    "memoryhub",
    "memoryhub.actors",
    "memoryhub.clock",
    "memoryhub.digests",
    "memoryhub.embedded",
    "memoryhub.environ",
    "memoryhub.errors",
    "memoryhub.exits",
    "memoryhub.ids",
    "memoryhub.operations",
    "memoryhub.parts",
    "memoryhub.strict_json",
    "memoryhub.supervisor",
    "memoryhub.tokens",
    "stores",
    "stores.diffs",
    "stores.limits",
    "stores.mount",
    "stores.mount.command",
    "stores.mount.work_items",
    "stores.paths",
    "stores.word_diffs",
)
EACH_PYTHON = pytest.mark.parametrize(
    "installed", supported_pythons().values(), ids=supported_pythons().keys(), indirect=True, scope="session"
)


def modules_of_the_tree() -> set[str]:
    """Every module of the rooms, by its file."""
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files
    }
    return names - {"memoryhub.gunicorn_config"}


def test_several_pythons_are_no_accident() -> None:
    assert all(tuple(map(int, version.split("."))) >= (3, 12) for version in supported_pythons())


@EACH_PYTHON
def test_every_module_imports(installed: Installed, tmp_path: Path) -> None:
    program = str(Path(__file__).with_name("import_all.py"))
    (tmp_path / "static").mkdir()  # where a start collects the files of the pages
    done = installed.run("-W", "error", program, *ROOMS, **SETTINGS, MEMORYHUB_DATA_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == modules_of_the_tree()


@EACH_PYTHON
def test_what_needs_no_django_imports_none(installed: Installed) -> None:
    loop = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "    found = [m for m in ('django', 'rest_framework', 'celery') if m in sys.modules]\n"
        "    assert not found, (name, found)\n"
    )
    done = installed.run("-W", "error", "-c", loop, *WITHOUT_DJANGO)
    assert done.returncode == 0, done.stderr


@EACH_PYTHON
def test_the_environment_without_test_tools_is_small(installed: Installed) -> None:
    assert installed.size_bytes < ENVIRONMENT_BYTES_MAX


@EACH_PYTHON
def test_a_hub_does_not_start_from_a_wheel_and_says_where_it_does(
    installed: Installed, tmp_path: Path
) -> None:
    done = installed.run("-m", "memoryhub.prepare", **SETTINGS, MEMORYHUB_DATA_DIR=str(tmp_path))
    assert done.returncode == 78, (done.returncode, done.stderr)
    assert done.stderr == (
        "memoryhub: This installation holds the code alone: run the hub from its source tree (./hub up) or its "
        "image, which bring the pages and the documentation.\n"
    )


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {*ROOMS, "memoryhub-0.1.0.dist-info"}
    others = {name for name in names if not name.endswith(".py") and not name.startswith("memoryhub-")}
    assert others == BESIDE_THE_CODE

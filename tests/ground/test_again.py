"""What failed once beside thousands of tests is run again alone, and only what may be."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import again

SELDOM = """
from pathlib import Path

def test_seldom():
    runs = Path("runs")
    runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
    assert len(runs.read_text()) not in {fails}

def test_good():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run(folder: Path, tests: str, name: str = "tests/browser/test_it.py") -> int:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tests)
    return subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, check=False).returncode


@pytest.mark.parametrize(("fails", "status"), [((1,), 0), ((1, 2), 1), ((1, 4), 1), ((1, 2, 3, 4), 1)])
def test_what_failed_must_pass_three_times_alone(
    suite: Path, capfd: pytest.CaptureFixture[str], fails: tuple[int, ...], status: int
) -> None:
    assert run(suite, SELDOM.format(fails=fails)) == 1
    assert again.main(suite) == status
    said = capfd.readouterr().out
    assert ("passed 3 times alone: tests/browser/test_it.py::test_seldom" in said) == (status == 0)
    assert "test_good" not in said


def test_three_are_run_again_and_four_are_not(suite: Path) -> None:
    one = "def test_{0}():\n    assert not __import__('os').path.exists('on')\n"
    for count, status in ((3, 0), (4, 1)):
        (suite / "on").touch()
        run(suite, "".join(one.format(number) for number in range(count)))
        (suite / "on").unlink()
        assert again.main(suite) == status


@pytest.mark.parametrize("name", ["tests/crash/test_it.py", "tests/providers/test_races.py"])
def test_what_does_not_hang_on_the_time_counts_at_once(suite: Path, name: str) -> None:
    run(suite, SELDOM.format(fails=(1,)), name)
    assert again.main(suite) == 1
    assert (suite / "runs").read_text() == "x"


def test_what_cannot_be_read_is_not_run_again(suite: Path) -> None:
    run(suite, "import nothing_of_this_name\n")
    assert again.why_not(again.read_failed(suite)) == "tests/browser/test_it.py could not be read"


def test_every_place_that_hangs_on_the_time_is_there() -> None:
    root = Path(again.__file__).parents[1]
    assert [place for place in again.HANG_ON_TIME if not (root / place).exists()] == []

from pathlib import Path

import pytest

from tests.packaging.wheels import Installed, build_wheel, install_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """The wheel in an empty environment of the Python that the test names."""
    return install_wheel(wheel, python=request.param, folder=tmp_path_factory.mktemp("installed"))

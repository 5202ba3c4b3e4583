import pytest

from memoryhub import bootstrap
from tests.world import Caller, Tenant


def works(facts: dict[str, str]) -> bool:
    return Caller(facts["api_key"])("GET", "/v1/memory_stores").status == 200


def test_the_first_key_stays_and_a_later_starts_key_lasts_until_the_next(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "_get_or_create_project", lambda: tenant.project)
    first = bootstrap.create_access(is_first=True)
    second = bootstrap.create_access(is_first=False)
    assert works(first) and works(second)
    third = bootstrap.create_access(is_first=False)
    assert (works(first), works(second), works(third)) == (True, False, True)
    assert (third["project"], third["environment"]) == (tenant.project.name, "development")

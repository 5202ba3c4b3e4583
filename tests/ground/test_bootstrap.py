from memoryhub import bootstrap
from memoryhub.models import Project
from tests.world import Caller


def works(facts: dict[str, str]) -> bool:
    return Caller(facts["api_key"])("GET", "/v1/memory_stores").status == 200


def test_the_first_key_stays_and_a_later_starts_key_lasts_until_the_next(db: None) -> None:
    Project.objects.all().delete()
    first = bootstrap.create_access(is_first=True)
    second = bootstrap.create_access(is_first=False)
    assert works(first) and works(second)
    third = bootstrap.create_access(is_first=False)
    assert (works(first), works(second), works(third)) == (True, False, True)
    assert (third["project"], third["environment"]) == ("default", "development")

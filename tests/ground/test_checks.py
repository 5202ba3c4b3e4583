from memoryhub import checks


def ids_of(found: list) -> list[str]:
    return [message.id for message in found]


def test_the_settings_of_a_test_run_contradict_nothing(db: None) -> None:
    assert ids_of([*checks.check_secrets(None), *checks.check_hosts(None)]) == []
    assert ids_of(checks.check_database(None, databases=["default"])) == []


def test_a_short_secret_key_is_named(settings) -> None:
    settings.SECRET_KEY = "x" * 32
    assert ids_of(checks.check_secrets(None)) == []
    settings.SECRET_KEY = "x" * 31
    assert ids_of(checks.check_secrets(None)) == ["memoryhub.E001"]


def test_hosts_that_do_not_fit_the_base_url_are_named(settings) -> None:
    settings.BASE_URL = "https://memory.example.com"
    settings.ALLOWED_HOSTS = ["localhost"]
    assert ids_of(checks.check_hosts(None)) == ["memoryhub.E002"]
    settings.ALLOWED_HOSTS = ["*"]
    assert ids_of(checks.check_hosts(None)) == ["memoryhub.W001"]


def test_an_old_database_is_named(db: None, monkeypatch) -> None:
    monkeypatch.setattr(checks, "POSTGRESQL_VERSION_MIN", 990_000)
    assert ids_of(checks.check_database(None, databases=["default"])) == ["memoryhub.E003"]

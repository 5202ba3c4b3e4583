"""Where the database and the queue are: URLs that operators write, and the embedded ones."""

from pathlib import Path

import pytest

from memoryhub import settings
from memoryhub.embedded import database_settings, host_of, hub_url_file, parse_database_url, queue_url
from memoryhub.embedded.connections import SOCKET_PATH_BYTES_MAX, socket_folder
from memoryhub.environ import SettingError


def test_every_part_of_a_database_url_is_read() -> None:
    url = "postgresql://me%40x:p%2Fw%3A@db.example:6543/hub%20one?sslmode=require&connect_timeout=3"
    assert parse_database_url(url) == {
        "NAME": "hub one",
        "USER": "me@x",
        "PASSWORD": "p/w:",
        "HOST": "db.example",
        "PORT": "6543",
        "OPTIONS": {"sslmode": "require", "connect_timeout": "3"},
    }


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("postgres://u:p@localhost/hub", "localhost", ""),
        ("postgresql:///hub?host=/run/postgresql", "/run/postgresql", ""),
        ("postgresql://u:p@/hub?host=/run/my%20sockets&port=5433", "/run/my sockets", "5433"),
        ("postgresql://u:p@[::1]:5432/hub", "::1", "5432"),
        ("postgresql://u@%2Frun%2Fpostgresql/hub", "/run/postgresql", ""),
    ],
)
def test_hosts_and_sockets(url: str, host: str, port: str) -> None:
    database = parse_database_url(url)
    assert (database["HOST"], database["PORT"], database["NAME"]) == (host, port, "hub")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hub",
        "mysql://u:hunter2@h/hub",
        "sqlite:///hub.db",
        "postgresql://u:hunter2@h:port/hub",
        "postgresql://u:hunter2@h:99999/hub",
        "postgresql://u:hunter2@h",
        "postgresql://u:hunter2@h/",
        "postgresql://u:hunter2@h/a/b",
        "postgresql://u:hunter2@[::1/hub",
        "postgresql://u:hunter2@h/hub?sslmode",
        "postgresql://u:hunter2@h/hub?sslmoed=require",
        "postgresql://u:hunter2@h/hub?options=-csearch_path%3Dx",
    ],
)
def test_a_wrong_database_url_is_one_sentence_without_the_password(url: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_database_url(url)
    sentence = str(caught.value)
    assert sentence.startswith("DATABASE_URL ") and sentence.endswith(".")
    assert "hunter2" not in sentence and "\n" not in sentence


def test_the_embedded_settings_work_before_anything_exists() -> None:
    data_dir = Path("/srv/hub/data")
    assert database_settings(data_dir) == {
        "NAME": "memoryhub",
        "USER": "memoryhub",
        "PASSWORD": "",
        "HOST": "/srv/hub/data/run/pg",
        "PORT": "5432",
        "OPTIONS": {},
    }
    assert queue_url(data_dir) == "unix:///srv/hub/data/run/valkey.sock"


@pytest.mark.parametrize("name", ["x" * 90, "with space", "a,b", "ü"])
def test_a_path_no_socket_can_have_gets_a_short_one_that_is_always_the_same(name: str) -> None:
    data_dir = Path("/srv") / name / "data"
    folder = socket_folder(data_dir)
    assert folder == socket_folder(data_dir) and folder != socket_folder(data_dir / "other")
    assert (
        folder.parent == Path("/tmp") and len(str(folder / "pg" / ".s.PGSQL.5432")) <= SOCKET_PATH_BYTES_MAX
    )


def test_the_host_of_the_base_url() -> None:
    assert host_of("https://hub.example.org:8443/") == "hub.example.org"
    assert host_of("http://[::1]:8000") == "[::1]"


@pytest.mark.parametrize("url", ["hub.example.org", "ftp://hub", "http://", "http://h:port"])
def test_a_wrong_base_url_is_one_sentence(url: str) -> None:
    with pytest.raises(SettingError, match=r"^MEMORYHUB_BASE_URL is .*: write .*\.$"):
        host_of(url)


@pytest.mark.parametrize(
    ("environment", "base_url"),
    [
        ({}, "http://127.0.0.1:6001"),
        ({"PORT": "6002"}, f"http://127.0.0.1:{settings.PORT}"),
        ({"MEMORYHUB_BASE_URL": "https://hub.example.org/"}, "https://hub.example.org"),
        ({"MEMORYHUB_BASE_URL": "https://hub.example.org", "PORT": "6002"}, "https://hub.example.org"),
    ],
)
def test_the_address_a_hub_wrote_down_is_taken_when_no_other_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], base_url: str
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    for name in ("MEMORYHUB_BASE_URL", "PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    hub_url_file(tmp_path).parent.mkdir()
    hub_url_file(tmp_path).write_text("http://127.0.0.1:6001")
    assert settings._base_url() == base_url


def test_without_a_hub_the_address_is_that_of_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.delenv("MEMORYHUB_BASE_URL", raising=False)
    monkeypatch.delenv("PORT", raising=False)
    assert settings._base_url() == f"http://127.0.0.1:{settings.PORT}"

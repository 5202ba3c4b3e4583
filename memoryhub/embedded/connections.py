"""How to reach the database, the queue and the hub itself: from a URL, or from the data folder."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from memoryhub.environ import SettingError

SOCKET_PATH_BYTES_MAX = 103  # sun_path on macOS, less the closing NUL; Linux has four more
POSTGRES_PORT = 5432  # of the socket's name only: there is no TCP
DATABASE_NAME = "memoryhub"
USER_NAME = "memoryhub"

_DATABASE_URL_FORM = "postgresql://user:password@host:5432/name"
# What a database URL may say after its question mark: libpq's connection parameters that name nobody.
_DATABASE_URL_OPTIONS = frozenset(
    {"channel_binding", "connect_timeout", "gssencmode", "keepalives", "keepalives_count", "keepalives_idle"}
    | {"keepalives_interval", "load_balance_hosts", "passfile", "require_auth", "ssl_min_protocol_version"}
    | {"sslcert", "sslcrl", "sslkey", "sslmode", "sslnegotiation", "sslpassword", "sslrootcert"}
    | {"target_session_attrs", "tcp_user_timeout"}
)


def parse_database_url(url: str) -> dict[str, Any]:
    """DATABASE_URL as a fragment of Django's DATABASES: NAME, USER, PASSWORD, HOST, PORT, OPTIONS.

    A socket folder is given as `postgresql:///name?host=/run/postgresql`.
    Raises: SettingError, which never repeats the URL, since it holds the password.
    """
    parts, port = _split_database_url(url)
    query = _database_query(parts)
    name = unquote(parts.path.removeprefix("/")) or query.pop("dbname", "")
    if not name or "/" in name:
        raise SettingError(f"DATABASE_URL names no database: write {_DATABASE_URL_FORM}.")
    database: dict[str, Any] = {
        "NAME": name,
        "USER": unquote(parts.username or "") or query.pop("user", ""),
        "PASSWORD": unquote(parts.password or "") or query.pop("password", ""),
        "HOST": query.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": query.pop("port", "") or port,
    }
    if unknown := sorted(set(query) - _DATABASE_URL_OPTIONS):
        raise SettingError(f"DATABASE_URL has the unknown parameter {unknown[0]}: remove it.")
    return database | {"OPTIONS": query}


def _split_database_url(url: str) -> tuple[SplitResult, str]:
    try:
        parts = urlsplit(url.strip())
        port = str(parts.port or "")
    except ValueError as error:
        raise SettingError(f"DATABASE_URL cannot be read: write {_DATABASE_URL_FORM}.") from error
    if parts.scheme not in ("postgres", "postgresql"):
        raise SettingError(f"DATABASE_URL is not PostgreSQL's: write {_DATABASE_URL_FORM}.")
    return parts, port


def _database_query(parts: SplitResult) -> dict[str, str]:
    try:
        pairs = parse_qsl(parts.query, strict_parsing=True, keep_blank_values=True) if parts.query else []
    except ValueError as error:
        raise SettingError(
            "DATABASE_URL cannot be read after its question mark: write name=value."
        ) from error
    return dict(pairs)


def database_settings(data_dir: Path) -> dict[str, Any]:
    """The embedded database as a fragment of Django's DATABASES; no password before the first start."""
    return {
        "NAME": DATABASE_NAME,
        "USER": USER_NAME,
        "PASSWORD": read_database_password(data_dir),
        "HOST": str(postgres_socket_folder(data_dir)),
        "PORT": str(POSTGRES_PORT),
        "OPTIONS": {},
    }


def read_database_password(data_dir: Path) -> str:
    """The embedded database's password, or "" before the first start."""
    path = data_dir / "pg.password"
    try:
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise SettingError(f"{path} cannot be read: run as the user who started the hub.") from error


def queue_url(data_dir: Path) -> str:
    return f"unix://{queue_socket(data_dir)}"


def queue_socket(data_dir: Path) -> Path:
    return socket_folder(data_dir) / "valkey.sock"


def postgres_socket_folder(data_dir: Path) -> Path:
    return socket_folder(data_dir) / "pg"


def socket_folder(data_dir: Path) -> Path:
    """`run` in the data folder, or a folder in /tmp where its paths would be too long or need quoting.

    /tmp and not $TMPDIR: every process of the hub must come to the same answer.
    """
    folder = data_dir / "run"
    longest = os.fsencode(folder / "pg" / f".s.PGSQL.{POSTGRES_PORT}")
    if len(longest) <= SOCKET_PATH_BYTES_MAX and re.fullmatch(r"[A-Za-z0-9/._+-]+", str(folder)):
        return folder
    return Path("/tmp", "memoryhub-" + hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16])


def hub_url_file(data_dir: Path) -> Path:
    """Holds the address of the hub that runs on the folder, for the commands beside it; gone when it ends."""
    return data_dir / "run" / "url"


def read_hub_url(data_dir: Path) -> str | None:
    try:
        return hub_url_file(data_dir).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def host_of(url: str, setting: str = "MEMORYHUB_BASE_URL") -> str:
    """The host of an address that a setting gives, without its port. Raises: SettingError."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise SettingError(f"{setting} is {url!r}: write an address like https://hub.example.org.")
    return f"[{host}]" if ":" in host else host

"""The data folder, and the PostgreSQL and queue that a hub starts in it when no other is named.

The functions here are pure and quick: they start nothing and work before anything exists, so the settings
may call them. Nothing in this package imports Django.
"""

from memoryhub.embedded.connections import (
    database_settings,
    host_of,
    hub_url_file,
    parse_database_url,
    queue_url,
    read_hub_url,
)
from memoryhub.embedded.errors import BinaryMissingError, DiskFullError, EmbeddedError, FolderError
from memoryhub.embedded.folder import data_folder, ensure_secrets, read_secrets
from memoryhub.embedded.postgres import SUPERUSER_NAME, EmbeddedPostgres
from memoryhub.embedded.valkey import EmbeddedQueue

__all__ = [
    "SUPERUSER_NAME",
    "BinaryMissingError",
    "DiskFullError",
    "EmbeddedError",
    "EmbeddedPostgres",
    "EmbeddedQueue",
    "FolderError",
    "data_folder",
    "database_settings",
    "ensure_secrets",
    "host_of",
    "hub_url_file",
    "parse_database_url",
    "queue_url",
    "read_hub_url",
    "read_secrets",
]

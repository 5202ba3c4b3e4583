"""System checks: settings that contradict each other, and a database that is too old."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from memoryhub.embedded import host_of

SECRET_KEY_LENGTH_MIN = 32
POSTGRESQL_VERSION_MIN = 150_000


@register("memoryhub", Tags.files)
def check_tree(app_configs: Any, **options: Any) -> list[CheckMessage]:
    if (settings.BASE_DIR / "templates").is_dir():
        return []
    return [
        Error(
            "This installation holds the code alone: run the hub from its source tree (./hub up) or its image, "
            "which bring the pages and the documentation.",
            id="memoryhub.E004",
        )
    ]


@register("memoryhub", Tags.security)
def check_secrets(app_configs: Any, **options: Any) -> list[CheckMessage]:
    if len(settings.SECRET_KEY) >= SECRET_KEY_LENGTH_MIN:
        return []
    hint = "Let ./hub up make one, or generate 50 random letters."
    return [
        Error(
            f"MEMORYHUB_SECRET_KEY has under {SECRET_KEY_LENGTH_MIN} characters.",
            hint=hint,
            id="memoryhub.E001",
        )
    ]


@register("memoryhub", Tags.urls)
def check_hosts(app_configs: Any, **options: Any) -> list[CheckMessage]:
    if "*" in settings.ALLOWED_HOSTS:
        return [
            Warning("MEMORYHUB_ALLOWED_HOSTS allows every host: name the hosts instead.", id="memoryhub.W001")
        ]
    if host_of(settings.BASE_URL) not in settings.ALLOWED_HOSTS:
        return [
            Error("The host of MEMORYHUB_BASE_URL is not in MEMORYHUB_ALLOWED_HOSTS.", id="memoryhub.E002")
        ]
    return []


@register("memoryhub", Tags.database)
def check_database(app_configs: Any, databases: Any = None, **options: Any) -> list[CheckMessage]:
    versions: list[int] = [connections[alias].pg_version for alias in databases or []]  # type: ignore[attr-defined]
    return [
        Error(f"PostgreSQL {version // 10_000} is too old: 15 or newer is needed.", id="memoryhub.E003")
        for version in versions
        if version < POSTGRESQL_VERSION_MIN
    ]

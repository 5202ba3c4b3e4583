"""The database's clock: one for every process of a hub."""

from django.db import connection

from authority.canonical import instant_of


def milliseconds_now() -> int:
    """Milliseconds since 1970, at this moment."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        milliseconds: int = cursor.fetchone()[0]
    return milliseconds


def instant_now() -> str:
    return instant_of(milliseconds_now())

"""Erased text leaves the database's files too: tables are rewritten, and the log that still held it is turned over.

A redaction is gone at once from everything that answers. In PostgreSQL's files the old row stays until its table is rewritten,
and in the write-ahead log until the log has moved on. Backups keep what they hold until they are thrown away.
"""

from django.db import ProgrammingError, connection

from memoryhub.errors import Unavailable

# Tables that ever held the text of a memory or of a record, words of it or what a model made of it.
SCRUBBED_TABLES = (
    "stores_memoryversion",
    "stores_memoryindex",
    "stores_memory",
    "memoryhub_jobchunk",
    "providers_memoryrecord",
    "providers_recordindex",
    "providers_recordterm",
    "providers_recordvector",
    "providers_memoryeffect",
)
_OWNED = "SELECT count(*) FROM pg_class WHERE relname = ANY(%s) AND pg_has_role(relowner, 'USAGE')"


def scrub_files() -> None:
    """Rewrite the tables and turn the write-ahead log over. Each table is locked while it is rewritten.

    Takes as long as copying the tables does; rows that an older transaction may still read stay until it ends. The
    connection must not be in a transaction. Raises: Unavailable when the role may not do one of the two.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OWNED, [list(SCRUBBED_TABLES)])
        if cursor.fetchone()[0] != len(SCRUBBED_TABLES):  # PostgreSQL would skip the others with a warning
            raise Unavailable("The database role does not own the tables, so it may not rewrite them.")
        cursor.execute("SET statement_timeout = 0")
        for table in SCRUBBED_TABLES:
            cursor.execute(f"VACUUM (FULL, ANALYZE) {table}")  # constants only
        cursor.execute("RESET statement_timeout")
    try:
        _turn_log_over()
    except ProgrammingError as error:
        raise Unavailable(
            "The tables are rewritten, but the database role may not turn the write-ahead log over: let an administrator"
            " run SELECT pg_switch_wal(); CHECKPOINT; twice."
        ) from error


def _turn_log_over() -> None:
    with connection.cursor() as cursor:
        for _ in range(2):  # a checkpoint keeps the segment that the one before it began in
            cursor.execute("SELECT pg_switch_wal()")
            cursor.execute("CHECKPOINT")

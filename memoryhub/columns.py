"""Columns whose value the database makes: commit-ordered numbers, its own clock, its transaction id."""

from typing import Any

from django.db import models
from django.db.models import Func


class ClockTimestamp(Func):
    """The database's clock at this moment. `now()` would be the start of the transaction, before the lock was had."""

    template = "clock_timestamp()"
    output_field = models.DateTimeField()


class NextNumber(Func):
    """The next number of a sequence."""

    function = "nextval"
    output_field = models.BigIntegerField()

    def __init__(self, sequence: str, **extra: Any) -> None:
        super().__init__(models.Value(sequence), **extra)


class TransactionField(models.Field):  # type: ignore[type-arg]
    """The 64-bit id of the writing transaction: feeds return only rows older than every running one."""

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> int | None:
        return None if value is None else int(value)


class CurrentTransaction(Func):
    template = "pg_current_xact_id()"
    output_field = TransactionField()

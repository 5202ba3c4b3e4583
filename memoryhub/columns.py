"""Columns whose value the database makes: the numbers of a sequence, its own clock."""

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

"""Reading one row."""

from django.db.models import Model
from django.db.models.query import QuerySet


def find_row[Table: Model, Row](rows: QuerySet[Table, Row]) -> Row | None:
    """The row of a query by a unique key, or None. `first()` would have the database sort, and Django write that."""
    for row in rows:
        return row
    return None

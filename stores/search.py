"""Full-text search over current memories."""

from django.db import connection

from stores.models import Memory, MemoryStore

_INDEX = """
INSERT INTO stores_memoryindex (memory_id, project_id, environment_id, store_id, terms, length)
SELECT %s, %s, %s, %s, terms, coalesce((SELECT sum(cardinality(positions)) FROM unnest(terms)), 0)
  FROM to_tsvector('english', %s) AS terms
    ON CONFLICT (memory_id) DO UPDATE SET terms = excluded.terms, length = excluded.length
"""


def index_memory(memory: Memory, store: MemoryStore, content: str) -> None:
    """A step: make the memory's current path and text findable, in the change's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            _INDEX, [memory.id, store.project_id, store.environment_id, store.id, f"{memory.path}\n{content}"]
        )

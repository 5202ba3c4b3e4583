"""What is gone is not found, no text vetoes a write, and a search costs the same number of queries at any size."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.models import MemoryIndex
from tests.stores.searching import ENVIRONMENT_URL, doors, find, paths, search_url
from tests.stores.shelf import Shelf
from tests.world import Caller

CANARY = "quetzalcoatlus"


def nothing_is_left(call: Caller, shelf: Shelf) -> bool:
    rows = MemoryIndex.objects.extra(where=["terms @@ to_tsquery('english', %s)"], params=[CANARY])
    answers = doors(call, shelf, CANARY)
    return not rows.exists() and all(CANARY not in answer.content.decode() for answer in answers)


def test_a_changed_text_is_no_longer_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", f"a {CANARY} here")
    assert not nothing_is_left(call, shelf)
    call("POST", shelf.memory_url(memory), {"content": "another"})
    assert nothing_is_left(call, shelf)
    assert find(call, shelf, "another") == ["/a.md"]


def test_a_changed_path_is_no_longer_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put(f"/{CANARY}.md", "text")
    assert find(call, shelf, CANARY) == [f"/{CANARY}.md"]
    call("POST", shelf.memory_url(memory), {"path": "/b.md"})
    assert nothing_is_left(call, shelf)
    assert find(call, shelf, "text") == ["/b.md"]


def test_a_deleted_memory_is_no_longer_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", CANARY)
    call("DELETE", shelf.memory_url(memory))
    assert nothing_is_left(call, shelf)
    assert not MemoryIndex.objects.filter(memory_id=memory.id).exists()


def test_a_deleted_store_leaves_no_index_row(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", CANARY)
    store = shelf.store
    call("DELETE", shelf.url())
    assert not MemoryIndex.objects.filter(store_id=store.id).exists()
    assert paths(call("POST", ENVIRONMENT_URL, {"query": CANARY})) == []


def test_a_redacted_old_version_is_not_found(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", CANARY)
    shelf.update(memory, content="another")
    old = shelf.versions()[-1]
    assert call("POST", shelf.version_url(old) + "/redact").status == 200
    assert nothing_is_left(call, shelf)


def test_a_refused_change_leaves_the_index_as_it_was(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "zebra")
    stale = {"type": "content_sha256", "content_sha256": "0" * 64}
    answer = call("POST", shelf.memory_url(memory), {"content": CANARY, "precondition": stale})
    assert answer.status == 409
    assert nothing_is_left(call, shelf)
    assert find(call, shelf, "zebra") == ["/a.md"]


@pytest.mark.parametrize(
    "content",
    [
        "x" * MEMORY_CONTENT_BYTES_MAX,
        " ".join(f"{n:05x}" for n in range(17_066)),
        (" ".join(f"{n:x}/{n:x}.{n:x}_q" for n in range(9_000)))[:MEMORY_CONTENT_BYTES_MAX],
        "".join(chr(0x4E00 + n % 20_000) for n in range(MEMORY_CONTENT_BYTES_MAX // 3)),
        "' \\ | & ! :* <-> %s \u200b\u202e \x01" * 3_000,
    ],
    ids=["one word", "distinct words", "names", "han", "operators"],
)
def test_the_index_never_vetoes_a_write(call: Caller, shelf: Shelf, content: str) -> None:
    made = call("POST", shelf.memories_url, {"path": "/zebra.md", "content": content})
    assert made.status == 200, made.body
    assert find(call, shelf, "zebra") == ["/zebra.md"]


@pytest.mark.parametrize("url", [search_url, lambda shelf: ENVIRONMENT_URL], ids=["store", "environment"])
def test_the_number_of_queries_is_the_same_at_10_and_2000_memories(
    call: Caller, shelf: Shelf, url: Any
) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert len(paths(call("POST", url(shelf), {"query": "zebra note", "limit": 100}))) >= 10
        return len(queries)

    shelf.fill([f"/few/{number}.md" for number in range(10)], "a zebra note")
    index_all(shelf)
    call("POST", url(shelf), {"query": "zebra"})
    few = count()
    shelf.fill([f"/many/{number}.md" for number in range(1_990)], "a zebra note")
    index_all(shelf)
    assert count() == few <= 9


def index_all(shelf: Shelf) -> None:
    """Rows written past the verbs, given their index rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO stores_memoryindex (memory_id, project_id, environment_id, store_id, terms, length)
               SELECT m.id, s.project_id, s.environment_id, s.id, to_tsvector('english', v.content), 2
                 FROM stores_memory m JOIN stores_memorystore s ON s.id = m.store_id
                 JOIN stores_memoryversion v ON v.id = m.head_id
                WHERE s.id = %s ON CONFLICT DO NOTHING""",
            [shelf.store.id],
        )

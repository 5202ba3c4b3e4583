"""What the tools of memory stores take and give."""

from typing import Any

from rest_framework import serializers

from memoryhub import ids
from memoryhub.actors import Actor
from memoryhub.clock import to_wire
from memoryhub.fields import Choice, Flag, Integer, Sha256, Text
from memoryhub.mcp_tools import ToolInput, Values
from memoryhub.pagination import LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX
from memoryhub.ranking import QUERY_LENGTH_MAX
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory, MemoryStore
from stores.search import MODES, FoundMemory
from stores.search_serializers import SnippetShape, snippet_wire
from stores.serializers import MemoryContent, MemoryPath

PIECE_LENGTH_DEFAULT = 20_000
FOUND_DEFAULT, FOUND_MAX = 10, 50


def _limit(default: int, maximum: int) -> Integer:
    return Integer(
        required=False,
        min_value=1,
        max_value=maximum,
        help_text=f"How many at most; {default} when left out.",
    )


class ListStoresInput(ToolInput):
    limit = _limit(LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX)
    page = Text(required=False, help_text="next_page of the answer before, for what follows it.")


class StoreInput(ToolInput):
    memory_store_id = Text(length_max=64, help_text="The store's id, as list_memory_stores gives it.")


class ListFilesInput(StoreInput):
    path_prefix = Text(required=False, help_text="A directory with its final /; / when left out.")
    recursive = Flag(
        required=False,
        help_text="false: only what lies directly in it, and its directories. true when left out.",
    )
    limit = _limit(LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX)
    page = Text(required=False, help_text="next_page of the answer before, for what follows it.")


class FileInput(StoreInput):
    path = MemoryPath(help_text="The file's path, such as /notes/today.md.")


class ReadFileInput(FileInput):
    offset = Integer(required=False, min_value=0, help_text="At which character to begin; 0 when left out.")
    length = Integer(
        required=False,
        min_value=1,
        max_value=MEMORY_CONTENT_BYTES_MAX,
        help_text=f"How many characters at most; {PIECE_LENGTH_DEFAULT} when left out.",
    )


class SearchInput(ToolInput):
    query = Text(
        length_min=1,
        length_max=QUERY_LENGTH_MAX,
        help_text="Words; files with any of them are found, best first.",
    )
    memory_store_id = Text(
        length_max=64, required=False, help_text="One store; every store of yours when left out."
    )
    path_prefix = Text(required=False, help_text="Only below this directory, with its final /.")
    mode = Choice(
        choices=MODES,
        required=False,
        help_text='operators: "a phrase", -without, or. words when left out.',
    )
    limit = _limit(FOUND_DEFAULT, FOUND_MAX)


class CreateFileInput(FileInput):
    content = MemoryContent(help_text=f"The whole text, at most {MEMORY_CONTENT_BYTES_MAX} bytes as UTF-8.")


class UpdateFileInput(CreateFileInput):
    expected_content_sha256 = Sha256(
        required=False,
        help_text="content_sha256 of the text that you have read: a change made since then is not overwritten.",
    )


class EditFileInput(FileInput):
    old_text = Text(length_min=1, help_text="The passage as it stands; it must stand there exactly once.")
    new_text = Text(help_text="What takes its place; empty removes it.")
    expected_content_sha256 = Sha256(
        required=False, help_text="content_sha256 of the text that you have read."
    )


class InsertInput(FileInput):
    after_line = Integer(min_value=0, help_text="Below which line, counted from 1; 0: above the first.")
    text = Text(length_min=1, help_text="The lines to insert.")
    expected_content_sha256 = Sha256(
        required=False, help_text="content_sha256 of the text that you have read."
    )


class RenameFileInput(FileInput):
    new_path = MemoryPath(help_text="Where the file goes, in the same store; nothing may be there.")


class DeleteFileInput(FileInput):
    expected_content_sha256 = Sha256(
        required=False, help_text="content_sha256 of the text that you have read."
    )


class StoreItemShape(serializers.Serializer[Any]):
    memory_store_id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    access = serializers.ChoiceField(choices=["read_only", "read_write"])
    archived = serializers.BooleanField()
    frozen = serializers.BooleanField()


class StoresShape(serializers.Serializer[Any]):
    memory_stores = StoreItemShape(many=True)
    next_page = serializers.CharField(allow_null=True)


class FileShape(serializers.Serializer[Any]):
    memory_store_id = serializers.CharField()
    path = serializers.CharField()
    memory_id = serializers.CharField()
    content_sha256 = serializers.CharField()
    content_size_bytes = serializers.IntegerField()
    updated_at = serializers.DateTimeField()
    frozen = serializers.BooleanField()


class DirectoryShape(serializers.Serializer[Any]):
    path = serializers.CharField()


class FilesShape(serializers.Serializer[Any]):
    files = FileShape(many=True)
    directories = DirectoryShape(many=True)
    next_page = serializers.CharField(allow_null=True)


class PieceShape(FileShape):
    content = serializers.CharField()
    offset = serializers.IntegerField()
    length = serializers.IntegerField(help_text="Of the whole text, in characters.")
    next_offset = serializers.IntegerField(
        allow_null=True, help_text="Where the rest begins; null when there is none."
    )


class FoundFileShape(FileShape):
    score = serializers.FloatField()
    snippet = SnippetShape()


class FoundShape(serializers.Serializer[Any]):
    found = FoundFileShape(many=True)


class DeletedFileShape(serializers.Serializer[Any]):
    memory_id = serializers.CharField()
    deleted = serializers.BooleanField()


def store_item(store: MemoryStore, actor: Actor) -> Values:
    is_writable = actor.may_write_store(store.id)
    return {
        "memory_store_id": store.wire_id,
        "name": store.name,
        "description": store.description,
        "access": "read_write" if is_writable else "read_only",
        "archived": store.archived_at is not None,
        "frozen": store.frozen_at is not None,
    }


def file_wire(memory: Memory, store_id: str) -> Values:
    return {
        "memory_store_id": store_id,
        "path": memory.path,
        "memory_id": memory.wire_id,
        "content_sha256": memory.content_sha256,
        "content_size_bytes": memory.content_size_bytes,
        "updated_at": to_wire(memory.updated_at),
        "frozen": memory.frozen_at is not None,
    }


def found_file(found: FoundMemory) -> Values:
    store_id = ids.to_wire(ids.MEMORY_STORE, found.memory.store_id)
    return {
        **file_wire(found.memory, store_id),
        "score": found.score,
        "snippet": snippet_wire(found.excerpt),
    }

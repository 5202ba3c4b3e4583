"""The tools of memory stores for agents: files by their path. Rules, rights and errors are those of REST.

Answers are bounded: a list has pages, a long text comes in pieces, and each says how to go on.
"""

from memoryhub.actors import Actor
from memoryhub.mcp_tools import ADDS, ADDS_ONCE, CHANGES, CHANGES_ONCE, READS, Values, tool
from memoryhub.pagination import LIST_LIMIT_DEFAULT, ListRequest
from stores import files, memories, memory_stores, search, text_edits
from stores.mcp_shapes import (
    FOUND_DEFAULT,
    PIECE_LENGTH_DEFAULT,
    CreateFileInput,
    DeletedFileShape,
    DeleteFileInput,
    EditFileInput,
    FileShape,
    FilesShape,
    FoundShape,
    InsertInput,
    ListFilesInput,
    ListStoresInput,
    PieceShape,
    ReadFileInput,
    RenameFileInput,
    SearchInput,
    StoresShape,
    UpdateFileInput,
    file_wire,
    found_file,
    store_item,
)
from stores.memories import MemoryPrefix
from stores.models import Memory
from stores.search import SearchRequest


def has_stores(actor: Actor) -> bool:
    return memory_stores.visible_stores(actor).exists()


def may_write(actor: Actor) -> bool:
    writable = [key for key, access in (actor.stores or {}).items() if access == "read_write"]
    return memory_stores.visible_stores(actor).filter(id__in=writable).exists()


def require_visible(arguments: Values, actor: Actor) -> None:
    """Raises: NotFound."""
    store_id = arguments.get("memory_store_id")
    if isinstance(store_id, str):
        memory_stores.get_store(store_id, actor=actor)


@tool(
    "list_memory_stores",
    "List memory stores",
    "The memory stores that you may use, newest first, with your access to each. Begin here.",
    operation="memory_stores.get",
    takes=ListStoresInput,
    gives=StoresShape,
    effect=READS,
    is_offered=has_stores,
)
def list_stores(values: Values, actor: Actor) -> Values:
    limit = values.get("limit", LIST_LIMIT_DEFAULT)
    request = ListRequest("mcp_stores", {"reader": actor.actor_id}, limit, values.get("page"))
    page = memory_stores.list_stores(request, include_archived=True, actor=actor)
    return {"memory_stores": [store_item(store, actor) for store in page.rows], "next_page": page.next_page}


@tool(
    "list_memory_files",
    "List memory files",
    "The files of a memory store in the order of their paths, without their texts.",
    operation="memories.list",
    takes=ListFilesInput,
    gives=FilesShape,
    effect=READS,
    is_offered=has_stores,
    require_visible=require_visible,
)
def list_files(values: Values, actor: Actor) -> Values:
    store_id, prefix = values["memory_store_id"], values.get("path_prefix", "/")
    depth = 0 if values.get("recursive", True) else 1
    filters = {"store": store_id, "path_prefix": prefix, "depth": depth}
    limit = values.get("limit", LIST_LIMIT_DEFAULT)
    page = memories.list_memories(
        store_id,
        ListRequest("memories", filters, limit, values.get("page")),
        path_prefix=prefix,
        depth=depth,
        with_content=False,
        actor=actor,
    )
    return {
        "files": [file_wire(row, store_id) for row in page.rows if isinstance(row, Memory)],
        "directories": [{"path": row.path} for row in page.rows if isinstance(row, MemoryPrefix)],
        "next_page": page.next_page,
    }


@tool(
    "read_memory_file",
    "Read a memory file",
    "The text of a file. A long one comes in pieces: call again with next_offset until it is null, "
    "before you replace the text.",
    operation="memories.get",
    takes=ReadFileInput,
    gives=PieceShape,
    effect=READS,
    is_offered=has_stores,
    require_visible=require_visible,
)
def read_file(values: Values, actor: Actor) -> Values:
    store_id = values["memory_store_id"]
    memory = files.get_file(store_id, values["path"], with_content=True, actor=actor)
    text = memory.head.content or ""
    start = min(values.get("offset", 0), len(text))
    end = start + values.get("length", PIECE_LENGTH_DEFAULT)
    return {
        **file_wire(memory, store_id),
        "content": text[start:end],
        "offset": start,
        "length": len(text),
        "next_offset": end if end < len(text) else None,
    }


@tool(
    "search_memory_files",
    "Search memory files",
    "Full-text search over paths and texts, best first, with an excerpt of each. For more, ask more exactly.",
    operation="memories.list",
    takes=SearchInput,
    gives=FoundShape,
    effect=READS,
    is_offered=has_stores,
    require_visible=require_visible,
)
def search_files(values: Values, actor: Actor) -> Values:
    request = SearchRequest(
        values["query"],
        values.get("mode", "words"),
        values.get("path_prefix", "/"),
        values.get("limit", FOUND_DEFAULT),
    )
    if "memory_store_id" in values:
        found = search.search_store(values["memory_store_id"], request, actor=actor)
    else:
        found = search.search_environment(request, actor=actor)
    return {"found": [found_file(one) for one in found]}


@tool(
    "create_memory_file",
    "Create a memory file",
    "A new file at a path where none is, and none above or below it.",
    operation="memories.create",
    takes=CreateFileInput,
    gives=FileShape,
    effect=ADDS_ONCE,
    is_offered=may_write,
    require_visible=require_visible,
)
def create_file(values: Values, actor: Actor) -> Values:
    store_id = values["memory_store_id"]
    memory = memories.create_memory(store_id, path=values["path"], content=values["content"], actor=actor)
    return file_wire(memory, store_id)


@tool(
    "update_memory_file",
    "Replace the text of a memory file",
    "Set the whole text of a file. What it held stays in its history. A text that is already so is left as it is.",
    operation="memories.update",
    takes=UpdateFileInput,
    gives=FileShape,
    effect=CHANGES_ONCE,
    is_offered=may_write,
    require_visible=require_visible,
)
def update_file(values: Values, actor: Actor) -> Values:
    store_id, path = values["memory_store_id"], values["path"]
    files.get_file(store_id, path, with_content=False, actor=actor)
    precondition = files.FilePrecondition("present", values.get("expected_content_sha256"))
    memory = files.put_file(store_id, path, content=values["content"], precondition=precondition, actor=actor)
    return file_wire(memory, store_id)


@tool(
    "edit_memory_file",
    "Edit a memory file",
    "Replace one passage of a file's text by another.",
    operation="memories.update",
    takes=EditFileInput,
    gives=FileShape,
    effect=CHANGES,
    is_offered=may_write,
    require_visible=require_visible,
)
def edit_file(values: Values, actor: Actor) -> Values:
    store_id = values["memory_store_id"]
    memory = text_edits.replace_passage(
        store_id,
        values["path"],
        old=values["old_text"],
        new=values["new_text"],
        expected_sha256=values.get("expected_content_sha256"),
        actor=actor,
    )
    return file_wire(memory, store_id)


@tool(
    "insert_into_memory_file",
    "Insert lines into a memory file",
    "Put lines below a line of a file; 0 puts them above the first.",
    operation="memories.update",
    takes=InsertInput,
    gives=FileShape,
    effect=ADDS,
    is_offered=may_write,
    require_visible=require_visible,
)
def insert_into_file(values: Values, actor: Actor) -> Values:
    store_id = values["memory_store_id"]
    memory = text_edits.insert_lines(
        store_id,
        values["path"],
        after_line=values["after_line"],
        text=values["text"],
        expected_sha256=values.get("expected_content_sha256"),
        actor=actor,
    )
    return file_wire(memory, store_id)


@tool(
    "rename_memory_file",
    "Rename a memory file",
    "Give a file another path in its store. Its id and its history go with it.",
    operation="memories.update",
    takes=RenameFileInput,
    gives=FileShape,
    effect=CHANGES_ONCE,
    is_offered=may_write,
    require_visible=require_visible,
)
def rename_file(values: Values, actor: Actor) -> Values:
    store_id, path = values["memory_store_id"], values["path"]
    memory = files.get_file(store_id, path, with_content=False, actor=actor)
    renamed = memories.update_memory(
        store_id, memory.wire_id, path=values["new_path"], expected_path=path, actor=actor
    )
    return file_wire(renamed, store_id)


@tool(
    "delete_memory_file",
    "Delete a memory file",
    "Remove a file. Its history stays until its owner removes it.",
    operation="memories.delete",
    takes=DeleteFileInput,
    gives=DeletedFileShape,
    effect=CHANGES_ONCE,
    is_offered=may_write,
    require_visible=require_visible,
)
def delete_file(values: Values, actor: Actor) -> Values:
    memory_id = files.delete_file(
        values["memory_store_id"],
        values["path"],
        expected_sha256=values.get("expected_content_sha256"),
        actor=actor,
    )
    return {"memory_id": memory_id, "deleted": True}

"""What other products export, and the hub itself, read as records to be. Pure: nothing is saved here."""

from collections.abc import Mapping
from dataclasses import dataclass

from providers.limits import (
    EXPORTED_BYTES_MAX,
    IMPORT_DOCUMENT_BYTES_MAX,
    IMPORT_TEXT_FILE_BYTES_MAX,
)
from providers.record_sources import basic_memory, exported, knowledge_graph, letta, mem0, text_files
from providers.record_sources.items import Read


@dataclass(frozen=True, slots=True)
class Format:
    """`file_bytes`: the most that one file of it may have. `is_streamed`: a file is read in pieces, and need not fit into memory."""

    title: str
    read: Read
    file_bytes: int
    is_streamed: bool = False


FORMATS: Mapping[str, Format] = {
    mem0.NAME: Format("mem0: all memories, as JSON", mem0.read_mem0, IMPORT_DOCUMENT_BYTES_MAX),
    letta.NAME: Format("Letta: agent file or memory blocks", letta.read_letta, IMPORT_DOCUMENT_BYTES_MAX),
    basic_memory.NAME: Format(
        "Basic Memory: folder of notes", basic_memory.read_basic_memory, IMPORT_TEXT_FILE_BYTES_MAX
    ),
    knowledge_graph.NAME: Format(
        "memory.json of the MCP knowledge graph",
        knowledge_graph.read_knowledge_graph,
        IMPORT_DOCUMENT_BYTES_MAX,
    ),
    text_files.NAME: Format("Folder of texts", text_files.read_text_files, IMPORT_TEXT_FILE_BYTES_MAX),
    exported.NAME: Format(
        "Records of a MemoryHub", exported.read_exported, EXPORTED_BYTES_MAX, is_streamed=True
    ),
}

"""A valid call of each tool, for tests that must hold for every one, also for one added tomorrow."""

from typing import Any

STORES = {
    "list_memory_files": {},
    "read_memory_file": {"path": "/a.md"},
    "search_memory_files": {"query": "harbour"},
    "create_memory_file": {"path": "/new.md", "content": "x"},
    "update_memory_file": {"path": "/a.md", "content": "x"},
    "edit_memory_file": {"path": "/a.md", "old_text": "harbour", "new_text": "port"},
    "insert_into_memory_file": {"path": "/a.md", "after_line": 0, "text": "x"},
    "rename_memory_file": {"path": "/a.md", "new_path": "/b.md"},
    "delete_memory_file": {"path": "/a.md"},
}
AUTHORITIES: dict[str, dict[str, Any]] = {
    "authority_remember": {
        "requestId": "req.one",
        "expectedHead": {"generation": 0, "operationSha256": None},
        "puts": [{"key": "note:z", "kind": "note", "value": {}, "dependencies": [], "v": 1}],
        "tombstones": [],
    },
    "authority_query": {"programId": "memory.records", "bindings": {}},
    "authority_explain": {"token": "x" * 43, "resultSha256": "0" * 64, "pageRow": 0},
    "authority_nominate": {"nominationId": "review", "roots": ["note:a"]},
    "nominate_memory": {"id": "mrec_" + "0" * 24, "nominationId": "review"},
}
# Those that name nothing that could be somebody else's, but for a record's id within the scope of the key.
RECORDS: dict[str, dict[str, Any]] = {
    "save_memory": {"text": "Alice likes tea."},
    "search_memory": {"query": "tea"},
    "forget_memory": {"id": "mrec_" + "0" * 32},
}
# Those of a session's token, which name nothing outside of what the session binds.
DOCUMENTS: dict[str, dict[str, Any]] = {
    "list_document_memories": {},
    "list_documents": {"memory": "playbooks"},
    "read_document": {"memory": "playbook"},
    "save_document": {"memory": "playbook", "text": "x", "expected_revision": "memver_" + "0" * 24},
}
PLAIN: dict[str, dict[str, Any]] = {"list_memory_stores": {}, **RECORDS, **DOCUMENTS}
# The argument that names a thing of one tenant, by tool.
SUBJECTS = dict.fromkeys(STORES, "memory_store_id") | dict.fromkeys(AUTHORITIES, "authority_id")
CALLS: dict[str, dict[str, Any]] = {**PLAIN, **STORES, **AUTHORITIES}

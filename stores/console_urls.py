"""The URLs of the stores' pages, below a project and an environment."""

from django.urls import path

from stores import (
    console,
    edits_console,
    history_console,
    jobs_console,
    memories_console,
    redactions_console,
    retention_console,
    search_console,
    settings_console,
    uploads_console,
)

urlpatterns = [
    path("stores", console.stores, name="stores"),
    path("stores/new", console.create_store, name="create-store"),  # before the ids: none reads so
    path("stores/import", jobs_console.import_store, name="import-store"),
    path("stores/archive", jobs_console.archive_stores, name="archive-stores"),
    path("stores/<str:store_id>", console.store, name="store"),
    path("search", search_console.search_environment, name="search"),
    path("stores/<str:store_id>/export", jobs_console.export_store, name="export-store"),
    path("stores/<str:store_id>/zip", jobs_console.zip_store, name="zip-store"),
    path("stores/<str:store_id>/upload", uploads_console.upload_files, name="upload-files"),
    path("stores/<str:store_id>/settings", settings_console.store_settings, name="store-settings"),
    path("stores/<str:store_id>/retention", retention_console.store_retention, name="store-retention"),
    path("stores/<str:store_id>/delete", settings_console.delete_store, name="delete-store"),
    path("stores/<str:store_id>/freeze", settings_console.freeze_store, name="freeze-store"),
    path("stores/<str:store_id>/unfreeze", settings_console.unfreeze_store, name="unfreeze-store"),
    path("stores/<str:store_id>/archive", settings_console.archive_store, name="archive-store"),
    path("stores/<str:store_id>/history", history_console.store_history, name="store-history"),
    path("stores/<str:store_id>/as-it-was", history_console.as_it_was, name="as-it-was"),
    path("stores/<str:store_id>/compare", history_console.compare, name="compare"),
    path("stores/<str:store_id>/find", redactions_console.find, name="find-in-store"),
    path("stores/<str:store_id>/redact", redactions_console.redact_text, name="redact-in-store"),
    path("stores/<str:store_id>/versions/<str:version_id>", history_console.version, name="version"),
    path(
        "stores/<str:store_id>/versions/<str:version_id>/restore",
        history_console.restore,
        name="restore-version",
    ),
    path(
        "stores/<str:store_id>/versions/<str:version_id>/redact",
        redactions_console.redact_version,
        name="redact-version",
    ),
    path(
        "stores/<str:store_id>/versions/<str:version_id>/raw",
        memories_console.raw_version,
        name="raw-version",
    ),
    path(
        "stores/<str:store_id>/memories/new", edits_console.create_memory, name="create-memory"
    ),  # before the ids
    path("stores/<str:store_id>/memories/<str:memory_id>", memories_console.memory, name="memory"),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/raw", memories_console.raw_memory, name="raw-memory"
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/edit", edits_console.edit_memory, name="edit-memory"
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/move", edits_console.move_memory, name="move-memory"
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/delete",
        edits_console.delete_memory,
        name="delete-memory",
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/history",
        history_console.history,
        name="memory-history",
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/freeze",
        memories_console.freeze_memory,
        name="freeze-memory",
    ),
    path(
        "stores/<str:store_id>/memories/<str:memory_id>/unfreeze",
        memories_console.unfreeze_memory,
        name="unfreeze-memory",
    ),
    path("redactions", redactions_console.redactions, name="redactions"),
    path("redactions/find", redactions_console.find, name="find-text"),
    path("redactions/new", redactions_console.redact_text, name="redact-text"),
]

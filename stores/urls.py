"""The stores API's URLs. No trailing slashes and no redirects: a redirected POST would become a GET."""

from django.urls import path

from stores import (
    api,
    archives_api,
    files_api,
    freezes_api,
    history_api,
    redactions_api,
    retention_api,
    search_api,
    work_api,
)

WORK = "v1/environments/<str:environment_id>/work"

urlpatterns = [
    path("v1/memory_stores", api.Stores.as_view()),
    path("v1/memory_stores/import", archives_api.StoreImports.as_view()),  # before the ids: none reads so
    path("v1/memory_stores/<str:store_id>/export", archives_api.StoreExport.as_view()),
    path("v1/memory_stores/<str:store_id>", api.Store.as_view()),
    path("v1/memory_stores/<str:store_id>/archive", api.StoreArchive.as_view()),
    path("v1/memory_stores/<str:store_id>/memories", api.Memories.as_view()),
    # before the ids: none reads so
    path("v1/memory_stores/<str:store_id>/memories/search", search_api.StoreSearch.as_view()),
    path("v1/memory_stores/<str:store_id>/memories/<str:memory_id>", api.Memory.as_view()),
    path("v1/memory_stores/<str:store_id>/memory_versions", api.Versions.as_view()),
    path("v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>", api.Version.as_view()),
    path(
        "v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>/redact", api.VersionRedact.as_view()
    ),
    path("v1/memory_stores/<str:store_id>/files/<path:file_path>", files_api.File.as_view()),
    path("v1/memory_stores/<str:store_id>/freeze", freezes_api.StoreFreeze.as_view()),
    path("v1/memory_stores/<str:store_id>/unfreeze", freezes_api.StoreUnfreeze.as_view()),
    path(
        "v1/memory_stores/<str:store_id>/memories/<str:memory_id>/freeze", freezes_api.MemoryFreeze.as_view()
    ),
    path(
        "v1/memory_stores/<str:store_id>/memories/<str:memory_id>/unfreeze",
        freezes_api.MemoryUnfreeze.as_view(),
    ),
    path("v1/memory_stores/<str:store_id>/retention", retention_api.StoreRetention.as_view()),
    path("v1/memory_stores/<str:store_id>/retention/plan", retention_api.RetentionPlan.as_view()),
    path("v1/memory_stores/<str:store_id>/retention/run", retention_api.RetentionRun.as_view()),
    path("v1/memory_stores/<str:store_id>/changes", history_api.StoreChanges.as_view()),
    path("v1/memory_stores/<str:store_id>/snapshot", history_api.StoreSnapshot.as_view()),
    path(
        "v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>/diff",
        history_api.VersionDiff.as_view(),
    ),
    path(
        "v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>/restore",
        history_api.VersionRestore.as_view(),
    ),
    path("v1/memories/search", search_api.EnvironmentSearch.as_view()),
    path("v1/memory_versions/search", redactions_api.VersionSearch.as_view()),
    path("v1/redactions", redactions_api.Redactions.as_view()),
    path("v1/sessions/<str:session_id>/work", work_api.SessionWork.as_view()),
    path(WORK, work_api.WorkItems.as_view()),
    path(f"{WORK}/poll", work_api.WorkPoll.as_view()),  # before the ids: none reads so
    path(f"{WORK}/stats", work_api.WorkStats.as_view()),
    path(f"{WORK}/<str:work_id>", work_api.WorkItem.as_view()),
    path(f"{WORK}/<str:work_id>/ack", work_api.WorkAck.as_view()),
    path(f"{WORK}/<str:work_id>/heartbeat", work_api.WorkHeartbeat.as_view()),
    path(f"{WORK}/<str:work_id>/stop", work_api.WorkStop.as_view()),
]

"""The stores API's URLs. No trailing slashes and no redirects: a redirected POST would become a GET."""

from django.urls import path

from stores import api

urlpatterns = [
    path("v1/memory_stores", api.Stores.as_view()),
    path("v1/memory_stores/<str:store_id>", api.Store.as_view()),
    path("v1/memory_stores/<str:store_id>/archive", api.StoreArchive.as_view()),
    path("v1/memory_stores/<str:store_id>/memories", api.Memories.as_view()),
    path("v1/memory_stores/<str:store_id>/memories/<str:memory_id>", api.Memory.as_view()),
    path("v1/memory_stores/<str:store_id>/memory_versions", api.Versions.as_view()),
    path("v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>", api.Version.as_view()),
    path(
        "v1/memory_stores/<str:store_id>/memory_versions/<str:version_id>/redact", api.VersionRedact.as_view()
    ),
]

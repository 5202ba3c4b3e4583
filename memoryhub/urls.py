"""Every URL of the hub. Wiring only."""

from django.urls import include, path

urlpatterns = [
    path("", include("stores.urls")),
]

handler400 = "memoryhub.problems.bad_request"
handler403 = "memoryhub.problems.permission_denied"
handler404 = "memoryhub.problems.page_not_found"
handler500 = "memoryhub.problems.server_error"

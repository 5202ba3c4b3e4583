"""Every URL of the hub. Wiring only."""

from django.urls import include, path

from memoryhub import status_api

urlpatterns = [
    path("", include("stores.urls")),  # first, as most requests are for it and patterns are tried in order
    path("", include("providers.urls")),
    path("", include("authority.urls")),
    path("healthz", status_api.healthz),
    path("readyz", status_api.readyz),
    path("metrics", status_api.prometheus),
    path("openapi.yaml", status_api.openapi_yaml),
    path("", include("memoryhub.console_urls")),
    path("p/<str:project_id>/<str:environment>/", include("stores.console_urls")),
    path("p/<str:project_id>/<str:environment>/", include("providers.console_urls")),
    path("p/<str:project_id>/<str:environment>/", include("authority.console_urls")),
    path("", include("memoryhub.ground_urls")),
    path("", include("memoryhub.audit_urls")),
]

handler400 = "memoryhub.problems.bad_request"
handler403 = "memoryhub.problems.permission_denied"
handler404 = "memoryhub.problems.page_not_found"
handler500 = "memoryhub.problems.server_error"

"""The URLs of declared memory, documents and sessions. No trailing slashes and no redirects."""

from django.urls import path

from providers import api, documents_api, requests_api, secrets_api, sessions_api

PROJECT = "v1/projects/<str:project_id>/memory"
SESSION = "v1/sessions/<str:session_id>"

urlpatterns = [
    path("v1/deployments", api.Deployments.as_view()),
    path("v1/deployments/<str:deployment_id>", api.Deployment.as_view()),
    path("v1/deployments/<str:deployment_id>/promote", api.DeploymentPromotion.as_view()),
    path("v1/memory_resources", api.DeclaredResources.as_view()),
    path(PROJECT, api.Resources.as_view()),
    path(f"{PROJECT}/export", documents_api.DocumentExport.as_view()),  # before the ids: none reads so
    path(f"{PROJECT}/<str:resource_id>", api.Resource.as_view()),
    path(f"{PROJECT}/<str:resource_id>/namespaces", api.Namespaces.as_view()),
    path(f"{PROJECT}/<str:resource_id>/documents", documents_api.Documents.as_view()),
    path(f"{PROJECT}/<str:resource_id>/documents/<str:document_id>", documents_api.DocumentUrl.as_view()),
    path("v1/secrets", secrets_api.Secrets.as_view()),
    path("v1/secrets/<str:secret_id>", secrets_api.Secret.as_view()),
    path("v1/sessions", sessions_api.Sessions.as_view()),
    path("v1/sessions:on-document", sessions_api.SessionOnDocument.as_view()),
    path(SESSION, sessions_api.Session.as_view()),
    path(f"{SESSION}/end", sessions_api.SessionEnd.as_view()),
    path(f"{SESSION}/bindings/<str:resource_id>/revoke", sessions_api.BindingRevoke.as_view()),
    path(f"{SESSION}/events", sessions_api.Events.as_view()),
    path(f"{SESSION}/events/stream", sessions_api.EventStream.as_view()),
    path(f"{SESSION}/model-requests", requests_api.ModelRequests.as_view()),
    path(f"{SESSION}/model-requests/<str:request_id>", requests_api.ModelRequest.as_view()),
    path(f"{SESSION}/model-requests/<str:request_id>/selection", requests_api.Selection.as_view()),
    path(f"{SESSION}/model-requests/<str:request_id>/tool-calls", requests_api.ToolCalls.as_view()),
    path(f"{SESSION}/tool-calls/<str:tool_call_id>", requests_api.ToolCall.as_view()),
]

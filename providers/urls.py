"""The URLs of declared memory, documents and sessions. No trailing slashes and no redirects."""

from django.urls import path

from providers import (
    api,
    documents_api,
    endpoint_door,
    endpoints_api,
    partitions_api,
    requests_api,
    secrets_api,
    sessions_api,
)

PROJECT = "v1/projects/<str:project_id>/memory"
SESSION = "v1/sessions/<str:session_id>"
ENDPOINT = "v1/endpoints/<str:endpoint_id>"
PARTITION = f"{ENDPOINT}/partitions/<str:partition_id>"

urlpatterns = [
    path("oc-memory/<str:endpoint_id>", endpoint_door.MemoryProtocol.as_view()),
    path("oc-memory/<str:endpoint_id>/partitions/<str:partition>/ingest", endpoint_door.Ingest.as_view()),
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
    path(f"{SESSION}/model-requests/<str:request_id>/cancel", requests_api.ModelRequestCancel.as_view()),
    path(f"{SESSION}/model-requests/<str:request_id>/selection", requests_api.Selection.as_view()),
    path(f"{SESSION}/model-requests/<str:request_id>/tool-calls", requests_api.ToolCalls.as_view()),
    path(f"{SESSION}/tool-calls/<str:tool_call_id>", requests_api.ToolCall.as_view()),
    path(f"{SESSION}/http-operations", requests_api.HttpOperations.as_view()),
    path(f"{SESSION}/http-operations/<str:operation_id>/cancel", requests_api.HttpOperationCancel.as_view()),
    path("v1/endpoints", endpoints_api.Endpoints.as_view()),
    path(ENDPOINT, endpoints_api.Endpoint.as_view()),
    path(f"{ENDPOINT}/credentials", endpoints_api.Credentials.as_view()),
    path(f"{ENDPOINT}/credentials/<str:credential_id>/revoke", endpoints_api.CredentialRevoke.as_view()),
    path(f"{ENDPOINT}/partitions", partitions_api.Partitions.as_view()),
    path(PARTITION, partitions_api.Partition.as_view()),
    path(f"{PARTITION}/freeze", partitions_api.PartitionFreeze.as_view()),
    path(f"{PARTITION}/unfreeze", partitions_api.PartitionUnfreeze.as_view()),
    path(f"{PARTITION}/export", partitions_api.PartitionExport.as_view()),
    path(f"{PARTITION}/records", partitions_api.Records.as_view()),
    path(f"{PARTITION}/records/<str:record_id>", partitions_api.Record.as_view()),
    path(f"{PARTITION}/items", partitions_api.Items.as_view()),
    path(f"{PARTITION}/items/<str:item_id>", partitions_api.Item.as_view()),
]

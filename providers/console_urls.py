"""The URLs of the pages of declared memory, below a project and an environment.

An id of a resource or a document may be any word, so no other page stands where one does.
"""

from django.urls import path

from providers import (
    calls_console,
    deployments_console,
    documents_console,
    endpoints_console,
    partitions_console,
    record_effects_console,
    record_imports_console,
    record_writes_console,
    records_console,
    resources_console,
    secrets_console,
    sessions_console,
    trials_console,
)

_RESOURCE = "resources/<str:resource_id>"
_DOCUMENT = f"{_RESOURCE}/documents/<str:document_id>"
_SESSION = "sessions/<str:session_id>"
_ENDPOINT = "endpoints/<str:endpoint_id>"
_CREDENTIAL = f"{_ENDPOINT}/credentials/<str:credential_id>"
_PARTITION = f"{_ENDPOINT}/partitions/<str:partition_id>"
_RECORD = f"{_PARTITION}/records/<str:record_id>"
_SCOPE = "records/scopes/<str:scope_id>"
_MEMORY_RECORD = f"{_SCOPE}/records/<str:memory_record_id>"

urlpatterns = [
    path("resources", resources_console.resources, name="resources"),
    path("declare", resources_console.declare_resource, name="declare-resource"),
    path(_RESOURCE, resources_console.resource, name="resource"),
    path(f"{_RESOURCE}/declaration", resources_console.change_resource, name="change-resource"),
    path(f"{_RESOURCE}/calls", calls_console.resource_calls, name="resource-calls"),
    path(f"{_RESOURCE}/try", calls_console.try_service, name="try-service"),
    path("calls/<str:operation_id>", calls_console.call, name="call"),
    path("calls/<str:operation_id>/cancel", calls_console.cancel_call, name="cancel-call"),
    path(f"{_RESOURCE}/export", resources_console.export_documents, name="export-documents"),
    path(f"{_RESOURCE}/new-document", documents_console.create_document, name="create-document"),
    path(_DOCUMENT, documents_console.document, name="document"),
    path(f"{_DOCUMENT}/edit", documents_console.edit_document, name="edit-document"),
    path(f"{_DOCUMENT}/title", documents_console.rename_document, name="rename-document"),
    path(f"{_DOCUMENT}/freeze", documents_console.freeze_document, name="freeze-document"),
    path(f"{_DOCUMENT}/unfreeze", documents_console.unfreeze_document, name="unfreeze-document"),
    path(f"{_DOCUMENT}/delete", documents_console.delete_document, name="delete-document"),
    path("try", trials_console.try_memory, name="try-memory"),
    path("deployments", deployments_console.deployments, name="deployments"),
    path("deployments/new", deployments_console.create_deployment, name="create-deployment"),
    path("deployments/<str:deployment_id>", deployments_console.deployment, name="deployment"),
    path(
        "deployments/<str:deployment_id>/promote",
        deployments_console.promote_deployment,
        name="promote-deployment",
    ),
    path("secrets", secrets_console.secrets, name="secrets"),
    path("secrets/new", secrets_console.create_secret, name="create-secret"),
    path("secrets/<str:secret_id>", secrets_console.replace_secret, name="replace-secret"),
    path("secrets/<str:secret_id>/delete", secrets_console.delete_secret, name="delete-secret"),
    path("sessions", sessions_console.sessions, name="sessions"),
    path(_SESSION, sessions_console.session, name="session"),
    path(f"{_SESSION}/events", sessions_console.events, name="session-events"),
    path(f"{_SESSION}/requests/<str:request_id>", sessions_console.model_request, name="model-request"),
    path(f"{_SESSION}/end", sessions_console.end_session, name="end-agent-session"),
    path(f"{_SESSION}/delete", sessions_console.delete_session, name="delete-session"),
    path(
        f"{_SESSION}/bindings/<str:resource_id>/revoke",
        sessions_console.revoke_binding,
        name="revoke-binding",
    ),
    path(f"{_SESSION}/work/<str:work_id>/stop", sessions_console.stop_work, name="stop-work"),
    path(f"{_SESSION}/calls", calls_console.session_calls, name="session-calls"),
    path("writes", record_writes_console.writes, name="record-writes"),
    path("writes/reject", record_writes_console.reject_writes, name="reject-record-writes"),
    path("writes/<str:write_id>/approve", record_writes_console.approve_write, name="approve-record-write"),
    path("endpoints", endpoints_console.endpoints, name="endpoints"),
    path("endpoints/new", endpoints_console.create_endpoint, name="create-endpoint"),
    path(_ENDPOINT, endpoints_console.endpoint, name="endpoint"),
    path(f"{_ENDPOINT}/settings", endpoints_console.endpoint_settings, name="endpoint-settings"),
    path(f"{_ENDPOINT}/delete", endpoints_console.delete_endpoint, name="delete-endpoint"),
    path(f"{_ENDPOINT}/credentials", endpoints_console.credentials, name="credentials"),
    path(f"{_ENDPOINT}/credentials/new", endpoints_console.create_credential, name="create-credential"),
    path(f"{_CREDENTIAL}/rotate", endpoints_console.rotate_credential, name="rotate-credential"),
    path(f"{_CREDENTIAL}/revoke", endpoints_console.revoke_credential, name="revoke-credential"),
    path(f"{_ENDPOINT}/partitions", partitions_console.partitions, name="partitions"),
    path(_PARTITION, partitions_console.partition, name="partition"),
    path(f"{_PARTITION}/conversations", partitions_console.items, name="items"),
    path(f"{_PARTITION}/freeze", partitions_console.freeze_partition, name="freeze-partition"),
    path(f"{_PARTITION}/unfreeze", partitions_console.unfreeze_partition, name="unfreeze-partition"),
    path(f"{_PARTITION}/export", partitions_console.export_partition, name="export-partition"),
    path(f"{_PARTITION}/delete", partitions_console.delete_partition, name="delete-partition"),
    path(_RECORD, partitions_console.record, name="record"),
    path(f"{_RECORD}/delete", partitions_console.delete_record, name="delete-record"),
    path("records", records_console.records, name="records"),
    path("records/import", record_imports_console.import_records, name="import-records"),
    path(_SCOPE, records_console.record_scope, name="record-scope"),
    path(f"{_SCOPE}/search", records_console.search_records, name="search-records"),
    path(_MEMORY_RECORD, records_console.memory_record, name="memory-record"),
    path(f"{_MEMORY_RECORD}/correct", records_console.correct_record, name="correct-record"),
    path(f"{_MEMORY_RECORD}/forget", records_console.forget_record, name="forget-record"),
    path("records/effects", record_effects_console.effects, name="effects"),
    path("records/effects/<str:effect_id>", record_effects_console.effect, name="effect"),
    path(
        "records/effects/<str:effect_id>/resolve",
        record_effects_console.resolve_effect,
        name="resolve-effect",
    ),
    path("records/violations", record_effects_console.dropped, name="violations"),
    path("records/violations/<str:violation_id>", record_effects_console.violation, name="violation"),
    path("stores/<str:store_id>/sessions", sessions_console.store_sessions, name="store-sessions"),
]

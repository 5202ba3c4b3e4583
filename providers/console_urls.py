"""The URLs of the pages of declared memory, below a project and an environment.

An id of a resource or a document may be any word, so no other page stands where one does.
"""

from django.urls import path

from providers import (
    deployments_console,
    documents_console,
    resources_console,
    secrets_console,
    sessions_console,
    trials_console,
)

_RESOURCE = "resources/<str:resource_id>"
_DOCUMENT = f"{_RESOURCE}/documents/<str:document_id>"
_SESSION = "sessions/<str:session_id>"

urlpatterns = [
    path("resources", resources_console.resources, name="resources"),
    path("declare", resources_console.declare_resource, name="declare-resource"),
    path(_RESOURCE, resources_console.resource, name="resource"),
    path(f"{_RESOURCE}/declaration", resources_console.change_resource, name="change-resource"),
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
    path("stores/<str:store_id>/sessions", sessions_console.store_sessions, name="store-sessions"),
]

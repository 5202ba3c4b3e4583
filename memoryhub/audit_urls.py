"""The audit trail's URLs."""

from django.urls import path

from memoryhub import audit_api

urlpatterns = [
    path("v1/audit_events", audit_api.AuditEvents.as_view()),
    path("v1/audit_events/export", audit_api.AuditExport.as_view()),
]

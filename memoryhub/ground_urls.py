"""The URLs of the ground floor's API."""

from django.urls import path

from memoryhub import ground_api as api
from memoryhub import webhooks_api

urlpatterns = [
    path("v1/projects", api.Projects.as_view()),
    path("v1/projects/<str:project_id>", api.Project.as_view()),
    path("v1/environments", api.Environments.as_view()),
    path("v1/environments/<str:environment_id>", api.Environment.as_view()),
    path("v1/members", api.Members.as_view()),
    path("v1/members/<str:member_id>", api.Member.as_view()),
    path("v1/invitations", api.Invitations.as_view()),
    path("v1/invitations/<str:invitation_id>/revoke", api.InvitationRevoke.as_view()),
    path("v1/api_keys", api.ApiKeys.as_view()),
    path("v1/api_keys/<str:key_id>", api.ApiKey.as_view()),
    path("v1/api_keys/<str:key_id>/rotate", api.ApiKeyRotate.as_view()),
    path("v1/api_keys/<str:key_id>/revoke", api.ApiKeyRevoke.as_view()),
    path("v1/webhooks", webhooks_api.Webhooks.as_view()),
    path("v1/webhooks/<str:webhook_id>", webhooks_api.Webhook.as_view()),
    path("v1/webhooks/<str:webhook_id>/rotate", webhooks_api.WebhookRotate.as_view()),
    path("v1/webhooks/<str:webhook_id>/test", webhooks_api.WebhookTest.as_view()),
    path("v1/webhooks/<str:webhook_id>/replay", webhooks_api.WebhookReplay.as_view()),
    path("v1/webhooks/<str:webhook_id>/deliveries", webhooks_api.Deliveries.as_view()),
    path("v1/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>", webhooks_api.Delivery.as_view()),
    path(
        "v1/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>/replay",
        webhooks_api.DeliveryReplay.as_view(),
    ),
]

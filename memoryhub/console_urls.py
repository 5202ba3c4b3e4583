"""The URLs of the console's ground floor and of the documentation."""

from django.urls import include, path

from memoryhub import (
    account_console,
    audit_console,
    console,
    deletions_console,
    docs_pages,
    keys_console,
    overview_console,
    people_console,
    projects_console,
    status_console,
    work_console,
)

_OF_ENVIRONMENT = [
    path("keys", keys_console.api_keys, name="keys"),
    path("keys/new", keys_console.issue_key, name="issue-key"),  # before the ids: none reads so
    path("keys/<str:key_id>", keys_console.api_key, name="key"),
    path("keys/<str:key_id>/rotate", keys_console.rotate_key, name="rotate-key"),
    path("keys/<str:key_id>/revoke", keys_console.revoke_key, name="revoke-key"),
    path("people", people_console.people, name="people"),
    path("people/invitations", people_console.invited, name="invitations"),
    path("people/invitations/new", people_console.invite, name="invite"),
    path(
        "people/invitations/<str:invitation_id>/revoke",
        people_console.revoke_invitation,
        name="revoke-invitation",
    ),
    path("people/<str:member_id>/role", people_console.change_role, name="change-role"),
    path("people/<str:member_id>/remove", people_console.remove_member, name="remove-member"),
    path("settings", projects_console.project_settings, name="project-settings"),
    path("settings/rename", projects_console.rename_project, name="rename-project"),
    path("settings/environments/new", projects_console.create_environment, name="create-environment"),
    path(
        "settings/environments/<str:other_id>/rename",
        projects_console.rename_environment,
        name="rename-environment",
    ),
    path(
        "settings/environments/<str:other_id>/delete",
        deletions_console.delete_environment,
        name="delete-environment",
    ),
    path("settings/delete", deletions_console.delete_project, name="delete-project"),
    path("work", work_console.jobs, name="jobs"),
    path("work/<str:job_id>", work_console.job, name="job"),
    path("work/<str:job_id>/progress", work_console.progress, name="job-progress"),
    path("work/<str:job_id>/file", work_console.job_file, name="job-file"),
    path("work/<str:job_id>/cancel", work_console.cancel_job, name="cancel-job"),
    path("work/<str:job_id>/delete-file", work_console.delete_file, name="delete-job-file"),
    path("operations", status_console.hub_status, name="hub-status"),
    path("audit", audit_console.audit, name="audit"),
    path("audit/export", audit_console.export, name="audit-export"),
]

urlpatterns = [
    path("", console.home, name="home"),
    path("start", console.start, name="start"),
    path("projects/new", projects_console.create_project, name="create-project"),
    path("sign-in", console.sign_in, name="sign-in"),
    path("sign-in/<str:token>", console.sign_in_link, name="sign-in-link"),
    path("sign-out", console.sign_out, name="sign-out"),
    path("account/theme", console.theme, name="theme"),
    path("account", account_console.account, name="account"),
    path("account/password", account_console.password, name="password"),
    path("account/sessions/end-others", account_console.end_other_sessions, name="end-other-sessions"),
    path("account/sessions/<str:session_key>/end", account_console.end_session, name="end-session"),
    path("invitations/<str:token>", console.invitation, name="invitation"),
    path("p/<str:project_id>/<str:environment>", overview_console.overview, name="overview"),
    path("p/<str:project_id>/<str:environment>/", include(_OF_ENVIRONMENT)),
    path("docs", docs_pages.contents, name="docs"),
    path("docs/reference", docs_pages.reference, name="api-reference"),
    path("docs/<slug:name>", docs_pages.page, name="docs-page"),
]

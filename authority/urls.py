"""The URLs of spaces and authorities. No trailing slashes and no redirects."""

from django.urls import path

from authority import agent_api, authorities_api, host_api, reviews_api, spaces_api

SPACE = "v1/spaces/<str:space_id>"
AUTHORITY = "v1/authorities/<str:authority_id>"

urlpatterns = [
    path("v1/spaces", spaces_api.Spaces.as_view()),
    path(SPACE, spaces_api.Space.as_view()),
    path(f"{SPACE}/head", spaces_api.SpaceHead.as_view()),
    path(f"{SPACE}/snapshot", spaces_api.SpaceSnapshot.as_view()),
    path(f"{SPACE}/changes", spaces_api.SpaceChanges.as_view()),
    path(f"{SPACE}/archive", spaces_api.SpaceArchive.as_view()),
    path(f"{SPACE}/commit", spaces_api.SpaceCommit.as_view()),
    path(f"{SPACE}/verify", spaces_api.SpaceVerify.as_view()),
    path(f"{SPACE}/purge", spaces_api.SpacePurge.as_view()),
    path("v1/authorities", authorities_api.Authorities.as_view()),
    path(AUTHORITY, authorities_api.Authority.as_view()),
    path(f"{AUTHORITY}/agent/remember", agent_api.Remember.as_view()),
    path(f"{AUTHORITY}/agent/query", agent_api.Query.as_view()),
    path(f"{AUTHORITY}/agent/explain", agent_api.Explain.as_view()),
    path(f"{AUTHORITY}/agent/nominate", agent_api.Nominate.as_view()),
    path(f"{AUTHORITY}/memory-nominations", reviews_api.MemoryNominations.as_view()),
    path(f"{AUTHORITY}/host/advance", host_api.Advance.as_view()),
    path(f"{AUTHORITY}/host/adopt", host_api.Adopt.as_view()),
    path(f"{AUTHORITY}/host/calls", host_api.Calls.as_view()),
    path(f"{AUTHORITY}/host/calls/<str:call_id>", host_api.Call.as_view()),
    path(f"{AUTHORITY}/host/calls/<str:call_id>/withdraw", host_api.CallWithdraw.as_view()),
    path(f"{AUTHORITY}/host/calls/<str:call_id>/resend", host_api.CallResend.as_view()),
    path(f"{AUTHORITY}/receipts/<str:receipt_sha256>", authorities_api.Receipt.as_view()),
    path(f"{AUTHORITY}/record-nominations", reviews_api.RecordNominations.as_view()),
    path(f"{AUTHORITY}/nominations", authorities_api.Nominations.as_view()),
    path(f"{AUTHORITY}/nominations/<str:nomination_sha256>", authorities_api.Nomination.as_view()),
    path(f"{AUTHORITY}/nominations/<str:nomination_sha256>/review-plan", reviews_api.ReviewPlan.as_view()),
    path(f"{AUTHORITY}/nominations/<str:nomination_sha256>/decision", reviews_api.Decide.as_view()),
]

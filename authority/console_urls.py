"""The URLs of the pages of reviewed memory, below a project and an environment."""

from django.urls import path

from authority import authorities_console, memory_console, nomination_console, review_console

_AUTHORITY = "authorities/<str:authority_id>"
_NOMINATION = "review/<str:authority_id>/<str:nomination_sha256>"
_CALL = f"{_AUTHORITY}/calls/<str:call_id>"
_RECEIPT = f"{_AUTHORITY}/receipts/<str:receipt_sha256>"

urlpatterns = [
    path("review", review_console.review, name="review"),
    path("review/reject", review_console.reject_nominations, name="reject-nominations"),
    path(
        "nominate/records/<str:scope_id>/<str:memory_record_id>",
        memory_console.nominate_record,
        name="nominate-record",
    ),
    path("nominate/<str:store_id>/<str:memory_id>", memory_console.nominate_memory, name="nominate-memory"),
    path("authorities", authorities_console.authorities, name="authorities"),
    path("create-authority", authorities_console.create_authority, name="create-authority"),
    path("create-space", authorities_console.create_space, name="create-space"),
    path(_AUTHORITY, authorities_console.authority, name="authority"),
    path(f"{_AUTHORITY}/archive", authorities_console.export_reviewed, name="export-reviewed"),
    path(f"{_AUTHORITY}/advance", authorities_console.advance_authority, name="advance-authority"),
    path(_CALL, authorities_console.host_call, name="host-call"),
    path(f"{_CALL}/progress", authorities_console.host_call_progress, name="host-call-progress"),
    path(f"{_CALL}/resend", authorities_console.resend_host_call, name="resend-host-call"),
    path(f"{_CALL}/withdraw", authorities_console.withdraw_host_call, name="withdraw-host-call"),
    path(_RECEIPT, authorities_console.receipt, name="receipt"),
    path(f"{_RECEIPT}/file", authorities_console.receipt_file, name="receipt-file"),
    path(_NOMINATION, nomination_console.nomination, name="nomination"),
    path(f"{_NOMINATION}/record", nomination_console.nomination_record, name="nomination-record"),
    path(f"{_NOMINATION}/adopt", nomination_console.adopt_nomination, name="adopt-nomination"),
    path(f"{_NOMINATION}/reject", nomination_console.reject_nomination, name="reject-nomination"),
]

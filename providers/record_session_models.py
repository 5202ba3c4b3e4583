"""The rows of records in sessions: what was recalled for whom, and the writes that wait for a person."""

from django.db import models
from django.db.models import Q

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Project, Session
from providers.record_models import RecordScope


class RecalledItem(models.Model):
    """A record as a search in a session gave it, in the scope it was asked for. `text` null: it was forgotten or erased since."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    session = models.ForeignKey(
        Session, models.DO_NOTHING, db_constraint=False, related_name="recalled_items", db_index=False
    )
    tool_call = models.ForeignKey(
        "providers.ToolCall", models.DO_NOTHING, db_constraint=False, related_name="recalled_items"
    )
    scope = models.ForeignKey(
        RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    record_id = models.TextField()
    version = models.TextField()
    text = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        indexes = [
            models.Index(fields=["session", "-id"], name="recalleditem_session"),
            models.Index(fields=["scope", "record_id"], name="recalleditem_record"),
        ]


class RecordWrite(models.Model):
    """A write of a session's model that a person decides on. `payload`: `{"record": …}` or `{"id": …}`; gone once it is done.

    `state`: waiting, approved, rejected or expired. `outcome`: of an approved one, None until it is known.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    project = models.ForeignKey(
        Project, models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    scope = models.ForeignKey(RecordScope, models.DO_NOTHING, db_constraint=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, related_name="record_writes")
    tool_call = models.OneToOneField(
        "providers.ToolCall", models.DO_NOTHING, db_constraint=False, related_name="record_write"
    )
    tool = models.CharField(max_length=16)
    key = models.CharField(max_length=256)
    payload = models.JSONField(null=True)
    state = models.CharField(max_length=16)
    outcome = models.JSONField(null=True)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    decided_by_type = models.CharField(max_length=24, null=True)
    decided_by_id = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting", outcome__isnull=True)
                | Q(state="approved")
                | Q(state__in=("rejected", "expired"), payload__isnull=True, outcome__isnull=True),
                name="recordwrite_payload",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="recordwrite_project"),
            models.Index(
                fields=["state", "expires_at"],
                name="recordwrite_open",
                condition=Q(state="waiting") | Q(state="approved", outcome__isnull=True),
            ),
        ]

    @property
    def wire_id(self) -> str:
        return ids.to_wire(ids.RECORD_WRITE, self.id)

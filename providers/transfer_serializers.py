"""The shapes of whole scopes of records: which scope, what an import did."""

from typing import Any

from rest_framework import serializers

from memoryhub.actors import SCOPE_NAME_LENGTH_MAX
from memoryhub.fields import Choice, Flag, StrictSerializer, Text
from providers.limits import RECORD_NAME_BYTES_MAX
from providers.record_imports import RecordImport
from providers.record_sources import FORMATS
from providers.serializers import environment_name

type Values = dict[str, Any]


class ScopeQuery(StrictSerializer):
    """Whose records: an agent's memory of one principal."""

    environment = environment_name(required=False)
    agent = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    issuer = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)
    subject = Text(length_min=1, length_max=SCOPE_NAME_LENGTH_MAX)


class ImportRecordsQuery(ScopeQuery):
    format = Choice(choices=list(FORMATS))
    dry_run = Flag(required=False)
    user = Text(length_min=1, length_max=RECORD_NAME_BYTES_MAX, required=False)


class RefusalShape(serializers.Serializer[Any]):
    where = serializers.CharField(help_text="File and place in the source.")
    reason = serializers.CharField()


class RecordImportShape(serializers.Serializer[Any]):
    """`added`: would be, of a dry run. `stopped`: why it ended early; repeated, it goes on."""

    type = serializers.ChoiceField(choices=["record_import"])
    format = serializers.ChoiceField(choices=list(FORMATS))
    dry_run = serializers.BooleanField()
    added = serializers.IntegerField()
    present = serializers.IntegerField()
    forgotten = serializers.IntegerField()
    uncertain = serializers.IntegerField()
    left_out = serializers.IntegerField()
    refused = serializers.IntegerField()
    left = serializers.IntegerField()
    stopped = serializers.CharField(allow_null=True)
    refusals = RefusalShape(many=True)
    has_more = serializers.BooleanField(help_text="Whether more were refused than are listed.")


def record_import_wire(done: RecordImport) -> Values:
    return {
        "type": "record_import",
        "format": done.format,
        "dry_run": done.dry_run,
        "added": done.added,
        "present": done.present,
        "forgotten": done.forgotten,
        "uncertain": done.uncertain,
        "left_out": done.left_out,
        "refused": done.refused,
        "left": done.left,
        "stopped": done.stopped,
        "refusals": [{"where": one.where, "reason": one.reason} for one in done.refusals],
        "has_more": done.refused > len(done.refusals),
    }

"""Tenancy in the foreign keys; histories that only grow, heads and pins that only go on."""

from django.contrib.postgres.operations import BtreeGinExtension
from django.db import migrations

from memoryhub.schema import composite_foreign_key, refuse_changes

SPACE_COLUMNS = "{sequence,operation_sha256,graph_revision_sha256,records_sha256,purge_receipt}"
# A head goes on by one, or the space is emptied and keeps it.
SPACE_UPDATE = f"""
    OLD.purge_receipt IS NULL
    AND to_jsonb(NEW) - '{SPACE_COLUMNS}'::text[] = to_jsonb(OLD) - '{SPACE_COLUMNS}'::text[]
    AND (NEW.sequence = OLD.sequence + 1 AND NEW.purge_receipt IS NULL
         OR (NEW.sequence, NEW.operation_sha256, NEW.graph_revision_sha256, NEW.records_sha256)
            IS NOT DISTINCT FROM
            (OLD.sequence, OLD.operation_sha256, OLD.graph_revision_sha256, OLD.records_sha256))
"""
ENVIRONMENT_GONE = "NOT EXISTS (SELECT 1 FROM memoryhub_environment WHERE id = OLD.environment_id)"
SPACE_EMPTIED = """
    NOT EXISTS (SELECT 1 FROM authority_space WHERE id = OLD.space_id AND purge_receipt IS NULL)
"""
VERSION_ENDED = """
    OLD.to_sequence IS NULL AND NEW.to_sequence > OLD.from_sequence
    AND to_jsonb(NEW) - 'to_sequence' = to_jsonb(OLD) - 'to_sequence'
"""
AUTHORITY_GONE = "NOT EXISTS (SELECT 1 FROM authority_authority WHERE id = OLD.authority_id)"
PIN_COLUMNS = (
    "{pin_sequence,pin_operation_sha256,pin_graph_revision_sha256,pin_records_sha256,next_ordinal}"
)
PIN_MOVES_ON = f"""
    to_jsonb(NEW) - '{PIN_COLUMNS}'::text[] = to_jsonb(OLD) - '{PIN_COLUMNS}'::text[]
    AND NEW.next_ordinal >= OLD.next_ordinal
    AND (NEW.pin_sequence > OLD.pin_sequence
         OR (NEW.pin_sequence, NEW.pin_operation_sha256, NEW.pin_graph_revision_sha256, NEW.pin_records_sha256)
            IS NOT DISTINCT FROM
            (OLD.pin_sequence, OLD.pin_operation_sha256, OLD.pin_graph_revision_sha256, OLD.pin_records_sha256))
"""
CALL_GOES_ON = """
    OLD.state IN ('queued', 'running')
    AND to_jsonb(NEW) - '{state,attempt,started_at,finished_at,receipt_sha256,error}'::text[]
      = to_jsonb(OLD) - '{state,attempt,started_at,finished_at,receipt_sha256,error}'::text[]
    AND (OLD.state, NEW.state) IN
        (('queued', 'running'), ('queued', 'withdrawn'), ('running', 'succeeded'), ('running', 'failed'))
"""
DECISION_COLUMNS = "{state,note,decided_at,decided_by_type,decided_by_id}"
NOMINATION_DECIDED = (
    f"to_jsonb(NEW) - '{DECISION_COLUMNS}'::text[] = to_jsonb(OLD) - '{DECISION_COLUMNS}'::text[]"
)
CHILDREN = (
    "turn",
    "clock",
    "route",
    "program",
    "nomination",
    "hostcall",
    "receipt",
    "explanation",
)


class Migration(migrations.Migration):
    dependencies = [("authority", "0001_initial"), ("memoryhub", "0002_guards")]
    operations = [
        BtreeGinExtension(),
        composite_foreign_key(
            "authority_space", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        composite_foreign_key("authority_operation", ["project_id", "space_id"], "authority_space", on_delete="CASCADE"),
        composite_foreign_key(
            "authority_recordversion", ["project_id", "space_id"], "authority_space", on_delete="CASCADE"
        ),
        composite_foreign_key(
            "authority_authority", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        composite_foreign_key(
            "authority_authority", ["project_id", "canonical_id"], "authority_space", on_delete="NO ACTION"
        ),
        composite_foreign_key(
            "authority_authority", ["project_id", "working_id"], "authority_space", on_delete="NO ACTION"
        ),
        composite_foreign_key(
            "authority_nomination", ["project_id", "environment_id"], "memoryhub_environment", on_delete="CASCADE"
        ),
        *(
            composite_foreign_key(
                f"authority_{child}", ["project_id", "authority_id"], "authority_authority", on_delete="CASCADE"
            )
            for child in CHILDREN
        ),
        refuse_changes("authority_space", unless_update=SPACE_UPDATE, unless_delete=ENVIRONMENT_GONE),
        refuse_changes("authority_operation", unless_update="false", unless_delete=SPACE_EMPTIED),
        refuse_changes("authority_recordversion", unless_update=VERSION_ENDED, unless_delete=SPACE_EMPTIED),
        refuse_changes("authority_authority", unless_update=PIN_MOVES_ON, unless_delete="true"),
        refuse_changes("authority_hostcall", unless_update=CALL_GOES_ON, unless_delete=AUTHORITY_GONE),
        refuse_changes("authority_receipt", unless_update="false", unless_delete=AUTHORITY_GONE),
        refuse_changes("authority_route", unless_update="false", unless_delete=AUTHORITY_GONE),
        refuse_changes("authority_program", unless_update="false", unless_delete=AUTHORITY_GONE),
        refuse_changes("authority_nomination", unless_update=NOMINATION_DECIDED, unless_delete=AUTHORITY_GONE),
        # A snapshot reads the records of one space in the order of their keys.
        migrations.RunSQL(
            "CREATE INDEX recordversion_search ON authority_recordversion USING gin (space_id, search)",
            "DROP INDEX recordversion_search",
        ),
    ]

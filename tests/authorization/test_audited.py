"""Every audit action is reached: by the operation that writes it, or by a person's own verb."""

from collections.abc import Callable

import pytest

from memoryhub import accounts, audit, mail_wishes
from memoryhub.audit import AuditAction
from memoryhub.models import AuditEvent
from providers import external_partitions
from stores import freezes, memory_stores
from tests.authorization.attempts import attempt_on
from tests.authorization.conftest import Plots
from tests.authorization.credentials import OWNER
from tests.authorization.plots import Plot
from tests.documented import DocumentedOperation, documented_operations
from tests.stores.aged import age_memory
from tests.stores.shelf import Shelf

# What each changing operation writes. An operation that is missing here fails.
AUDITED = {
    "projects.create": AuditAction.PROJECT_CREATED,
    "projects.update": AuditAction.PROJECT_UPDATED,
    "environments.create": AuditAction.ENVIRONMENT_CREATED,
    "environments.update": AuditAction.ENVIRONMENT_UPDATED,
    "members.update": AuditAction.MEMBER_ROLE_CHANGED,
    "members.remove": AuditAction.MEMBER_REMOVED,
    "invitations.create": AuditAction.INVITATION_CREATED,
    "invitations.revoke": AuditAction.INVITATION_REVOKED,
    "api_keys.create": AuditAction.API_KEY_CREATED,
    "api_keys.rotate": AuditAction.API_KEY_ROTATED,
    "api_keys.revoke": AuditAction.API_KEY_REVOKED,
    "memory_stores.create": AuditAction.MEMORY_STORE_CREATED,
    "memory_stores.update": AuditAction.MEMORY_STORE_UPDATED,
    "memory_stores.archive": AuditAction.MEMORY_STORE_ARCHIVED,
    "memory_stores.delete": AuditAction.MEMORY_STORE_DELETED,
    "memory_stores.import": AuditAction.MEMORY_STORE_IMPORTED,
    "retention.set": AuditAction.RETENTION_CHANGED,
    "retention.run": AuditAction.OLD_VERSIONS_REMOVED,
    "memory_stores.freeze": AuditAction.MEMORY_STORE_FROZEN,
    "memory_stores.unfreeze": AuditAction.MEMORY_STORE_UNFROZEN,
    "memories.create": AuditAction.MEMORY_CREATED,
    "memories.update": AuditAction.MEMORY_UPDATED,
    "memories.delete": AuditAction.MEMORY_DELETED,
    "memories.freeze": AuditAction.MEMORY_FROZEN,
    "memories.unfreeze": AuditAction.MEMORY_UNFROZEN,
    "files.put": AuditAction.MEMORY_UPDATED,
    "files.delete": AuditAction.MEMORY_DELETED,
    "memory_versions.redact": AuditAction.MEMORY_VERSION_REDACTED,
    "memory_versions.restore": AuditAction.MEMORY_RESTORED,
    "redactions.create": AuditAction.TEXT_REDACTED,
    "environments.delete": AuditAction.ENVIRONMENT_DELETED,
    "secrets.put": AuditAction.SECRET_CREATED,
    "secrets.delete": AuditAction.SECRET_DELETED,
    "webhooks.create": AuditAction.WEBHOOK_CREATED,
    "webhooks.update": AuditAction.WEBHOOK_UPDATED,
    "webhooks.delete": AuditAction.WEBHOOK_DELETED,
    "webhooks.rotate": AuditAction.WEBHOOK_ROTATED,
    "webhooks.test": AuditAction.WEBHOOK_TESTED,
    "webhooks.replay": AuditAction.WEBHOOK_REPLAYED,
    "webhook_deliveries.replay": AuditAction.WEBHOOK_REPLAYED,
    "deployments.create": AuditAction.DEPLOYMENT_CREATED,
    "deployments.promote": AuditAction.DEPLOYMENT_PROMOTED,
    "memory_resources.declare": AuditAction.DEPLOYMENT_PROMOTED,
    "memory_documents.put": AuditAction.MEMORY_UPDATED,
    "memory_documents.update": AuditAction.DOCUMENT_CHANGED,
    "memory_documents.delete": AuditAction.MEMORY_DELETED,
    "sessions.create": AuditAction.SESSION_CREATED,
    "sessions.start_on_document": AuditAction.SESSION_CREATED,
    "sessions.end": AuditAction.SESSION_ENDED,
    "session_tokens.create": AuditAction.SESSION_TOKEN_CREATED,
    "session_tokens.revoke": AuditAction.SESSION_TOKEN_REVOKED,
    "work.queue": AuditAction.WORK_QUEUED,
    "work.poll": AuditAction.WORK_CLAIMED,
    "work.stop": AuditAction.WORK_STOPPED,
    "sessions.delete": AuditAction.SESSION_DELETED,
    "bindings.revoke": AuditAction.BINDING_REVOKED,
    "tool_calls.create": AuditAction.MEMORY_UPDATED,  # what a model saved
    "http_operations.cancel": AuditAction.HTTP_OPERATION_CANCELLED,
    "model_requests.cancel": AuditAction.HTTP_OPERATION_CANCELLED,
    "endpoints.create": AuditAction.ENDPOINT_CREATED,
    "endpoints.update": AuditAction.ENDPOINT_UPDATED,
    "endpoints.delete": AuditAction.ENDPOINT_DELETED,
    "endpoint_credentials.create": AuditAction.ENDPOINT_CREDENTIAL_CREATED,
    "endpoint_credentials.revoke": AuditAction.ENDPOINT_CREDENTIAL_REVOKED,
    "external_partitions.freeze": AuditAction.EXTERNAL_PARTITION_FROZEN,
    "external_partitions.unfreeze": AuditAction.EXTERNAL_PARTITION_UNFROZEN,
    "external_partitions.delete": AuditAction.EXTERNAL_PARTITION_DELETED,
    "external_records.update": AuditAction.EXTERNAL_RECORD_UPDATED,
    "external_records.delete": AuditAction.EXTERNAL_RECORD_DELETED,
    "external_items.delete": AuditAction.EXTERNAL_ITEM_DELETED,
    "records.save": AuditAction.RECORD_SAVED,
    "records.forget": AuditAction.RECORD_FORGOTTEN,
    "records.import": AuditAction.RECORDS_IMPORTED,
    "record_effects.resolve": AuditAction.EFFECT_RESOLVED,
    "record_writes.approve": AuditAction.RECORD_WRITE_APPROVED,
    "record_writes.reject": AuditAction.RECORD_WRITE_REJECTED,
    "spaces.create": AuditAction.SPACE_CREATED,
    "spaces.commit": AuditAction.SPACE_COMMITTED,
    "spaces.purge": AuditAction.SPACE_PURGED,
    "authorities.create": AuditAction.AUTHORITY_CREATED,
    "authorities.delete": AuditAction.AUTHORITY_DELETED,
    "authorities.remember": AuditAction.AGENT_REMEMBERED,
    "authorities.advance": AuditAction.HOST_CALL_SUBMITTED,
    "authorities.adopt": AuditAction.HOST_CALL_SUBMITTED,
    "authorities.nominate": AuditAction.NOMINATION_ARRIVED,
    "authorities.nominate_memory": AuditAction.NOMINATION_ARRIVED,
    "authorities.nominate_record": AuditAction.NOMINATION_ARRIVED,
    "host_calls.withdraw": AuditAction.HOST_CALL_WITHDRAWN,
    "host_calls.resend": AuditAction.HOST_CALL_SUBMITTED,
    "nominations.decide": AuditAction.NOMINATION_DECIDED,
}
# What is its own record, and writes no audit row.
NOT_AUDITED = {
    "projects.delete": "the trail goes with its project; the hub's log says who deleted it",
    "work.ack": "the trail says who took the item, and the item when it was acknowledged",
    "work.heartbeat": "one comes every few seconds; the item says when the last one did",
    "work.update": "metadata say nothing of what the hub keeps or does",
    "session_events.create": "an event is a row of a log itself",
    "model_requests.create": "the request is kept with what was given, and an event says so",
    "model_requests.select": "the selection stands in the request, and is made once",
    "authorities.query": "it leaves nothing but a token that explains its rows for a while",
    "authorities.explain": "it moves nothing but a clock; another result's digest revokes the token",
}
OF_A_SECOND_TIME = {AuditAction.SECRET_CHANGED}
# Tests of the authority reach this: the end of a call in its turn.
OF_AUTHORITIES = {AuditAction.HOST_CALL_FINISHED}
# Tests of webhooks reach this: what a worker finds out.
OF_WEBHOOKS = {AuditAction.WEBHOOK_DISABLED}
OF_PEOPLE = {
    AuditAction.MAIL_WISHES_CHANGED,
    AuditAction.MEMBER_JOINED,
    AuditAction.PASSWORD_CHANGED,
    AuditAction.USER_RENAMED,
}
WRITING = [
    operation
    for operation in documented_operations()
    if operation.rights.writes and operation.rights.name not in NOT_AUDITED
]


def _freeze(plot: Plot) -> None:
    memory_stores.freeze_store(plot.store_id, actor=plot.tenant.actor)


def _age(plot: Plot) -> None:
    age_memory(Shelf(plot.store_id, plot.tenant.actor), "/old", [900, 800])


def _freeze_memory(plot: Plot) -> None:
    freezes.freeze_memory(plot.store_id, plot.memory_id, actor=plot.tenant.actor)


def _freeze_partition(plot: Plot) -> None:
    external_partitions.freeze_partition(plot.endpoint_id, plot.partition_id, actor=plot.tenant.actor)


BEFORE: dict[str, Callable[[Plot], None]] = {
    "external_partitions.unfreeze": _freeze_partition,
    "memory_stores.unfreeze": _freeze,
    "retention.run": _age,
    "memories.unfreeze": _freeze_memory,
}


def check_audited(operation: DocumentedOperation, plot: Plot) -> None:
    """Raises: AssertionError for a change without its audit row."""
    name = operation.rights.name
    BEFORE.get(name, lambda plot: None)(plot)
    seen = set(AuditEvent.objects.values_list("id", flat=True))
    answer = attempt_on(operation, plot).made_by(plot.callers[OWNER.kind])
    assert answer.status == operation.status, answer.content
    written = AuditEvent.objects.exclude(id__in=seen).filter(action=AUDITED[name])
    assert [event.request_id for event in written] == [answer.headers["request-id"]], "UNAUDITED"
    assert {event.actor_type for event in written} <= {"api_actor", "user_actor", "session_actor"}


@pytest.mark.parametrize("operation", WRITING, ids=lambda operation: operation.name)
def test_a_changing_operation_writes_its_audit_row(plots: Plots, operation: DocumentedOperation) -> None:
    check_audited(operation, plots.mine)


@pytest.mark.parametrize("operation", WRITING, ids=lambda operation: operation.name)
def test_a_planted_change_without_its_audit_row_is_found(
    plots: Plots, operation: DocumentedOperation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "record", lambda *args, **kwargs: None)
    with pytest.raises(AssertionError, match="UNAUDITED"):
        check_audited(operation, plots.mine)


def test_a_person_who_joins_or_changes_a_name_or_password_is_noted(plots: Plots) -> None:
    accounts.change_name(plots.mine.tenant.owner.id, name="Another")
    accounts.change_password(
        plots.mine.tenant.owner, current="correct horse battery", new="another horse battery"
    )
    [wish] = mail_wishes.list_wishes(plots.mine.tenant.owner.id)
    mail_wishes.change_wishes(wish.membership.user_id, wish.membership.wire_id, topics=["needs_person"])
    of_project = AuditEvent.objects.filter(project=plots.mine.tenant.project)
    assert set(of_project.values_list("action", flat=True)) >= OF_PEOPLE | OF_AUTHORITIES  # of the plot


def test_a_changed_secret_is_noted(plots: Plots) -> None:
    put = next(operation for operation in WRITING if operation.name == "secrets.put")
    for _ in range(2):
        attempt_on(put, plots.mine).made_by(plots.mine.callers[OWNER.kind])
    of_project = AuditEvent.objects.filter(project=plots.mine.tenant.project)
    assert set(of_project.values_list("action", flat=True)) >= OF_A_SECOND_TIME


def test_every_action_is_reached_by_a_test_of_this_file() -> None:
    assert {operation.rights.name for operation in WRITING} == AUDITED.keys()
    changing = {operation.rights.name for operation in documented_operations() if operation.rights.writes}
    assert NOT_AUDITED.keys() <= changing
    assert (
        set(AuditAction)
        == set(AUDITED.values()) | OF_PEOPLE | OF_A_SECOND_TIME | OF_AUTHORITIES | OF_WEBHOOKS
    )

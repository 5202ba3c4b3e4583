"""Deleting an environment or a project leaves no row here. Promise E4; contract, section 12.5."""

from django.apps import apps
from django.db import connection

from memoryhub import deletions, secrets
from memoryhub.models import Environment, Project
from stores import memories, memory_stores
from stores.attachments import WantedStore
from tests.providers.desk import Desk
from tests.world import Tenant


def rows_of(tenant: Tenant) -> dict[str, int]:
    """Table -> rows that carry the project, of every table that can."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            if any(field.column == "project_id" for field in model._meta.concrete_fields):
                table = model._meta.db_table
                cursor.execute(f"SELECT count(*) FROM {table} WHERE project_id = %s", [tenant.project.id])
                found[table] = cursor.fetchone()[0]
    return found


def fill(desk: Desk) -> None:
    """Rows in every table that sessions and documents use."""
    desk.put()
    desk.put("gone")
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=desk.actor
    )
    memories.create_memory(store.wire_id, path="/a", content="x", actor=desk.actor)
    session = desk.open(stores=[WantedStore(store.wire_id, "read_write", None)])
    request = desk.begin(session)
    desk.save(session, request, "Saved.")
    secrets.put_secret(
        environment="development",
        name="TOKEN",
        agent_id="",
        value="canary",
        allowed_origins=["https://a.example"],
        actor=desk.actor,
    )


def test_a_deleted_project_leaves_no_row(desk: Desk) -> None:
    fill(desk)
    used = {table for table, count in rows_of(desk.tenant).items() if count}
    assert {"providers_toolcall", "stores_attachment", "memoryhub_secret", "memoryhub_auditevent"} <= used
    deletions.delete_project(
        desk.tenant.project.wire_id, expected_name=desk.tenant.project.name, actor=desk.actor
    )
    connection.check_constraints()
    assert {table: count for table, count in rows_of(desk.tenant).items() if count} == {}
    assert not Project.objects.filter(id=desk.tenant.project.id).exists()


def test_a_deleted_environment_leaves_the_others_rows(desk: Desk) -> None:
    fill(desk)
    deletions.delete_environment("development", expected_name="development", actor=desk.actor)
    connection.check_constraints()
    left = {table for table, count in rows_of(desk.tenant).items() if count}
    assert left <= {
        "memoryhub_environment",
        "memoryhub_membership",
        "memoryhub_apikey",
        "memoryhub_auditevent",
        "memoryhub_usage",
        "providers_deployment",
    }
    assert Environment.objects.get(project=desk.tenant.project).name == "production"

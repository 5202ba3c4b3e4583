from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from tests.world import Caller, Tenant, make_tenant


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_create_key_prints_a_working_key_and_nothing_else(tenant: Tenant) -> None:
    printed = run(
        "create_key", "--project", tenant.project.name, "--environment", "development", "--scope", "read"
    )
    assert printed == printed.strip() + "\n"
    assert Caller(printed.strip())("GET", "/v1/memory_stores").status == 200


def test_create_key_takes_ids_and_agent_stores(tenant: Tenant, store_id: str) -> None:
    printed = run(
        *("create_key", "--project", tenant.project.wire_id, "--environment", tenant.development.wire_id),
        *("--scope", "agent", "--store", f"{store_id}:read_only"),
    )
    agent = Caller(printed.strip())
    assert agent("GET", f"/v1/memory_stores/{store_id}").status == 200
    assert (
        agent("POST", f"/v1/memory_stores/{store_id}/memories", {"path": "/a", "content": ""}).status == 403
    )


def test_create_key_says_in_one_sentence_what_is_wrong(tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="no project nowhere"):
        run("create_key", "--project", "nowhere", "--scope", "read")
    twin = make_tenant(tenant.project.name + "-twin")
    twin.project.name = tenant.project.name
    twin.project.save(update_fields=["name"])
    with pytest.raises(CommandError, match="give the id of one"):
        run("create_key", "--project", tenant.project.name, "--scope", "read")
    with pytest.raises(CommandError, match="environment was not found"):
        run("create_key", "--project", tenant.project.wire_id, "--environment", "x", "--scope", "read")


def test_sign_in_link_prints_a_link_that_works_once(tenant: Tenant) -> None:
    link = run("sign_in_link", tenant.owner.email.upper()).strip()
    path = "/" + link.partition("//")[2].partition("/")[2]
    assert Client().post(path).status_code == 302
    assert Client().post(path).status_code == 410
    with pytest.raises(CommandError, match="Nobody has"):
        run("sign_in_link", "nobody@example.com")

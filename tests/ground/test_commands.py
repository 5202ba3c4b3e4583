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


def test_create_key_names_the_records_of_an_agents_key(tenant: Tenant) -> None:
    place = ("create_key", "--project", tenant.project.wire_id, "--environment", "development")
    agent = Caller(run(*place, "--scope", "agent", "--records", "support", "api", "alice").strip())
    saved = agent("POST", "/v1/records/save", {"text": "Alice rows."}, headers={"Idempotency-Key": "k1"})
    assert saved.status == 201, saved.body
    found = agent("POST", "/v1/records/search", {"query": "rows"}).body
    assert "Alice rows." in str(found)
    with pytest.raises(CommandError, match="only an agent key"):
        run(*place, "--scope", "read", "--records", "support", "api", "alice")
    run(*place, "--scope", "agent", "--records", "support", "api", "a" * 256)
    for wrong in ("a" * 257, "", "a\0"):
        with pytest.raises(CommandError, match="1 to 256 characters"):
            run(*place, "--scope", "agent", "--records", "support", "api", wrong)


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

"""What the owner of an endpoint does over REST, and what a hub forgets by itself."""

import json
from datetime import timedelta
from typing import Any

import pytest

from memoryhub.columns import ClockTimestamp
from providers import endpoint_calls
from providers.declarations import parse_manifest
from providers.models import EndpointOperation, ExternalItem, ExternalPartition, ExternalRecord
from tests.providers.test_endpoint_wire import Host, kept
from tests.world import Caller, Tenant


@pytest.fixture
def host(tenant: Tenant) -> Host:
    return Host(tenant)


@pytest.fixture
def url(host: Host) -> str:
    return f"/v1/endpoints/{host.id}"


def test_an_endpoint_comes_with_a_declaration_that_a_deployment_takes(call: Caller) -> None:
    made = call("POST", "/v1/endpoints", {"name": "facts"})
    assert made.status == 201
    declaration = made.body["declaration"]
    connection = declaration["connection"] | {"origin": "https://hub.example.com"}
    manifest = parse_manifest({"connections": [connection], "memory": [declaration["resource"]]})
    [resource] = manifest.resources.values()
    tools = resource.to_manifest()["provider"]["tools"]
    assert {tool["name"]: tool["idempotent"] for tool in tools} == {
        "search": False,
        "remember": True,
        "replace": True,
        "forget": True,
    }
    assert manifest.warnings == []
    assert call("POST", "/v1/endpoints", {"name": "facts"}).error_code == "endpoint_name_taken"


def test_a_token_is_shown_once(call: Caller, url: str) -> None:
    made = call("POST", f"{url}/credentials", {"name": "other host"})
    assert made.status == 201 and made.body["token"].startswith("mhe_")
    listed = call("GET", f"{url}/credentials")
    assert made.body["token"].rpartition("_")[2].encode() not in listed.content
    assert [one["name"] for one in listed.body["data"]] == ["other host", "host"]
    revoked = call("POST", f"{url}/credentials/{made.body['id']}/revoke").body
    again = call("POST", f"{url}/credentials/{made.body['id']}/revoke").body
    assert revoked == again and revoked["revoked_at"] is not None


def test_an_owner_sees_edits_and_takes_along_what_hosts_keep(call: Caller, host: Host, url: str) -> None:
    facts = ["The office cat is Miso.", "Coffee is on floor two."]
    ids = [host.remember(fact) for fact in facts]
    [partition] = call("GET", f"{url}/partitions").body["data"]
    assert (partition["partition"], partition["records"]) == ("p1", 2)
    assert partition["characters"] == sum(map(len, facts))
    inside = f"{url}/partitions/{partition['id']}"
    assert [one["id"] for one in call("GET", f"{inside}/records").body["data"]] == ids[::-1]
    exported = call("GET", f"{inside}/export")
    assert [json.loads(line)["text"] for line in exported.content.splitlines()] == facts

    def edit(**body: Any) -> Any:
        return call("PATCH", f"{inside}/records/{ids[0]}", body)

    assert edit(text="The cat is Nori.", expected_revision=9).error_code == "record_changed"
    assert edit(text="The cat is Nori.", expected_revision=1).body["revision"] == 3
    assert call("DELETE", f"{inside}/records/{ids[1]}").status == 200
    assert host.recall().body["text"] == "The cat is Nori."
    assert call("DELETE", inside).status == 200
    assert not kept(host, ExternalRecord) and not kept(host, EndpointOperation)
    assert host.recall().body["text"] == ""


def test_an_endpoint_goes_with_all_it_holds_when_its_name_is_given(
    call: Caller, host: Host, url: str
) -> None:
    host.remember("First.")
    assert call("DELETE", url, query={"expected_name": "other"}).status == 400
    assert call("DELETE", url, query={"expected_name": "facts"}).status == 200
    assert not kept(host, ExternalPartition) and not kept(host, ExternalRecord)
    assert host.recall().status == 401


def test_a_changed_endpoint_limits_its_recall(call: Caller, host: Host, url: str) -> None:
    host.remember("First.")
    assert call("PATCH", url, {"bytes_max": 3, "retention_days": 30}).body["bytes_max"] == 3
    assert host.recall().body["text"] == ""


def test_records_and_answers_go_when_their_time_is_over(call: Caller, host: Host, url: str) -> None:
    host.remember("Old.", operationId="old")
    host.remember("New.")
    old = kept(host, ExternalRecord).get(text="Old.")
    month_ago = ClockTimestamp() - timedelta(days=31)
    ExternalRecord.objects.filter(id=old.id).update(changed_at=month_ago)
    ExternalItem.objects.create(
        project_id=old.project_id, partition_id=old.partition_id, role="user", text="Hello."
    )
    kept(host, ExternalItem).update(created_at=month_ago)
    endpoint_calls.clear_expired()
    assert kept(host, ExternalRecord).count() == 2, "without a retention everything is kept"
    call("PATCH", url, {"retention_days": 30})
    kept(host, EndpointOperation).filter(operation_id="old").update(
        created_at=ClockTimestamp() - timedelta(hours=25)
    )
    endpoint_calls.clear_expired()
    assert [record.text for record in kept(host, ExternalRecord)] == ["New."]
    assert not kept(host, ExternalItem)
    assert kept(host, EndpointOperation).count() == 1

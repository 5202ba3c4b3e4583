"""What the owner of an endpoint does over REST, and what a hub forgets by itself."""

import json
from datetime import timedelta
from typing import Any

import pytest

from memoryhub.columns import ClockTimestamp
from providers import endpoint_calls
from providers.declarations import parse_manifest
from providers.models import ExternalItem, ExternalRecord
from tests.providers.test_endpoint_wire import Host, items, operations, partitions, records
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
    assert made.body["token"].split("_", 2)[2].encode() not in listed.content
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
    assert records(host).count() == operations(host).count() == 0
    assert host.recall().body["text"] == ""


def test_ingested_items_are_listed_in_pages_and_deleted_one_by_one(
    call: Caller, host: Host, tenant: Tenant, url: str
) -> None:
    said = [("user", f"Hello {number}.") for number in range(3)]
    endpoint_calls.ingest(host.endpoint, "p1", said)
    endpoint_calls.ingest(host.endpoint, "p2", [("tool", "Elsewhere.")])
    partitions = {one["partition"]: one["id"] for one in call("GET", f"{url}/partitions").body["data"]}
    items = f"{url}/partitions/{partitions['p1']}/items"
    reader = Caller(tenant.new_key("read"))
    page = reader("GET", items, query={"limit": 2}).body
    assert [one["text"] for one in page["data"]] == ["Hello 2.", "Hello 1."] and page["has_more"]
    rest = reader("GET", items, query={"limit": 2, "page": page["next_page"]}).body
    assert [one["text"] for one in rest["data"]] == ["Hello 0."] and not rest["has_more"]
    assert rest["data"][0].keys() == {"id", "type", "role", "text", "created_at"}
    item_id = rest["data"][0]["id"]
    assert reader("DELETE", f"{items}/{item_id}").status == 403
    foreign = f"{url}/partitions/{partitions['p2']}/items"
    assert call("DELETE", f"{foreign}/{item_id}").status == 404
    assert reader("GET", foreign, query={"page": page["next_page"]}).status == 400
    assert call("DELETE", f"{items}/{item_id}").body == {"id": item_id, "type": "external_item_deleted"}
    assert call("DELETE", f"{items}/{item_id}").status == 404
    assert len(reader("GET", items).body["data"]) == 2


def test_an_endpoint_goes_with_all_it_holds_when_its_name_is_given(
    call: Caller, host: Host, url: str
) -> None:
    host.remember("First.")
    assert call("DELETE", url, query={"expected_name": "other"}).status == 400
    assert call("DELETE", url, query={"expected_name": "facts"}).status == 200
    assert partitions(host).count() == records(host).count() == 0
    assert host.recall().status == 401


def test_a_changed_endpoint_limits_its_recall(call: Caller, host: Host, url: str) -> None:
    host.remember("First.")
    assert call("PATCH", url, {"bytes_max": 3, "retention_days": 30}).body["bytes_max"] == 3
    assert host.recall().body["text"] == ""


def test_records_and_answers_go_when_their_time_is_over(call: Caller, host: Host, url: str) -> None:
    host.remember("Old.", operationId="old")
    host.remember("New.")
    old = records(host).get(text="Old.")
    month_ago = ClockTimestamp() - timedelta(days=31)
    ExternalRecord.objects.filter(id=old.id).update(changed_at=month_ago)
    ExternalItem.objects.create(
        project_id=old.project_id, partition_id=old.partition_id, role="user", text="Hello."
    )
    items(host).update(created_at=month_ago)
    endpoint_calls.clear_expired()
    assert records(host).count() == 2, "without a retention everything is kept"
    call("PATCH", url, {"retention_days": 30})
    operations(host).filter(operation_id="old").update(created_at=ClockTimestamp() - timedelta(hours=25))
    endpoint_calls.clear_expired()
    assert [record.text for record in records(host).all()] == ["New."]
    assert items(host).count() == 0
    assert operations(host).count() == 1

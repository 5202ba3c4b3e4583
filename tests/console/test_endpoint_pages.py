"""The pages of endpoints: made, called with a credential that is shown once, and what hosts keep looked after by the owner."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from memoryhub.columns import ClockTimestamp
from providers.declarations import parse_manifest
from providers.endpoint_calls import Incoming, answer_call
from providers.endpoint_erasures import sweep_erasures
from providers.limits import ENDPOINT_CREDENTIALS_MAX
from providers.models import (
    Endpoint,
    EndpointCredential,
    ExternalItem,
    ExternalPartition,
    ExternalRecord,
    RecordScope,
)
from tests.browser.example_services import keep_for_hosts
from tests.console.site import Site, add_person, form_of, sign_in
from tests.world import Tenant

FACT = "The boat is <b>blue</b>."
PARTITION = "k1.brandt-marine"
SHOWN_ONCE = re.compile(r"mhe_[0-9a-f]{32}_[\w-]+")


def text(answer: Any) -> str:
    return str(answer.content.decode())


class Kept:
    """An endpoint `facts` with one record, a live credential and a revoked one."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.known: dict[str, list[str]] = {}
        keep_for_hosts(self.known, "development", "facts", FACT, tenant.actor)
        self.path = f"/endpoints/{self.known['endpoint_id'][0]}"
        self.partition = f"{self.path}/partitions/{self.known['partition_id'][0]}"
        self.record = f"{self.partition}/records/{self.known['record_id'][0]}"
        self.credential = f"{self.path}/credentials/{self.known['credential_id'][0]}"

    def texts(self) -> list[str]:
        held = ExternalRecord.objects.filter(project=self.tenant.project).order_by("id")
        return list(held.values_list("text", flat=True))


@pytest.fixture
def kept(tenant: Tenant) -> Kept:
    return Kept(tenant)


def call(endpoint_id: str, token: str, **fields: Any) -> int:
    request = {
        "version": 1, "operation": "recall", "operationId": "2", "partition": PARTITION, "access": "read-write",
        "deadlineAt": "2126-01-01T00:00:00Z", "input": {"text": None}, "maxBytes": 100,
    } | fields  # fmt: skip
    body = json.dumps(request).encode()
    return answer_call(endpoint_id, Incoming(f"Bearer {token}", "application/json", body)).status


def remember(endpoint_id: str, token: str) -> int:
    tool = {"operation": "tool", "tool": "remember", "arguments": {"fact": "New."}}
    return call(endpoint_id, token, **tool)


def test_an_environment_without_endpoints_shows_the_call_that_makes_one(owner: Site) -> None:
    shown = text(owner.get("/endpoints"))
    assert "No endpoint yet" in shown
    assert "/v1/endpoints" in shown


def test_an_endpoint_is_made_given_a_credential_and_called(owner: Site, tenant: Tenant) -> None:
    made = owner.post("/endpoints/new", form_of(owner.get("/endpoints/new")) | {"name": "facts"})
    endpoint = Endpoint.objects.get(project=tenant.project)
    assert (endpoint.name, endpoint.bytes_max, endpoint.retention_days) == ("facts", 16_384, None)
    path = f"/endpoints/{endpoint.wire_id}"
    assert made["Location"] == f"{owner.base}{path}/credentials/new"
    assert "No credential is live, so no host can call this endpoint." in text(owner.get(path))
    form = form_of(owner.get(f"{path}/credentials/new")) | {"name": "the other host", "scope": "memory"}
    issued = text(owner.post(f"{path}/credentials/new", form))
    [token] = set(SHOWN_ONCE.findall(issued))
    assert "Declaration for the calling side" in issued
    assert call(endpoint.wire_id, token) == 200
    for shown in ("", path, f"{path}/credentials"):
        assert not SHOWN_ONCE.search(text(owner.get(shown)))
    assert "the other host" in text(owner.get(f"{path}/credentials"))
    listed = text(owner.get("/endpoints")).partition("<tbody>")[2]
    assert "facts" in listed
    assert "never" not in listed, "it was called"


def test_a_form_that_is_sent_twice_makes_one_credential(owner: Site, kept: Kept) -> None:
    for page in (f"{kept.path}/credentials/new", f"{kept.credential}/rotate"):
        before = EndpointCredential.objects.filter(project=owner.project).count()
        form = form_of(owner.get(page)) | {"name": "twice", "scope": "memory"}
        assert SHOWN_ONCE.search(text(owner.post(page, form)))
        again = owner.post(page, form)
        assert again.status_code == 409
        assert "was made already" in text(again)
        assert not SHOWN_ONCE.search(text(again))
        assert EndpointCredential.objects.filter(project=owner.project).count() == before + 1


def test_a_credential_is_rotated_without_a_gap_and_revoked(owner: Site, kept: Kept) -> None:
    [endpoint_id] = kept.known["endpoint_id"]
    shown = text(owner.post(f"{kept.credential}/rotate", form_of(owner.get(f"{kept.credential}/rotate"))))
    [token] = set(SHOWN_ONCE.findall(shown))
    assert f"{kept.credential}/revoke" in shown
    live = EndpointCredential.objects.filter(project=owner.project, revoked_at=None)
    assert {(one.name, one.scope) for one in live} == {("facts", "memory")}
    assert live.count() == 2
    assert "There is no way back" in text(owner.get(f"{kept.credential}/revoke"))
    owner.post(f"{kept.credential}/revoke")
    assert live.all().count() == 1
    assert call(endpoint_id, token) == 200
    assert "is revoked: there is nothing to change over from" in text(owner.get(f"{kept.credential}/rotate"))


def test_one_credential_more_than_there_may_be_is_refused(owner: Site, kept: Kept) -> None:
    [one] = EndpointCredential.objects.filter(project=owner.project, revoked_at=None)
    EndpointCredential.objects.bulk_create(
        EndpointCredential(
            project_id=one.project_id, endpoint_id=one.endpoint_id, name="more", scope="memory", token_sha256=bytes(32)
        )
        for _ in range(ENDPOINT_CREDENTIALS_MAX - 1)
    )  # fmt: skip
    page = f"{kept.path}/credentials/new"
    answer = owner.post(page, form_of(owner.get(page)) | {"name": "one more", "scope": "memory"})
    assert answer.status_code == 400
    assert "The endpoint has 100 credentials; revoke some first." in text(answer)
    EndpointCredential.objects.filter(project=owner.project, name="more").update(revoked_at=ClockTimestamp())
    assert owner.post(page, form_of(owner.get(page)) | {"name": "x", "scope": "ingest"}).status_code == 200


def test_the_declaration_is_what_a_deployment_takes(owner: Site, kept: Kept) -> None:
    with override_settings(BASE_URL="https://hub.example.com"):
        shown = text(owner.get(kept.path))
    pasted = json.loads(unescape(shown.partition('<code id="declaration">')[2].partition("</code>")[0]))
    manifest = parse_manifest({"connections": [pasted["connection"]], "memory": [pasted["resource"]]})
    assert manifest.connections["memoryhub"].origin == "https://hub.example.com"
    assert 'data-copy-text="declaration"' in shown
    assert "MEMORYHUB_BASE_URL" not in shown
    assert "MEMORYHUB_BASE_URL" in text(owner.get(kept.path)), "this one is at no https origin"


def test_a_changed_name_that_is_taken_is_refused_beside_its_field(owner: Site, kept: Kept) -> None:
    page = f"{kept.path}/settings"
    owner.post("/endpoints/new", {"name": "other", "bytes_max": "100"})
    for name, status in (("other", 400), ("x" * 65, 400), ("x" * 64, 302)):
        answer = owner.post(page, form_of(owner.get(page)) | {"name": name, "bytes_max": "50"})
        assert answer.status_code == status, name
    for field, value in (("bytes_max", "0"), ("bytes_max", "16385"), ("retention_days", "3651")):
        answer = owner.post(page, form_of(owner.get(page)) | {field: value})
        assert answer.status_code == 400, (field, value)
        assert f'id="id_{field}_error"' in text(answer)
    edges = {"bytes_max": "16384", "retention_days": "3650"}
    assert owner.post(page, form_of(owner.get(page)) | edges).status_code == 302
    changed = Endpoint.objects.get(project=owner.project, name="x" * 64)
    assert (changed.bytes_max, changed.retention_days) == (16_384, 3_650)


def test_an_endpoint_goes_when_its_name_is_typed(owner: Site, kept: Kept) -> None:
    page = f"{kept.path}/delete"
    refused = owner.post(page, {"typed_name": "fact"})
    assert refused.status_code == 400
    assert "Type facts to delete it." in text(refused)
    assert kept.texts() == [FACT]
    assert owner.post(page, {"typed_name": "facts"})["Location"] == f"{owner.base}/endpoints"
    assert not Endpoint.objects.filter(project=owner.project).exists()
    assert kept.texts() == []


# --- what hosts keep ---


def test_an_owner_looks_into_what_a_host_keeps(owner: Site, kept: Kept) -> None:
    listed = text(owner.get(f"{kept.path}/partitions"))
    assert PARTITION in listed
    assert f'<td class="number">1</td>\n      <td class="number minor">{len(FACT)}</td>' in listed
    shown = text(owner.get(kept.partition))
    assert "The boat is &lt;b&gt;blue" in shown
    assert "The boat is &lt;b&gt;blue" in text(owner.get(f"{kept.partition}/conversations"))
    exported = owner.get(f"{kept.partition}/export")
    [line] = b"".join(exported.streaming_content).splitlines()
    assert json.loads(line)["text"] == FACT
    assert exported["Content-Disposition"].startswith("attachment")


def test_a_frozen_partition_takes_no_write_of_a_host(owner: Site, kept: Kept) -> None:
    [endpoint_id] = kept.known["endpoint_id"]
    page = f"{kept.path}/credentials/new"
    issued = text(owner.post(page, form_of(owner.get(page)) | {"name": "host", "scope": "memory"}))
    [token] = set(SHOWN_ONCE.findall(issued))
    owner.post(f"{kept.partition}/freeze")
    assert "Hosts read this partition and write nothing in it." in text(owner.get(kept.partition))
    assert remember(endpoint_id, token) == 403
    owner.post(f"{kept.partition}/unfreeze")
    assert remember(endpoint_id, token) == 200
    assert kept.texts() == [FACT, "New."]


def test_a_record_is_edited_and_a_stale_edit_keeps_what_was_typed(owner: Site, kept: Kept) -> None:
    stale = form_of(owner.get(kept.record))
    assert stale["text"] == FACT
    assert owner.post(kept.record, stale | {"text": "The boat is red."}).status_code == 302
    answer = owner.post(kept.record, stale | {"text": "The boat is green."})
    assert answer.status_code == 409
    assert "nothing was saved" in text(answer)
    assert "The boat is red." in text(answer)
    again = form_of(answer)
    assert again["text"] == "The boat is green."
    assert owner.post(kept.record, again).status_code == 302
    assert kept.texts() == ["The boat is green."]
    for wrong in ("", "x" * 2_001):
        assert owner.post(kept.record, form_of(owner.get(kept.record)) | {"text": wrong}).status_code == 400
    assert owner.post(kept.record, form_of(owner.get(kept.record)) | {"text": "x" * 2_000}).status_code == 302


def test_a_record_that_changed_meanwhile_is_not_deleted(owner: Site, kept: Kept) -> None:
    page = f"{kept.record}/delete"
    shown = form_of(owner.get(page))
    owner.post(kept.record, form_of(owner.get(kept.record)) | {"text": "The boat is red."})
    answer = owner.post(page, shown)
    assert answer.status_code == 409
    assert "nothing was deleted" in text(answer)
    assert "The boat is red." in text(answer)
    assert owner.post(page).status_code == 400, "a form without its revision"
    assert owner.post(page, form_of(answer)).status_code == 302
    assert kept.texts() == []


def test_a_partition_goes_when_its_name_is_typed(owner: Site, kept: Kept) -> None:
    page = f"{kept.partition}/delete"
    assert owner.post(page, {"typed_name": "another"}).status_code == 400
    assert owner.post(page, {"typed_name": PARTITION})["Location"] == f"{owner.base}{kept.path}/partitions"
    assert not ExternalPartition.objects.filter(project=owner.project).exists()
    assert not ExternalItem.objects.filter(project=owner.project).exists()


# --- who may, where, and at what cost ---


def pages(kept: Kept) -> list[str]:
    ends = ["", "/settings", "/delete", "/credentials", "/credentials/new", "/partitions"]
    inner = ["", "/conversations", "/freeze", "/unfreeze", "/export", "/delete"]
    return [
        *(kept.path + end for end in ends),
        *(kept.partition + end for end in inner),
        *(kept.record + end for end in ("", "/delete")),
        *(kept.credential + end for end in ("/rotate", "/revoke")),
    ]


def test_an_endpoint_of_another_environment_is_not_there(
    tenant: Tenant, stranger: Tenant, kept: Kept
) -> None:
    for site in (
        sign_in(tenant.owner, tenant.project, "production"),
        sign_in(stranger.owner, stranger.project),
    ):
        for path in pages(kept):
            assert site.get(path).status_code in (404, 405), path
            assert site.post(path).status_code in (404, 405), path
        assert "facts" not in text(site.get("/endpoints")).partition("<main")[2].partition("<pre")[0]
    assert kept.texts() == [FACT]


def test_what_belongs_to_another_endpoint_is_not_there(owner: Site, kept: Kept) -> None:
    owner.post("/endpoints/new", {"name": "other", "bytes_max": "100"})
    other = f"/endpoints/{Endpoint.objects.get(project=owner.project, name='other').wire_id}"
    for path in pages(kept)[6:]:
        assert owner.get(path.replace(kept.path, other)).status_code in (404, 405), path


def test_roles_see_what_they_may(tenant: Tenant, kept: Kept) -> None:
    words = ("New endpoint", "New credential", "Freeze", "Edit<", "Delete", "Settings<", "Credentials<")
    may = {"viewer": set(), "developer": {"Freeze", "Edit<", "Delete"}}
    for role, wanted in may.items():
        site = sign_in(add_person(tenant, role), tenant.project)
        shown = "".join(
            text(site.get(path)).partition("<main")[2] for path in ("/endpoints", kept.path, kept.partition)
        )
        assert {word for word in words if word in shown} == wanted, role
        assert site.get(f"{kept.path}/credentials").status_code == 403


def test_the_audit_trail_leads_to_endpoints_and_what_they_hold(owner: Site, kept: Kept) -> None:
    owner.post(f"{kept.partition}/freeze")
    owner.post(kept.record, form_of(owner.get(kept.record)) | {"text": "Secret fact."})
    shown = text(owner.get("/audit"))
    assert f'href="{owner.base}{kept.path}"' in shown
    assert f'href="{owner.base}{kept.partition}"' in shown
    assert "a record</bdi>" in shown
    assert "Secret fact" not in shown


def grow(kept: Kept, count: int) -> None:
    """As many of everything that is listed."""
    [endpoint] = Endpoint.objects.filter(project=kept.tenant.project, name="facts")
    [partition] = ExternalPartition.objects.filter(project=endpoint.project, partition=PARTITION)
    of = {"project_id": endpoint.project_id}
    first = Endpoint.objects.filter(project=endpoint.project).count()
    names = [f"copy {number}" for number in range(first, first + count)]
    Endpoint.objects.bulk_create(
        Endpoint(**of, environment_id=endpoint.environment_id, name=name, created_by_type="user", created_by_id="")
        for name in names
    )  # fmt: skip
    EndpointCredential.objects.bulk_create(
        EndpointCredential(**of, endpoint=endpoint, name=name, scope="memory", token_sha256=bytes(32)) for name in names
    )  # fmt: skip
    ExternalPartition.objects.bulk_create(
        ExternalPartition(**of, endpoint=endpoint, partition=name) for name in names
    )
    ExternalRecord.objects.bulk_create(
        ExternalRecord(**of, partition=partition, text=name, revision=1) for name in names
    )
    ExternalItem.objects.bulk_create(
        ExternalItem(**of, partition=partition, role="user", text=name) for name in names
    )


def test_pages_cost_as_much_over_many(owner: Site, kept: Kept) -> None:
    listing = [
        "/endpoints",
        kept.path,
        f"{kept.path}/credentials",
        f"{kept.path}/partitions",
        kept.partition,
        f"{kept.partition}/conversations",
        f"{kept.path}/delete",
        f"{kept.partition}/delete",
    ]

    def count() -> dict[str, int]:
        found = {}
        for path in listing:
            with CaptureQueriesContext(connection) as queries:
                assert owner.get(path).status_code == 200
            found[path] = len(queries)
        return found

    grow(kept, 25)
    some = count()
    grow(kept, 300)
    assert count() == some


@pytest.mark.parametrize("end", ["/credentials", "/partitions", "", "/conversations"])
def test_lists_are_paged_by_cursor(owner: Site, kept: Kept, end: str) -> None:
    grow(kept, 23)
    base = kept.partition if end in ("", "/conversations") else kept.path
    first = owner.get(base + end)
    following = text(first).partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = owner.client.get(following.replace("&amp;", "&"))
    shown = text(first) + text(second)
    assert all(f"copy {number}<" in shown for number in range(1, 24))
    assert 'rel="next"' not in text(second)
    assert owner.get(base + end, page="page_forged").status_code == 400


# --- records of a memory provider ---


def test_an_endpoint_over_the_memory_provider_is_made_and_looked_into(owner: Site, tenant: Tenant) -> None:
    page = "/endpoints/new"
    assert "The memory provider of this environment, local: as records" in unescape(text(owner.get(page)))
    asked = {"name": "facts", "backing": "provider", "bytes_max": "8192"}
    assert owner.post(page, asked | {"backing": "other"}).status_code == 400
    owner.post(page, asked)
    endpoint = Endpoint.objects.get(project=tenant.project)
    path = f"/endpoints/{endpoint.wire_id}"
    shown = text(owner.get(path))
    assert "with the memory provider <code>local</code> of this environment, in this hub" in shown
    declared = json.loads(unescape(shown.partition('<code id="declaration">')[2].partition("</code>")[0]))
    names = [tool["name"] for tool in declared["resource"]["provider"]["tools"]]
    assert names == ["search", "remember", "forget"]
    assert "with the memory provider" in text(owner.get("/endpoints"))
    form = form_of(owner.get(f"{path}/credentials/new")) | {"name": "host", "scope": "memory"}
    [token] = set(SHOWN_ONCE.findall(text(owner.post(f"{path}/credentials/new", form))))
    assert remember(endpoint.wire_id, token) == 200
    partition = ExternalPartition.objects.get(project=tenant.project)
    inside = f"{path}/partitions/{partition.wire_id}"
    scope = RecordScope.objects.get(project=tenant.project)
    looked = text(owner.get(inside))
    assert f'href="{owner.base}/records/scopes/{scope.wire_id}"' in looked
    assert "1 record." in " ".join(looked.split()) and f"{inside}/export" not in looked
    assert "New." in text(owner.get(f"/records/scopes/{scope.wire_id}"))
    assert owner.get(f"{inside}/export").status_code == 409
    refused = owner.post(f"{path}/delete", {"typed_name": "facts"})
    assert refused.status_code == 400 and "delete its partitions first" in text(refused)
    assert "forgets one by one" in text(owner.get(f"{inside}/delete"))
    owner.post(f"{inside}/delete", {"typed_name": PARTITION})
    for page in (inside, f"{path}/partitions"):
        looked = text(owner.get(page))
        assert "Being deleted" in looked and "Freeze" not in looked
    sweep_erasures()
    assert owner.get(inside).status_code == 404
    assert owner.post(f"{path}/delete", {"typed_name": "facts"}).status_code == 302

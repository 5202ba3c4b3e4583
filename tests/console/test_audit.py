"""The page of the audit trail: what was done is found by who, what, which thing and when; the whole of it is a file."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub import audit, invitations, members
from memoryhub.audit import AuditAction
from memoryhub.audit_forms import action_words
from memoryhub.models import AuditEvent, Membership
from stores import memory_stores, memory_versions
from tests.console.site import Site, add_person, sign_in
from tests.stores.shelf import Shelf
from tests.world import Tenant

_ROW = re.compile(r"<tr>\s*<td>(.*?)</tr>", re.DOTALL)


def rows(site: Site, **query: str) -> list[str]:
    answer = site.get("/audit", **query)
    assert answer.status_code == 200, answer.content
    return _ROW.findall(answer.content.decode().partition("<tbody>")[2])


@pytest.fixture
def busy(tenant: Tenant, shelf: Shelf) -> Iterator[Shelf]:
    """One of each kind of thing was changed."""
    memory = shelf.put("/tea.md", "green tea")
    shelf.update(memory, content="black tea")
    memory_versions.redact_version(
        shelf.store_id, shelf.versions()[1].wire_id, reason=None, actor=tenant.actor
    )
    issued = invitations.create_invitation(email="ann@example.com", role="viewer", actor=tenant.actor)
    invitations.accept_invitation(issued.token, name="Ann", password="correct horse battery")
    yield shelf


def test_changes_are_said_in_words_with_links_to_what_is_there(
    owner: Site, tenant: Tenant, busy: Shelf
) -> None:
    shown = "".join(rows(owner))
    for words in ("Memory created", "Memory version redacted", "Member joined", "API key created"):
        assert words in shown
    memory = busy.versions()[0].memory_wire_id
    assert f'href="{owner.base}/stores/{busy.store_id}/memories/{memory}"><bdi>/tea.md</bdi>' in shown
    assert f'href="{owner.base}/stores/{busy.store_id}"><bdi>Notes</bdi>' in shown
    assert ">Ann</bdi>" in shown
    memory_stores.delete_store(busy.store_id, actor=tenant.actor)
    after = "".join(rows(owner))
    assert "/stores/" not in after
    assert "gone" in after


def test_nothing_of_a_redacted_text_is_shown(owner: Site, busy: Shelf) -> None:
    shown = owner.get("/audit").content.decode()
    assert "green" not in shown
    assert "black" not in shown


def test_what_a_thing_links_to_answers(owner: Site, busy: Shelf) -> None:
    links = set(re.findall(rf'href="({owner.base}/[^"?]+)"', "".join(rows(owner))))
    assert len(links) >= 5
    assert {link: owner.client.get(link).status_code for link in links} == dict.fromkeys(links, 200)


def test_a_link_leads_into_the_things_own_environment(owner: Site, tenant: Tenant) -> None:
    made = memory_stores.create_store(
        environment="production", name="There", description="", metadata={}, actor=tenant.actor
    )
    assert f"/production/stores/{made.wire_id}" in rows(owner)[0]


def test_the_trail_is_filtered(owner: Site, tenant: Tenant, busy: Shelf) -> None:
    ann = Membership.objects.get(user__name="Ann")
    assert len(rows(owner, actor="ann")) == len(rows(owner, actor=" ANN@example.com ")) == 1
    assert "Member joined" in rows(owner, actor=ann.user.wire_id)[0]
    assert len(rows(owner, action="memory.updated")) == 1
    store = rows(owner, subject_id=busy.store_id)
    assert len(store) == 1
    assert "Memory store created" in store[0]
    today = AuditEvent.objects.latest("number").created_at.date().isoformat()
    assert len(rows(owner, first_day=today, last_day=today)) > 5
    assert rows(owner, last_day="9999-12-31") == rows(owner)
    assert rows(owner, last_day="2020-01-01") == []
    assert rows(owner, first_day="2999-01-01") == []


def test_one_who_left_is_found_by_id(owner: Site, tenant: Tenant, busy: Shelf) -> None:
    ann = Membership.objects.get(user__name="Ann")
    members.remove_member(ann.wire_id, actor=tenant.actor)
    assert len(rows(owner, actor=ann.user.wire_id)) == 1


@pytest.mark.parametrize(
    ("query", "beside"),
    [
        ({"actor": "nobody of this name"}, "id_actor_error"),
        ({"action": "memory.invented"}, "id_action_error"),
        ({"subject_id": "m" * 65}, "id_subject_id_error"),
        ({"first_day": "yesterday"}, "id_first_day_error"),
        ({"last_day": "2026-13-01"}, "id_last_day_error"),
    ],
)
def test_a_filter_that_cannot_be_read_is_said_beside_its_field(
    owner: Site, query: dict[str, str], beside: str
) -> None:
    answer = owner.get("/audit", **query)
    assert answer.status_code == 400
    assert re.findall(r'class="problem" id="(\w+)"', answer.content.decode()) == [beside]


def test_pages_follow_each_other_without_gap(owner: Site, shelf: Shelf) -> None:
    for number in range(45):
        shelf.put(f"/{number}.md")
    seen: list[str] = []
    page: str | None = ""
    while page is not None:
        query = {"action": "memory.created"} | ({"page": page} if page else {})
        shown = owner.get("/audit", **query).content.decode()
        seen += re.findall(r"<bdi>/(\d+)\.md</bdi>", shown)
        following = re.search(r'[?;]page=([^"&]+)" rel="next"', shown)
        page = following[1] if following else None
    assert seen == [str(number) for number in range(44, -1, -1)]
    assert owner.get("/audit", page="page_nonsense").status_code == 400


def test_another_project_is_not_in_it(owner: Site, stranger: Tenant, busy: Shelf) -> None:
    theirs = sign_in(stranger.owner, stranger.project)
    shown = theirs.get("/audit").content.decode()
    assert busy.store_id not in shown
    assert rows(theirs, subject_id=busy.store_id) == []
    assert theirs.get("/audit", actor="Ann").status_code == 400


def test_the_state_of_the_chain_is_said(owner: Site, tenant: Tenant, busy: Shelf) -> None:
    before = owner.get("/audit").content.decode()
    assert "None of this project is sealed yet." in before
    assert ">open</span>" in before
    audit.seal_project(tenant.project.id)
    head = audit.get_chain_head(tenant.project.id)
    shown = owner.get("/audit").content.decode()
    assert f"Sealed up to row {head.chain_index}" in shown
    assert f"--expect-head {head.chain_index}:{head.chain_sha256}" in shown
    assert ">open</span>" not in shown


def test_the_export_is_a_file_that_verifies(owner: Site, tenant: Tenant, busy: Shelf) -> None:
    answer = owner.get("/audit/export")
    assert answer.streaming
    assert answer["Content-Disposition"] == 'attachment; filename="audit.ndjson"'
    assert answer["Content-Security-Policy"] == "sandbox"
    assert answer["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    head = audit.get_chain_head(tenant.project.id)
    assert lines[-1]["chain_head"]["chain_sha256"] == head.chain_sha256
    assert len(lines) == head.chain_index + 1
    rest = owner.get("/audit/export", after=str(head.chain_index - 1))
    assert len(b"".join(rest.streaming_content).splitlines()) == 2
    for after in ("x", "-1", str(head.chain_index + 1)):
        assert owner.get("/audit/export", after=after).status_code == 400


def test_a_long_trail_is_exported_in_parts(
    owner: Site, tenant: Tenant, busy: Shelf, monkeypatch: Any
) -> None:
    audit.seal_project(tenant.project.id)
    monkeypatch.setattr("memoryhub.audit_console.EXPORT_ROWS_MAX", 5)
    shown = owner.get("/audit").content.decode()
    assert "/audit/export?after=0" in shown
    assert "/audit/export?after=5" in shown


def test_the_page_makes_as_many_queries_for_many_rows_as_for_few(owner: Site, busy: Shelf) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get("/audit", first_day="2020-01-01").status_code == 200
        return len(queries)

    owner.get("/audit")
    few = count()
    for number in range(5):
        memory = busy.put(f"/{number}.md")
        busy.update(memory, content=f"{number}")
        memory_versions.redact_version(
            busy.store_id, busy.versions()[1].wire_id, reason=None, actor=busy.actor
        )
    assert count() <= few < 20


def test_only_owners_see_it(tenant: Tenant) -> None:
    for role in ("developer", "reviewer", "viewer"):
        site = sign_in(add_person(tenant, role), tenant.project)
        assert [site.get(path).status_code for path in ("/audit", "/audit/export")] == [403, 403]


def test_every_action_has_words() -> None:
    words = [action_words(action) for action in AuditAction]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"(API )?[A-Za-z ]+", one) for one in words)

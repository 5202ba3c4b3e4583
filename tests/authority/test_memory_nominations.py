"""Files of stores and documents as proposals: what is remembered of them, and how they become reviewed memory."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from authority import memory_nominations, reviews
from authority.failures import ValidationTypeError
from authority.models import HostCall, Nomination, Operation, RecordVersion
from memoryhub.erasure import erase_copies
from memoryhub.errors import Conflict, NotFound
from memoryhub.version_holders import VersionKey, find_held
from stores import memories, memory_stores
from stores.models import Memory
from tests.authority.desk import Reviewed, make_reviewed
from tests.console.site import sign_in
from tests.world import Tenant, make_tenant

TEXT = "# Returns\n\n30 days.\n"


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    return make_reviewed(tenant)


def write(tenant: Tenant, text: str = TEXT, environment: str = "development") -> Memory:
    store = memory_stores.create_store(
        environment=environment, name="Notes", description="", metadata={}, actor=tenant.actor
    )
    return memories.create_memory(store.wire_id, path="/Returns é.md", content=text, actor=tenant.actor)


def nominate(reviewed: Reviewed, memory: Memory, route: str = "review") -> Nomination:
    return memory_nominations.nominate_memory(
        reviewed.authority.wire_id,
        store_id=memory.store.wire_id,
        memory_id=memory.wire_id,
        route=route,
        actor=reviewed.actor,
    )


def test_a_file_becomes_reviewed_memory(reviewed: Reviewed) -> None:
    memory = write(reviewed.tenant)
    made = nominate(reviewed, memory)
    record = RecordVersion.objects.get(space=reviewed.working)
    assert (record.kind, record.value) == (
        "memory",
        {
            "content": TEXT,
            "path": "/Returns é.md",
            "sha256": memory.content_sha256,
            "storeId": memory.store.wire_id,
            "versionId": memory.head.wire_id,
        },
    )
    assert (made.state, made.records_count) == ("pending", 1)
    reviews.adopt_nomination(
        reviewed.authority.wire_id,
        made.nomination_sha256,
        expected_head=reviewed.pin.as_wire(),
        replacements=[],
        note=None,
        actor=reviewed.actor,
    )
    reviewed.run_next()
    adopted = RecordVersion.objects.get(space=reviewed.canonical, key=record.key)
    assert (adopted.body, adopted.record_sha256) == (record.body, record.record_sha256)


def test_the_same_version_is_the_same_nomination_and_a_new_one_takes_its_place(reviewed: Reviewed) -> None:
    memory = write(reviewed.tenant)
    first = nominate(reviewed, memory)
    assert nominate(reviewed, memory).id == first.id
    assert Operation.objects.filter(space=reviewed.working).count() == 1
    memories.update_memory(memory.store.wire_id, memory.wire_id, content="60 days.", actor=reviewed.actor)
    second = nominate(reviewed, memory)
    first.refresh_from_db()
    assert (first.state, second.state) == ("superseded", "pending")
    assert json.loads(second.body)["closure"]["records"][0]["value"]["content"] == "60 days."


def test_what_is_not_there_or_not_beside_it_is_refused(reviewed: Reviewed) -> None:
    memory = write(reviewed.tenant)
    with pytest.raises(ValidationTypeError):
        nominate(reviewed, memory, route="other")
    with pytest.raises(Conflict):
        nominate(reviewed, write(reviewed.tenant, environment="production"))
    with pytest.raises(NotFound):
        nominate(reviewed, write(make_tenant()))
    memories.delete_memory(memory.store.wire_id, memory.wire_id, actor=reviewed.actor)
    with pytest.raises(NotFound):
        nominate(reviewed, memory)
    assert not Operation.objects.filter(space=reviewed.working).exists()
    assert not HostCall.objects.filter(authority=reviewed.authority).exists()


def test_over_the_wire_and_from_its_page(reviewed: Reviewed) -> None:
    tenant, memory = reviewed.tenant, write(reviewed.tenant)
    body = {"nominationId": "review", "storeId": memory.store.wire_id, "memoryId": memory.wire_id}
    url = f"/v1/authorities/{reviewed.authority.wire_id}/memory-nominations"
    answer = tenant.caller("host")("POST", url, body)
    assert (answer.status, answer.body["state"], answer.body["records"]) == (200, "pending", 1)
    assert tenant.caller("review")("POST", url, body).status == 403
    owner = sign_in(tenant.owner, tenant.project)
    page = f"/nominate/{memory.store.wire_id}/{memory.wire_id}"
    shown = owner.get(f"/stores/{memory.store.wire_id}/memories/{memory.wire_id}").content.decode()
    assert f'href="{owner.base}{page}"' in shown
    assert "kb.review" in owner.get(page).content.decode()
    assert owner.post(page, {"route": "x y"}).status_code == 400
    sent = owner.post(page, {"route": f"{reviewed.authority.wire_id} review"})
    assert sent["Location"].endswith(answer.body["nominationSha256"])


def test_the_longest_text_that_a_store_takes_can_be_nominated(reviewed: Reviewed) -> None:
    assert nominate(reviewed, write(reviewed.tenant, "ü\n\x01" * 25_600)).body_bytes > 102_400


def test_a_text_is_not_copied_while_it_is_erased(committed: Tenant) -> None:
    reviewed, memory = make_reviewed(committed), write(committed)
    begun, ended = threading.Event(), threading.Event()

    def propose() -> str:
        begun.set()
        try:
            return nominate(reviewed, memory).state
        finally:
            ended.set()
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            erase_copies(committed.development.id, [])
            made = threads.submit(propose)
            assert begun.wait(10)
            assert not ended.wait(0.3)
        assert made.result(10) == "pending"


def test_the_version_that_a_record_was_made_of_is_held_and_no_other(reviewed: Reviewed) -> None:
    memory = write(reviewed.tenant)
    nominate(reviewed, memory)
    changed = memories.update_memory(
        memory.store.wire_id, memory.wire_id, content="new", actor=reviewed.tenant.actor
    )
    keys = [VersionKey(memory.store_id, memory.id, head_id) for head_id in (memory.head_id, changed.head_id)]
    environment_id = reviewed.authority.environment_id
    assert find_held(environment_id, keys) == {memory.head_id}
    assert find_held(environment_id, keys[1:]) == set()
    nominate(reviewed, changed)
    assert find_held(environment_id, keys) == {memory.head_id, changed.head_id}, "a past record names it"
    assert find_held(reviewed.tenant.production.id, keys) == set()

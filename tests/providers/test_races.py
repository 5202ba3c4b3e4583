"""What meets at the same moment: real threads against two web processes on PostgreSQL."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from memoryhub import ids
from memoryhub.models import Session
from providers.models import Projection
from stores import memory_stores
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.answers import Answer, Call
from tests.concurrency.clients import in_rounds, run_together
from tests.live import LiveHub
from tests.providers.desk import Desk
from tests.world import Tenant

ROUNDS_OF_SOAK = int(os.environ.get("MEMORYHUB_TEST_RACE_ROUNDS", "0"))
SAVERS = 50
FREEZES = ROUNDS_OF_SOAK or 3
ROUNDS = ROUNDS_OF_SOAK or 30
REPEATS = ROUNDS_OF_SOAK or 10


@pytest.fixture
def live_desk(live_tenant: Tenant) -> Desk:
    desk = Desk(live_tenant)
    desk.declare()
    return desk


def save_over(call: Call, session: str, request: str, text: str, call_id: str = "c1") -> Answer:
    return call(
        "POST",
        f"/v1/sessions/{session}/model-requests/{request}/tool-calls",
        {"call_id": call_id, "name": "memory_save", "arguments": {"text": text}},
    )


def saves_of(desk: Desk, document_id: str) -> list[MemoryVersion]:
    """The versions that models wrote, in order."""
    memory = desk.get(document_id).memory
    made = MemoryVersion.objects.filter(store_id=memory.store_id, memory_id=memory.id)
    return list(made.filter(created_by_type="session_actor").order_by("number"))


def test_no_save_commits_after_a_freeze_has_answered(live: LiveHub, live_desk: Desk) -> None:
    call = live.caller(live_desk.tenant.key)
    outcomes: list[str] = []
    for number in range(FREEZES):
        outcomes += _freeze_under_saves(call, live_desk, f"d{number}")
    assert len(outcomes) == (SAVERS + 1) * FREEZES
    assert set(outcomes) <= {"saved", "conflict", "agent_writes_disabled"}


def _freeze_under_saves(call: Call, desk: Desk, name: str) -> list[str]:
    """What each of the saves was told."""
    memory = f"/v1/projects/{desk.tenant.project.wire_id}/memory/playbook/documents"
    outcomes: list[str] = []
    frozen: list[int] = []
    document = desk.put(name)
    bound = {"playbook": {"scope": "document", "id": name, "access": "read-write"}}
    sessions = [desk.open(bound) for _ in range(SAVERS)]
    requests = [desk.begin(session) for session in sessions]

    def freeze() -> None:
        while True:
            revision = desk.get(name).revision
            answer = call(
                "PATCH",
                f"{memory}/{name}",
                {"agent_writes": "disabled"},
                headers={"If-Match": f'"{revision}"'},
                query={"environment": "development"},
            )
            if answer.status == 200:
                break
        frozen.append(len(saves_of(desk, name)))

    def save(session: str, request: str) -> None:
        output = save_over(call, session, request, f"By {session}.").body["output"]
        outcomes.append(output.get("reason", output["status"]))

    works = [
        lambda session=session, request=request: save(session, request)  # type: ignore[misc]
        for session, request in zip(sessions, requests, strict=True)
    ]
    run_together([*works, freeze])
    late = desk.open(bound)
    save(late, desk.begin(late))
    assert outcomes[-1] == "agent_writes_disabled"
    made = saves_of(desk, name)
    assert frozen == [len(made)]
    assert len(made) <= 1, "every save named the same revision"
    assert document.memory.id == desk.get(name).memory.id
    return outcomes


def test_no_save_commits_after_the_end_of_its_session_has_answered(live: LiveHub, live_desk: Desk) -> None:
    call = live.caller(live_desk.tenant.key)
    live_desk.put()
    opened: dict[int, tuple[str, list[str]]] = {}
    counted: dict[int, int] = {}
    outputs: list[dict[str, Any]] = []

    def arrange() -> None:
        number = len(opened)
        if number < ROUNDS:
            session = live_desk.open()
            opened[number] = (session, [live_desk.begin(session, f"r{n}") for n in range(3)])

    def save(number: int) -> None:
        session, requests = opened[number]
        for request in requests:
            outputs.append(save_over(call, session, request, f"{number} {request}").body["output"])

    def end(number: int) -> None:
        session = opened[number][0]
        assert call("POST", f"/v1/sessions/{session}/end").status == 200
        counted[number] = saved_by(session)

    in_rounds(ROUNDS, save, end, between=arrange)
    for number, (session, _) in opened.items():
        assert saved_by(session) == counted[number]
    told = [output.get("reason", output["status"]) for output in outputs]
    assert {"saved", "session_closed"} <= set(told), "one side always won: no race"


def saved_by(session: str) -> int:
    return MemoryVersion.objects.filter(created_by_type="session_actor", created_by_id=session).count()


def test_a_store_is_attached_or_deleted(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    stores = [
        memory_stores.create_store(
            environment="development", name=f"S{n}", description="", metadata={}, actor=live_tenant.actor
        ).wire_id
        for n in range(ROUNDS)
    ]
    attached: list[Answer] = []
    deleted: list[Answer] = []

    def attach(number: int) -> None:
        wanted = [{"type": "memory_store", "memory_store_id": stores[number]}]
        attached.append(call("POST", "/v1/sessions", {"resources": wanted}))

    def delete(number: int) -> None:
        deleted.append(call("DELETE", f"/v1/memory_stores/{stores[number]}"))

    in_rounds(ROUNDS, attach, delete)
    won = {answer.body["resources"][0]["memory_store_id"] for answer in attached if answer.status == 201}
    kept = set(MemoryStore.objects.filter(project=live_tenant.project).values_list("id", flat=True))
    assert {ids.to_wire(ids.MEMORY_STORE, key) for key in kept} == won
    assert sorted({answer.status for answer in attached}) in ([201], [201, 400], [400])
    assert sum(answer.status == 200 for answer in deleted) == ROUNDS - len(won)


def post_together(count: int, ask: Callable[..., Answer], *arguments: Any, **options: Any) -> list[Answer]:
    """The answers of the same question, asked by so many at once."""
    answers: list[Answer] = []
    run_together([lambda: answers.append(ask(*arguments, **options))] * count)
    return answers


def test_one_call_id_runs_once_however_often_it_is_posted(live: LiveHub, live_desk: Desk) -> None:
    call = live.caller(live_desk.tenant.key)
    live_desk.put()
    session = live_desk.open()
    before = saves_of(live_desk, "team-a")
    for number in range(REPEATS):
        request = live_desk.begin(session, f"r{number}")
        answers = post_together(4, save_over, call, session, request, f"Text {number}.")
        assert len({answer.content for answer in answers}) == 1
        assert answers[0].body["output"]["status"] == "saved"
    assert len(saves_of(live_desk, "team-a")) == len(before) + REPEATS


def test_one_idempotency_key_makes_one_session(live: LiveHub, live_desk: Desk) -> None:
    call = live.caller(live_desk.tenant.key)
    live_desk.put()
    body = {"memory": {"playbook": {"scope": "document", "id": "team-a"}}}
    for number in range(REPEATS):
        key = {"Idempotency-Key": f"k{number}"}
        answers = post_together(20, call, "POST", "/v1/sessions", body, headers=key)
        assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
        assert len({answer.body["id"] for answer in answers}) == 1
    assert Session.objects.filter(project=live_desk.tenant.project).count() == REPEATS


def test_saves_of_several_sessions_never_lose_one(live: LiveHub, live_desk: Desk) -> None:
    """Each saved text stands in the history once, right after the revision that its model had read."""
    call = live.caller(live_desk.tenant.key)
    first = live_desk.put().revision
    sessions = [live_desk.open() for _ in range(4)]
    saved: dict[str, tuple[str, str]] = {}  # revision -> the one that was read, the text
    conflicts: list[str] = []

    def work(session: str) -> None:
        for number in range(REPEATS):
            opened = call(
                "POST", f"/v1/sessions/{session}/model-requests", {"client_request_id": f"r{number}"}
            )
            request, read = opened.body["id"], opened.body["memory"]["playbook"]["sources"][0]["revision"]
            call(
                "PUT",
                f"/v1/sessions/{session}/model-requests/{request}/selection",
                {"use": ["playbook"]},
            )
            text = f"{session} {number}"
            output = save_over(call, session, request, text).body["output"]
            if output["status"] == "saved":
                saved[output["revision"]] = (read, text)
            else:
                conflicts.append(output["status"])

    run_together([lambda session=session: work(session) for session in sessions])  # type: ignore[misc]
    written = saves_of(live_desk, "team-a")
    revisions = [version.wire_id for version in written]
    replaced = [first, *revisions][:-1]
    told = [saved[revision] for revision in revisions]
    assert told == list(zip(replaced, [version.content for version in written], strict=True))
    assert len(saved) == len(written) >= REPEATS
    assert set(conflicts) == {"conflict"}, "nobody ever met another: no race"
    assert Memory.objects.filter(project=live_desk.tenant.project).count() == 1


def test_no_request_keeps_a_text_that_is_deleted_meanwhile(live: LiveHub, live_desk: Desk) -> None:
    call = live.caller(live_desk.tenant.key)
    documents = f"/v1/projects/{live_desk.tenant.project.wire_id}/memory/playbook/documents"
    opened: list[tuple[str, str, str]] = []  # document, its revision, a session on it
    recalled: list[int] = []
    deleted: list[int] = []

    def arrange() -> None:
        name = f"d{len(opened)}"
        revision = live_desk.put(name).revision
        bound = {"playbook": {"scope": "document", "id": name}}
        opened.append((name, revision, live_desk.open(bound)))

    def recall(number: int) -> None:
        for turn in range(3):
            body = {"client_request_id": f"r{turn}"}
            recalled.append(call("POST", f"/v1/sessions/{opened[number][2]}/model-requests", body).status)

    def delete(number: int) -> None:
        name, revision, _ = opened[number]
        headers = {"If-Match": f'"{revision}"'}
        query = {"environment": "development"}
        deleted.append(call("DELETE", f"{documents}/{name}", headers=headers, query=query).status)

    in_rounds(ROUNDS, recall, delete, between=arrange)
    assert set(deleted) == {204}
    assert set(recalled) <= {201, 410, 502} and {201, 502} <= set(recalled), "one side always won: no race"
    kept = Projection.objects.filter(model_request__session__project=live_desk.tenant.project)
    assert not kept.exclude(text="").exists()

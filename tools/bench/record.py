"""Records what the hub executes for each operation: the floor's statements. Django must be set up."""

from typing import Any
from uuid import UUID

from django.db import connection
from django.test import Client

from memoryhub import ids
from tools.bench.arrange import World
from tools.bench.cells import MODEL_REQUEST, OWN_STORES, SAVE, SELECTION
from tools.bench.conversations import Conversations, Recall, Save, Select
from tools.bench.floor import Recorder, Statement
from tools.bench.plans import Create, Delete, Get, ListPage, Plan, Step, Target, Update


def record_operations(
    world: World, target: Target, conversations: Conversations
) -> dict[str, list[Statement]]:
    """Operation -> its statements, in order. The memories of `target` and one of `conversations` are changed by it."""
    caller = _Caller(world)
    caller.record(Get(target, 0))  # the first use of a key is noted in its row, once a minute
    create = Create(target, 0)
    plans: dict[str, Plan] = {
        "get": Get(target, 0),
        "update": Update(target, 0),
        "list": ListPage(target, 0),
        "create": create,
        "delete": Delete(create),
        MODEL_REQUEST: Recall(conversations),
        SELECTION: Select(conversations),
        SAVE: Save(conversations),
    }
    statements = {operation: caller.record(plan) for operation, plan in plans.items()}
    return statements | {OWN_STORES: statements["update"]}


class _Caller:
    """The API in this process."""

    def __init__(self, world: World) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {world.key}"}, SERVER_NAME="127.0.0.1")
        self.constant_ids = {world.environment.project_id, world.environment.id, world.key_id}

    def record(self, plan: Plan) -> list[Statement]:
        step = plan.next_step()
        assert step is not None, "a new plan has a step"
        recorder = Recorder()
        with connection.execute_wrapper(recorder):
            answer = self.client.generic(
                step.method, step.url, step.body_bytes, content_type="application/json"
            )
        assert answer.status_code in (200, 201), answer.content
        body = answer.json()
        plan.note(step, body)
        return recorder.statements(step.values | _made_ids(step, body), constant_ids=self.constant_ids)


def _made_ids(step: Step, answer: dict[str, Any]) -> dict[str, UUID]:
    """The ids that the hub made and a step names too."""
    version_id = answer.get("memory_version_id") or answer.get("output", {}).get("revision", "")
    made = {
        "memory_id": ids.from_wire(ids.MEMORY, answer.get("id", "")),
        "version_id": ids.from_wire(ids.MEMORY_VERSION, version_id),
        "request_id": ids.from_wire(ids.MODEL_REQUEST, answer.get("id", "")),
    }
    return {name: key for name, key in made.items() if key is not None and name in step.values}

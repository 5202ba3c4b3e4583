"""A text that is erased while a model is being given it: the copy that is kept a moment later is erased too."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from providers import document_calls, model_requests
from providers.models import Projection, ToolCall
from tests.concurrency.holding import Asked
from tests.live import LiveHub
from tests.providers.desk import Desk
from tests.world import Tenant

WAIT_SECONDS = 30


class Paused:
    """Work in a thread of its own, which stops once where a text was read and is not kept yet."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.has_read, self.may_go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=[work], daemon=True)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    def start(self) -> None:
        self.thread.start()
        assert self.has_read.wait(WAIT_SECONDS)

    def stop_after(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_stop(*arguments: Any, **options: Any) -> Any:
            found = read(*arguments, **options)
            self.has_read.set()
            assert self.may_go_on.wait(WAIT_SECONDS)
            return found

        return read_and_stop

    def finish(self) -> None:
        self.may_go_on.set()
        self.thread.join(WAIT_SECONDS)


@pytest.fixture
def live_desk(live_tenant: Tenant) -> Desk:
    desk = Desk(live_tenant)
    desk.declare()
    desk.put()
    return desk


def delete_while(live: LiveHub, desk: Desk, paused: Paused) -> None:
    """The document is deleted while the work stands still; the deletion waits for it."""
    call = live.caller(desk.tenant.key)
    url = f"/v1/projects/{desk.tenant.project.wire_id}/memory/playbook/documents/team-a"
    headers = {"If-Match": f'"{desk.get().revision}"'}
    paused.start()
    deletion = Asked(lambda: call("DELETE", url, headers=headers, query={"environment": "development"}))
    early = deletion.wait(0.5)
    paused.finish()
    answer = deletion.wait(WAIT_SECONDS)
    assert answer is not None and answer.status == 204
    assert early is None


def test_a_recall_under_way(live: LiveHub, live_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session = live_desk.open()
    paused = Paused(lambda: live_desk.recall(session))
    reading = paused.stop_after(model_requests.recall_all)
    monkeypatch.setattr(model_requests, "recall_all", reading)
    delete_while(live, live_desk, paused)
    kept = Projection.objects.get(model_request__session__project=live_desk.tenant.project)
    assert (kept.text, kept.sources, kept.erased_at is None) == ("", [], False)


@pytest.mark.parametrize(("name", "arguments"), [("memory_list", {}), ("memory_read", {"id": "team-a"})])
def test_a_tool_call_under_way(
    live: LiveHub,
    live_desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, str],
) -> None:
    session = live_desk.open({"playbook": {"scope": "collection"}})
    request = live_desk.begin(session)
    paused = Paused(lambda: live_desk.call(session, request, name, **arguments))
    monkeypatch.setitem(document_calls._TOOLS, name, paused.stop_after(document_calls._TOOLS[name]))
    delete_while(live, live_desk, paused)
    kept = ToolCall.objects.get(model_request__session__project=live_desk.tenant.project)
    assert (kept.arguments, kept.output, kept.erased_at is None) == (None, None, False)

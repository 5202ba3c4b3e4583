"""The journey of another service's memory: declare it, ask it, and follow a call to its attempts; real parts throughout."""

import re
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import connection
from playwright.sync_api import Page
from pytest_django import DjangoDbBlocker

from tests.browser.chromium import Window, open_window
from tests.browser.entering import enter, new_session
from tests.browser.test_everywhere import AXE
from tests.providers import misbehaving
from tests.providers.live_parts import Parts, running_parts
from tests.world import Tenant, make_tenant

TOOL = """[{"name": "remember", "description": "Keep a fact.", "access": "write",
  "input": {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}}]"""
ASKED_SECONDS_MAX = 90.0  # the worker may still be starting


@pytest.fixture(scope="module")
def started(test_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with running_parts(tmp_path_factory.mktemp("journey")) as parts:
        yield parts


@pytest.fixture
def parts(started: Parts, django_db_blocker: DjangoDbBlocker) -> Iterator[Parts]:
    started.endpoint.always = misbehaving.normal
    with django_db_blocker.unblock():
        yield started
        started.hub.close_callers()
        connection.close()


class Owner:
    """In a window, in the environment development."""

    def __init__(self, window: Window, parts: Parts, tenant: Tenant, session: str) -> None:
        self.window, self.page, self.origin = window, window.page, parts.endpoint.origin
        self.base = f"{parts.hub.url}/p/{tenant.project.wire_id}/development"
        enter(self.page, parts.hub.url, session)

    def look(self) -> None:
        """No page of the journey may break what every page is held to."""
        found: list[dict[str, Any]] = Axe().run(self.page, options=AXE).response["violations"]
        assert [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]] == []
        assert not self.window.is_too_wide(), self.page.url

    def text(self) -> str:
        return self.page.locator("main").inner_text()

    def keep_secret(self) -> None:
        page = self.page
        page.goto(f"{self.base}/secrets/new")
        page.get_by_label("Name").fill("MEMORY_TOKEN")
        page.get_by_label("Value").fill("tok-4f1d9c")
        page.get_by_label("Where it may be sent").fill(self.origin)
        page.get_by_role("button", name="Save the secret").click()
        assert "never" in page.locator("tbody tr").inner_text()

    def declare(self) -> None:
        page = self.page
        page.goto(f"{self.base}/declare")
        page.get_by_label("A memory of another service").check()
        page.get_by_label("Id", exact=True).fill("knowledge")
        page.get_by_label("Description").fill("What is known.")
        page.get_by_label("Origin of the service").fill(self.origin)
        page.get_by_label("Secret").fill("MEMORY_TOKEN")
        page.get_by_role("textbox", name="Tools").fill(TOOL)
        assert "Each recall sends the text of the current input" in self.text()
        self.look()
        page.get_by_role("button", name="Declare it").click()
        assert "Ready" in page.locator("aside").inner_text()
        self.look()

    def ask(self, script: list[misbehaving.Behaviour], endpoint: misbehaving.Endpoint) -> None:
        """Until the worker answers."""
        page = self.page
        end = time.monotonic() + ASKED_SECONDS_MAX
        while time.monotonic() < end:
            endpoint.script = list(script)
            page.goto(f"{self.base}/resources/knowledge")
            page.get_by_role("link", name="Ask the service…").click()
            page.get_by_label("Input").fill("Where is the boat?")
            page.get_by_label("Namespace").fill("acme")
            assert f"This sends your text to {self.origin}/memory" in self.text()
            page.get_by_role("button", name="Send it and show what comes").click()
            page.get_by_role("heading", level=1, name="Recall of knowledge").wait_for()
            if "host_overloaded" not in self.text():
                return
        raise AssertionError(self.text())

    def bars(self) -> list[str]:
        """The styles of the drawing's bars that have a width, in their order."""
        return self.page.locator(".waterfall rect:not(.ground)").evaluate_all(
            "(all) => all.filter((one) => one.getBoundingClientRect().width > 0).map((one) => one.getAttribute('class'))"
        )


def rows(page: Page) -> list[str]:
    return [re.sub(r"\s+", " ", row) for row in page.locator("main tbody tr").all_inner_texts()]


def call_tool(parts: Parts, tenant: Tenant) -> None:
    """An application's turn, in which the service takes a write and says nothing."""
    call = parts.hub.caller(tenant.key)
    bound = {"knowledge": {"scope": "namespace", "id": "acme", "access": "read-write"}}
    body = {"environment": "development", "memory": bound, "title": "Boat talk"}
    session = f"/v1/sessions/{call('POST', '/v1/sessions', body).body['id']}"
    request = call("POST", f"{session}/model-requests", {"client_request_id": "turn-1"}).body["id"]
    url = f"{session}/model-requests/{request}"
    assert call("PUT", f"{url}/selection", {"use": ["knowledge"]}).status == 200
    parts.endpoint.script = [misbehaving.drop]
    called = {"call_id": "c1", "name": "memory_remember", "arguments": {"fact": "It rains."}}
    assert call("POST", f"{url}/tool-calls", called).body["output"] == {"status": "uncertain"}


def begin_recall(parts: Parts, tenant: Tenant, looked: threading.Event) -> str:
    """An application's turn whose service answers once somebody looked; the path of its request in the console."""
    call = parts.hub.caller(tenant.key)
    bound = {"knowledge": {"scope": "namespace", "id": "acme", "access": "read-write"}}
    session = call("POST", "/v1/sessions", {"environment": "development", "memory": bound}).body["id"]
    parts.endpoint.script = [misbehaving.once(looked)]
    url = f"/v1/sessions/{session}/model-requests"
    begun = call("POST", url, {"client_request_id": "slow"}, headers={"Prefer": "respond-async"})
    assert begun.status == 202, begun.body
    return f"sessions/{session}/requests/{begun.body['id']}"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_a_service_is_declared_asked_and_followed_to_an_attempt(
    parts: Parts, width: int, scheme: Literal["light", "dark"]
) -> None:
    tenant = make_tenant()
    session = new_session(tenant.owner)
    with open_window(width=width, scheme=scheme) as window:
        owner = Owner(window, parts, tenant, session)
        page = owner.page
        owner.keep_secret()
        owner.declare()

        owner.ask([misbehaving.error(503)], parts.endpoint)
        assert page.get_by_role("region", name="Text of knowledge").inner_text().strip() == "Known."
        assert owner.bars() == ["bad", "pause", "good"]
        first, second = rows(page)
        assert "The service was busy, status 503" in first
        assert "250 ms" in first
        assert "Answered, status 200" in second
        owner.look()

        call_tool(parts, tenant)
        page.goto(f"{owner.base}/sessions")
        page.get_by_role("link", name="Boat talk").click()
        page.get_by_role("link", name="turn-1").click()
        assert "Uncertain" in owner.text()
        owner.look()
        page.get_by_role("table", name="Calls, the newest first").get_by_role("link", name="remember").click()
        page.get_by_role("heading", level=1, name="remember of knowledge").wait_for()
        assert "Nobody knows whether the service did it." in owner.text()
        [only] = rows(page)
        assert "No connection, or it broke off" in only
        assert owner.bars() == ["bad"]
        owner.look()

        looked = threading.Event()
        page.goto(f"{owner.base}/{begin_recall(parts, tenant, looked)}")
        assert "looks again by itself" in owner.text()
        owner.look()
        looked.set()
        page.get_by_role("heading", level=1).get_by_text("Accepted").wait_for()
        assert "looks again" not in owner.text()
        assert page.get_by_role("region", name="Text of knowledge").inner_text().strip() == "Known."

        page.goto(f"{owner.base}/resources/knowledge")
        page.get_by_role("heading", name="The last 24 hours").wait_for()
        assert "1: nobody knows whether the service did it" in owner.text()
        owner.look()
        page.goto(f"{owner.base}/secrets")
        assert "never" not in page.locator("tbody tr").inner_text()
        assert window.wrongs == []

"""The journey of declared memory: declare it, see what a model would get, watch a model save, and stop it."""

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from providers.models import Deployment, ModelRequest, Projection, ToolCall
from tests.browser.chromium import Window, open_window
from tests.browser.entering import enter, new_session
from tests.browser.test_everywhere import AXE
from tests.live import LiveHub
from tests.world import Tenant

NOTES = "Deploy before noon.\n"
BY_MODEL = "Deploy before noon.\nNever on Fridays.\n"
BY_OWNER = "Deploy before eleven.\n"
PAYLOAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"


class Conversation:
    """An application and its model: they speak REST, and know nothing of the console."""

    def __init__(self, live: LiveHub, tenant: Tenant) -> None:
        self.call = live.caller(tenant.key)
        bound = {"playbook": {"scope": "document", "id": "team-a", "access": "read-write"}}
        body = {"environment": "development", "memory": bound, "title": "Release talk"}
        self.session_id = self.post("/v1/sessions", body)["id"]
        self.url = f"/v1/sessions/{self.session_id}"

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.call("POST", path, body)
        assert answer.status < 300, answer.content
        return answer.body

    def recall(self, name: str) -> str:
        """A turn of which the render uses the playbook."""
        request_id = self.post(f"{self.url}/model-requests", {"client_request_id": name})["id"]
        url = f"{self.url}/model-requests/{request_id}"
        assert self.call("PUT", f"{url}/selection", {"use": ["playbook"]}).status == 200
        return url

    def save(self, url: str, call_id: str, text: str) -> Any:
        called = {"call_id": call_id, "name": "memory_save", "arguments": {"text": text}}
        return self.post(f"{url}/tool-calls", called)["output"]


class Owner:
    """In a window, in the environment development."""

    def __init__(self, window: Window, live: LiveHub, tenant: Tenant, session: str) -> None:
        self.window, self.page = window, window.page
        self.base = f"{live.url}/p/{tenant.project.wire_id}/development"
        enter(self.page, live.url, session)

    def look(self) -> None:
        """No page of the journey may break what every page is held to."""
        found: list[dict[str, Any]] = Axe().run(self.page, options=AXE).response["violations"]
        assert [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]] == []
        assert not self.window.is_too_wide(), self.page.url

    def declare(self) -> None:
        page = self.page
        page.goto(f"{self.base}/resources")
        assert page.get_by_text("No resource yet").is_visible()
        self.look()
        page.get_by_role("link", name="Declare a resource").click()
        page.get_by_label("Id", exact=True).fill("playbook")
        page.get_by_label("Description").fill("How this team works.")
        page.get_by_role("button", name="Declare it").click()
        assert "The resource is declared" in page.get_by_role("status").inner_text()

    def write(self) -> None:
        page = self.page
        page.get_by_role("link", name="New document").click()
        page.get_by_label("Id", exact=True).fill("team-a")
        page.get_by_label("Title").fill("Team A")
        fill_text(page, NOTES)
        page.get_by_role("button", name="Save the document").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Team A"

    def edit(self, text: str) -> None:
        fill_text(self.page, text)
        self.page.get_by_role("button", name="Save", exact=True).click()

    def open_request(self, name: str) -> None:
        self.page.goto(f"{self.base}/sessions")
        self.page.get_by_role("link", name="Release talk").click()
        self.look()
        self.page.get_by_role("link", name=name).click()

    def outcomes(self) -> list[str]:
        return self.page.locator("main h3 .badge").all_inner_texts()


def fill_text(page: Page, text: str) -> None:
    """Into the editor that stands in for the text area."""
    editor = page.locator(".cm-content")
    editor.wait_for()
    editor.fill(text)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_a_document_is_declared_tried_saved_by_a_model_and_frozen(
    live: LiveHub, live_tenant: Tenant, width: int, scheme: Literal["light", "dark"]
) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=width, scheme=scheme) as window:
        owner = Owner(window, live, live_tenant, session)
        page = owner.page
        owner.declare()
        owner.write()
        owner.look()

        page.get_by_role("link", name="Try it").click()
        page.get_by_label("Input").fill(f"When do we deploy? {PAYLOAD}")
        page.get_by_role("button", name="Show what it would get").click()
        assert page.get_by_role("region", name="Text of playbook").inner_text().strip() == NOTES.strip()
        assert page.get_by_role("heading", name="Tools that it is offered: 1").is_visible()
        assert page.get_by_role("heading", name="memory_save").is_visible()
        assert f"playbook {len(NOTES)} bytes, it may be written" in page.locator("main").inner_text()
        owner.look()

        model = Conversation(live, live_tenant)
        turn = model.recall("turn-1")
        assert model.save(turn, "call-1", BY_MODEL)["status"] == "saved"
        owner.open_request("turn-1")
        assert owner.outcomes() == ["Saved"]
        assert "Never on Fridays." in page.locator("main").inner_text()
        owner.look()

        page.goto(f"{owner.base}/resources/playbook/documents/team-a")
        assert "a model in Release talk" in page.locator("main").inner_text()
        page.get_by_role("link", name="Edit", exact=True).click()
        second = model.recall("turn-2")
        assert model.save(second, "call-2", BY_MODEL + PAYLOAD)["status"] == "saved"
        owner.edit(BY_OWNER)
        assert "Nothing was saved" in page.get_by_role("alert").inner_text()
        assert "a model in Release talk" in page.get_by_role("alert").inner_text()
        owner.look()
        page.get_by_role("button", name="Replace their text with mine").click()
        assert "The document is saved" in page.get_by_role("status").inner_text()
        assert model.save(second, "call-3", BY_MODEL)["status"] == "conflict"

        page.get_by_role("button", name="Freeze").click()
        assert "The document is frozen" in page.get_by_role("status").inner_text()
        owner.look()
        third = model.recall("turn-3")
        assert model.save(third, "call-4", BY_MODEL) == {
            "status": "rejected",
            "reason": "agent_writes_disabled",
        }
        owner.open_request("turn-2")
        assert owner.outcomes() == ["Saved", "Conflict"]
        owner.open_request("turn-3")
        assert owner.outcomes() == ["Rejected"]
        assert "agent_writes_disabled" in page.locator("main h3").last.inner_text()
        owner.look()
        assert window.wrongs == []


def test_what_was_tried_left_nothing_behind(live: LiveHub, live_tenant: Tenant) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light") as window:
        owner = Owner(window, live, live_tenant, session)
        owner.declare()
        owner.write()
        owner.page.get_by_role("link", name="Try it").click()
        owner.page.get_by_label("Input").fill("When do we deploy?")
        owner.page.get_by_role("button", name="Show what it would get").click()
        assert "When do we deploy?" not in owner.page.url
        assert owner.page.get_by_label("Input").input_value() == "When do we deploy?"
    project = live_tenant.project
    assert Deployment.objects.filter(project=project).count() == 1
    for model in (ModelRequest, Projection, ToolCall):
        assert not model.objects.filter(project=project).exists()

"""The first journey of an owner: from the link that the hub prints to a first memory, without reading anything."""

from typing import Literal

import pytest

from memoryhub import accounts, projects
from memoryhub.models import User
from stores.models import Memory
from tests.browser.chromium import open_window
from tests.live import LiveHub
from tests.world import make_tenant

PASSWORD = "a long enough sentence"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_from_the_printed_link_to_a_first_memory(
    live: LiveHub, width: int, scheme: Literal["light", "dark"]
) -> None:
    tenant = make_tenant()
    owner = projects.create_operator(
        email=f"first-{tenant.project.name}@localhost", name="Owner", password=None
    )
    project = projects.create_project(name=f"{tenant.project.name}-a", owner=owner)
    token = accounts.create_sign_in_link(owner.id)
    with open_window(width=width, scheme=scheme) as window:
        page = window.page
        page.goto(f"{live.url}/sign-in/{token}")
        page.get_by_role("button", name="Sign in").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Choose a password"
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Save the password").click()
        assert page.get_by_role("heading", level=1).inner_text() == f"{project.name} / development"
        assert not window.is_too_wide()
        page.get_by_role("link", name="Create a store").click()
        page.get_by_label("Name", exact=True).fill("Customer notes")
        page.get_by_role("button", name="Create the store").click()
        assert "/v1/memory_stores/memstore_" in page.locator(".empty pre").inner_text()
        page.get_by_role("link", name="New memory").click()
        page.get_by_label("Path").fill("/tea.md")
        page.get_by_role("textbox", name="Text").fill("She likes green tea.")
        page.get_by_role("button", name="Save the memory").click()
        assert "She likes green tea." in page.get_by_role("main").inner_text()
        page.get_by_role("link", name="MemoryHub", exact=True).click()
        page.get_by_label("Find a fact in every store").fill("tea")
        page.get_by_role("button", name="Find").click()
        assert page.locator("mark").first.inner_text() == "tea"
        assert not window.is_too_wide()
        assert window.wrongs == []
    assert Memory.objects.filter(project=project, path="/tea.md").exists()
    assert User.objects.get(id=owner.id).has_usable_password()


def test_a_password_may_be_put_off(live: LiveHub) -> None:
    tenant = make_tenant()
    token = accounts.create_sign_in_link(tenant.owner.id)
    User.objects.filter(id=tenant.owner.id).update(password="!")
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        page.goto(f"{live.url}/sign-in/{token}")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Not now").click()
        assert page.get_by_role("heading", level=1).inner_text() == f"{tenant.project.name} / development"
        assert window.wrongs == []

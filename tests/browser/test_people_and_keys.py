"""An owner brings in a colleague, gives them more to do, takes a key away, and ends forgotten sessions."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from memoryhub import keys
from memoryhub.models import ApiKey, BrowserSession, Membership
from memoryhub.session_store import stored_key
from tests.browser.chromium import Window, copied, open_window
from tests.browser.entering import enter, new_session
from tests.live import LiveHub
from tests.world import Tenant

PASSWORD = "a long enough passphrase"
TABS_MAX = 80
_FOCUSED = """() => {
  const element = document.activeElement;
  return (element.labels?.length ? element.labels[0].textContent : element.textContent).trim();
}"""


@contextmanager
def another_browser(window: Window) -> Iterator[Page]:
    """Of another person, with cookies of its own."""
    browser = window.page.context.browser
    assert browser
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    yield context.new_page()
    context.close()


def go(page: Page, room: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=room, exact=True).click()


def reach(page: Page, name: str) -> None:
    """By the tab key alone, to what has this name."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if page.evaluate(_FOCUSED) == name:
            return
    raise AssertionError(f"the keyboard does not reach {name}")


def follow(page: Page, name: str) -> None:
    reach(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_colleague_is_invited_joins_and_is_given_more_to_do(live: LiveHub, live_tenant: Tenant) -> None:
    base = f"{live.url}/p/{live_tenant.project.wire_id}/development"
    session, email = new_session(live_tenant.owner), f"ann-{live_tenant.project.name}@example.com"
    with open_window(width=1200, scheme="light") as window, another_browser(window) as anns:
        page = window.page
        enter(page, live.url, session)
        page.goto(base)
        go(page, "People")
        page.get_by_role("link", name="Invite a person").click()
        page.get_by_label("E-mail address").fill(email)
        page.get_by_label("viewer: reads", exact=True).check()
        page.get_by_role("button", name="Make the invitation").click()
        copy = page.locator("[data-copy-text]")
        link = copied(copy, copy.click)
        anns.goto(live.url + link.removeprefix(link.partition("/invitations/")[0]))
        anns.get_by_label("Your name").fill("Ann")
        anns.get_by_label("Password").fill(PASSWORD)
        anns.get_by_role("button", name="Join the project").click()
        anns.goto(f"{base}/stores")
        assert anns.get_by_role("link", name="New store").count() == 0
        go(page, "People")
        page.get_by_role("link", name="Change role of Ann").click()
        page.get_by_label("developer:").check()
        page.get_by_role("button", name="Change the role").click()
        assert page.get_by_role("status").inner_text() == "Ann is developer now."
        anns.reload()
        anns.get_by_role("link", name="New store").wait_for()
        assert not anns.evaluate("document.documentElement.scrollWidth > innerWidth")
        page.get_by_role("link", name="Remove Ann").click()
        page.get_by_role("dialog", name="Remove Ann?").get_by_role("button").first.click()
        page.get_by_text("Ann is removed, and sees the project no more.").wait_for()
        anns.reload()
        assert anns.get_by_role("heading", level=1).inner_text() == "There is no such page"
        assert window.wrongs == []
    assert not Membership.objects.filter(user__email=email).exists()


def test_a_key_is_made_copied_and_revoked_by_keyboard_alone(live: LiveHub, live_tenant: Tenant) -> None:
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="dark") as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/development/keys")
        follow(page, "New key")
        reach(page, "Name")
        page.keyboard.type("Release agent")
        reach(page, "read: looks, and changes nothing")
        page.keyboard.press("Space")
        follow(page, "Make the key")
        page.get_by_role("heading", name="Use it").wait_for()
        reach(page, "Copy")
        secret = copied(page.locator("[data-copy-text]"), lambda: page.keyboard.press("Enter"))
        assert live.caller(secret)("GET", "/v1/memory_stores").status == 200
        page.reload()  # sends the form again
        assert "was made already" in page.get_by_role("heading", level=1).inner_text()
        assert secret not in page.content()
        follow(page, "revoke it")
        follow(page, "Revoke the key")
        assert "nothing is answered to it any more" in page.get_by_role("status").inner_text()
        assert live.caller(secret)("GET", "/v1/memory_stores").status == 401
        assert window.wrongs == []
    assert ApiKey.objects.filter(project=live_tenant.project, name="Release agent").count() == 1


def test_forgotten_sessions_are_ended_from_the_account_page(live: LiveHub, live_tenant: Tenant) -> None:
    here, forgotten, other = (new_session(live_tenant.owner) for _ in range(3))
    BrowserSession.objects.filter(session_key=stored_key(forgotten)).update(browser="Safari on an iPhone")
    with open_window(width=390, scheme="light", script=False) as window:
        page = window.page
        enter(page, live.url, here)
        page.goto(f"{live.url}/account")
        page.get_by_role("button", name="Sign out Safari on an iPhone").click()
        assert page.get_by_role("status").inner_text() == "That browser is signed out."
        assert page.get_by_role("button", name="Sign out Safari").count() == 0
        page.get_by_role("button", name="Sign out everywhere else").click()
        assert page.get_by_role("status").inner_text() == "Signed out of 1 other browser."
        assert page.get_by_role("row").count() == 2
    left = BrowserSession.objects.filter(user=live_tenant.owner).values_list("session_key", flat=True)
    assert list(left) == [stored_key(here)]
    assert stored_key(other) not in left


def test_an_owner_finds_in_the_audit_trail_what_a_key_did(live: LiveHub, live_tenant: Tenant) -> None:
    made = keys.create_key(
        environment="development", name="Importer", scopes=["host"], actor=live_tenant.actor
    )
    live.caller(made.secret)("POST", "/v1/memory_stores", {"name": "Brought along"})
    session = new_session(live_tenant.owner)
    with open_window(width=1200, scheme="light") as window:
        page = window.page
        enter(page, live.url, session)
        page.goto(f"{live.url}/p/{live_tenant.project.wire_id}/development")
        go(page, "Audit")
        page.get_by_label("Who").fill("importer")
        page.get_by_label("Who").press("Enter")
        rows = page.get_by_role("row")
        assert rows.count() == 2
        assert "Memory store created" in rows.last.inner_text()
        rows.last.get_by_role("link", name="Brought along").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Brought along"
        with page.expect_download() as download:
            go(page, "Audit")
            page.get_by_role("link", name="Export as NDJSON").click()
        assert download.value.suggested_filename == "audit.ndjson"
        assert window.wrongs == []

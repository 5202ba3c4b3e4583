"""A store goes out of one environment and into another with its history; both are rows that may be left and found again."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from playwright.sync_api import Page

from memoryhub import accounts, job_runs
from memoryhub.models import Job
from stores import memories, memory_stores
from stores.models import MemoryStore
from tests.browser.chromium import open_window
from tests.browser.test_find_and_freeze import sign_in
from tests.live import LiveHub
from tests.world import Tenant, make_tenant

ENDED_SECONDS_MAX = 60.0


@pytest.fixture
def worker(live: LiveHub) -> Iterator[threading.Event]:
    """Runs jobs in a thread once the event is set, as the worker of a hub does."""
    Job.objects.filter(finished_at=None).delete()
    begin, end = threading.Event(), threading.Event()

    def work() -> None:
        try:
            while not end.wait(0.05):
                if begin.is_set():
                    job_runs.run_next_job()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield begin
    end.set()
    thread.join(20)


@pytest.fixture
def known(live: LiveHub) -> tuple[Tenant, str]:
    tenant = make_tenant()
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=tenant.actor
    )
    memory = memories.create_memory(store.wire_id, path="/tea.md", content="black tea", actor=tenant.actor)
    memories.update_memory(store.wire_id, memory.wire_id, content="green tea", actor=tenant.actor)
    return tenant, accounts.create_sign_in_link(tenant.owner.id)


def leave_and_find(page: Page, title: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Overview").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Work").click()
    page.get_by_role("link", name=title).click()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_store_is_exported_and_imported_into_another_environment(
    live: LiveHub, known: tuple[Tenant, str], worker: threading.Event, script: bool, tmp_path: Path
) -> None:
    tenant, token = known
    width, scheme = (1200, "light") if script else (390, "dark")
    with open_window(width=width, scheme=scheme, script=script) as window:  # type: ignore[arg-type]
        page = window.page
        sign_in(page, live, token)
        base = f"http://127.0.0.1:{live.port}/p/{tenant.project.wire_id}"
        page.goto(f"{base}/development/stores")
        page.get_by_role("link", name="Notes").click()
        page.get_by_role("button", name="Export").click()
        assert "It waits for its turn." in page.locator(".progress").inner_text()
        leave_and_find(page, "Export of a store")
        worker.set()
        if not script:
            _reload_until_done(page)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert download.value.suggested_filename == "Notes.tar"
        download.value.save_as(tmp_path / "Notes.tar")
        page.goto(f"{base}/production/stores")
        page.get_by_role("link", name="Import", exact=True).click()
        page.get_by_label("Archive").set_input_files(tmp_path / "Notes.tar")
        page.get_by_label("Name of the new store").fill("Copy of notes")
        page.get_by_role("button", name="Import").click()
        leave_and_find(page, "Import of a store")
        if not script:
            _reload_until_done(page)
        page.locator("dd").get_by_role("link", name="Copy of notes").click()
        page.get_by_role("link", name="tea.md").click()
        page.get_by_role("link", name="The whole history").click()
        page.get_by_role("heading", name="History of /tea.md").wait_for()
        assert page.locator("tbody .badge").all_inner_texts() == ["Modified", "Created"]
        assert not script or not window.is_too_wide()
        assert window.wrongs == []
    store = MemoryStore.objects.get(environment=tenant.production)
    assert [version.content for version in store.versions.order_by("number")] == ["black tea", "green tea"]


def _reload_until_done(page: Page) -> None:
    """Without script a person looks again."""
    end = time.monotonic() + ENDED_SECONDS_MAX
    while time.monotonic() < end:
        look = page.get_by_role("link", name="See how far it is now")
        if look.count() == 0:
            return
        look.click()
    raise AssertionError("the job does not end")

"""An owner finds what is remembered of somebody, corrects it and has it forgotten; a reviewer decides on lost writes by keyboard."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from memoryhub.actors import Actor, RecordScope
from providers import records
from providers.models import MemoryEffect, MemoryRecord
from providers.record_access import WantedScope
from tests.browser.chromium import Window, open_window
from tests.browser.entering import enter, new_session
from tests.browser.example_records import ENVIRONMENT, doubt
from tests.browser.test_everywhere import violations
from tests.live import LiveHub
from tests.world import Tenant, make_tenant

ALICE = RecordScope("support", "api", "alice")


class Walk:
    """Signed in as the owner of a tenant whose agent remembers two things of Alice."""

    def __init__(self, window: Window, hub: LiveHub, tenant: Tenant, known: dict[str, list[str]]) -> None:
        self.window, self.page, self.tenant, self.known = window, window.page, tenant, known
        enter(self.page, hub.url, aside(lambda: new_session(tenant.owner)))
        self.base = f"{hub.url}/p/{tenant.project.wire_id}/{ENVIRONMENT}"

    def heading(self, text: str) -> None:
        self.page.get_by_role("heading", name=text, level=1).wait_for()

    def press(self, name: str, *, role: Any = "button") -> None:
        self.page.locator("#main").get_by_role(role, name=name, exact=True).click()

    def texts(self) -> list[str]:
        held = MemoryRecord.objects.filter(project_id=self.tenant.project.id, forgotten_at=None)
        return aside(lambda: [str(one) for one in held.order_by("id").values_list("text", flat=True)])


def aside[Result](work: Callable[[], Result]) -> Result:
    """What asks the database, in another thread: this one runs the browser's loop."""

    def asked() -> Result:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asked).result()


def save(text: str, actor: Actor) -> None:
    records.save_record(
        WantedScope(ENVIRONMENT, ALICE), {"text": text, "thread": "chat"}, key=text, actor=actor
    )


@pytest.fixture
def walk(live_hub: LiveHub, django_db_blocker: DjangoDbBlocker) -> Iterator[Walk]:
    with django_db_blocker.unblock():
        tenant = make_tenant()
        known: dict[str, list[str]] = {}
        with override_settings(PARTITION_KEY=settings.PARTITION_KEY or bytes(32)):
            save("Alice drinks tea in the morning.", tenant.actor)
            save("She has it at nine.", tenant.actor)
            doubt(known, ALICE, "Alice moved.", tenant.actor)
        with open_window(width=1200, scheme="light") as window:
            yield Walk(window, live_hub, tenant, known)
        connection.close()


def test_what_is_remembered_is_found_with_its_reasons_and_forgotten_over_the_page(walk: Walk) -> None:
    page = walk.page
    page.goto(f"{walk.base}/records")
    page.get_by_role("link", name="support for alice").click()
    walk.heading("support for alice")
    walk.press("Search", role="link")
    walk.heading("Search support for alice")
    page.get_by_label("What is searched for").fill("When does Alice drink tea?")
    walk.press("Search")
    page.get_by_role("heading", name="2 hits, best first").wait_for()
    second = page.get_by_role("region", name="Hit 2")
    second.get_by_text("Why:").click()
    second.get_by_text("The record just before it in its thread").wait_for()
    assert violations(page) == []
    second.get_by_role("link", name="Forget… hit 2").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("heading", name="Forget this record?").wait_for()
    dialog.get_by_text("There is no way back").wait_for()
    dialog.get_by_role("button", name="Cancel").or_(dialog.get_by_role("link", name="Cancel")).click()
    assert walk.texts() == ["Alice drinks tea in the morning.", "She has it at nine."]


def test_lost_writes_are_decided_by_keyboard(walk: Walk) -> None:
    page = walk.page
    page.goto(f"{walk.base}/records/effects")
    walk.heading("Writes of unknown outcome")
    page.keyboard.press("j")
    page.keyboard.press("a")
    walk.heading("Forget of a record Unknown")
    page.keyboard.press("n")
    walk.heading("Save of a record Unknown")
    page.keyboard.press("r")  # its provider is not configured, so nothing can be sent again
    page.keyboard.press("a")
    page.get_by_text("The write is taken for done.").wait_for()
    walk.heading("Save of a record Decided")
    effect_id = walk.known["effect_id"][0].partition("_")[2]
    effect = aside(lambda: MemoryEffect.objects.get(id=effect_id))
    assert (effect.state, effect.decision, effect.decided_by_id) == (
        "resolved",
        "done",
        walk.tenant.owner.wire_id,
    )
    page.keyboard.press("n")
    walk.heading("Forget of a record Unknown")
    assert violations(page) == []

"""The pages of webhooks: made with a secret that is shown once, changed, tested, what was sent looked at and sent again."""

import re
from html import unescape
from typing import Any

import pytest

from memoryhub import webhooks
from memoryhub.notice_models import Webhook, WebhookDelivery
from memoryhub.webhook_secrets import open_secrets
from tests.browser.example_webhooks import _attempt, _end, _tell
from tests.console.site import Site, add_person, form_of, sign_in
from tests.webhooks.receivers import deliveries
from tests.world import Tenant

URL = "https://desk.example.com/hooks"


@pytest.fixture
def owner(tenant: Tenant, quiet: list[Any]) -> Site:
    return sign_in(tenant.owner, tenant.project)


@pytest.fixture
def webhook(tenant: Tenant) -> Webhook:
    return webhooks.create_webhook(
        environment="development", url=URL, description="The desk", event_types=["*"], actor=tenant.actor
    ).webhook


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", answer.content.decode())))


def row(tenant: Tenant) -> Webhook:
    return Webhook.objects.get(project=tenant.project)


def test_an_environment_without_webhooks_shows_the_call_that_makes_one(owner: Site) -> None:
    shown = text(owner.get("/webhooks"))
    assert "No webhook yet" in shown and "/v1/webhooks" in shown


def test_a_webhook_is_made_and_its_secret_shown_once(owner: Site, tenant: Tenant) -> None:
    form = form_of(owner.get("/webhooks/new")) | {
        "url": URL,
        "description": "",
        "event_types": "webhook.test",
    }
    made = owner.post("/webhooks/new", form)
    [secret] = open_secrets(row(tenant))
    assert secret in made.content.decode()
    assert row(tenant).event_types == ["webhook.test"]
    again = owner.post("/webhooks/new", form)
    assert again.status_code == 409 and "made already" in text(again)
    path = f"/webhooks/{row(tenant).wire_id}"
    for page in ("/webhooks", path, f"{path}/settings", f"{path}/rotate", f"{path}/delete"):
        assert secret not in owner.get(page).content.decode()


@pytest.mark.parametrize("url", ["http://desk.example.com/", "https://10.0.0.1/", ""])
def test_an_address_that_would_not_be_called_is_said_beside_its_field(
    owner: Site, tenant: Tenant, url: str
) -> None:
    form = form_of(owner.get("/webhooks/new")) | {"url": url, "event_types": "*"}
    refused = owner.post("/webhooks/new", form)
    assert refused.status_code == 400 and "id_url_error" in refused.content.decode()
    assert not Webhook.objects.filter(project=tenant.project).exists()


def test_settings_are_changed_and_it_is_disabled_and_enabled(
    owner: Site, tenant: Tenant, webhook: Webhook
) -> None:
    path = f"/webhooks/{webhook.wire_id}"
    form = form_of(owner.get(f"{path}/settings")) | {"url": URL + "/2", "event_types": "webhook.test"}
    form.pop("enabled", None)
    assert owner.post(f"{path}/settings", form).status_code == 302
    changed = row(tenant)
    assert (changed.url, changed.event_types, changed.disabled_reason) == (
        URL + "/2",
        ["webhook.test"],
        "owner",
    )
    assert "by an owner" in text(owner.get(path))
    assert owner.post(f"{path}/settings", form | {"enabled": "on"}).status_code == 302
    assert row(tenant).is_enabled


def test_a_secret_is_rotated_once_by_one_form(owner: Site, tenant: Tenant, webhook: Webhook) -> None:
    path = f"/webhooks/{webhook.wire_id}/rotate"
    form = form_of(owner.get(path)) | {"overlap_seconds": "3600"}
    [old] = open_secrets(row(tenant))
    shown = owner.post(path, form).content.decode()
    new, still = open_secrets(row(tenant))
    assert new in shown and still == old and old not in shown
    refused = owner.post(path, form)
    assert refused.status_code == 409 and open_secrets(row(tenant)) == [new, old]


def test_a_test_leads_to_its_delivery(owner: Site, webhook: Webhook) -> None:
    path = f"/webhooks/{webhook.wire_id}"
    sent = owner.post(f"{path}/test")
    [delivery] = deliveries(webhook)
    assert sent["Location"].endswith(f"{path}/deliveries/{delivery.wire_id}")
    shown = text(owner.get(f"{path}/deliveries/{delivery.wire_id}"))
    assert "On its way" in shown and "webhook.test" in shown and "None yet" in shown


def test_the_log_shows_each_attempt_and_sends_again(owner: Site, webhook: Webhook) -> None:
    path = f"/webhooks/{webhook.wire_id}"
    failed, delivered = _tell(webhook), _tell(webhook)
    _attempt(failed, 1, "refused", 503, "<b>Busy</b>")
    _end(failed, "failed", "refused")
    _attempt(delivered, 1, "delivered", 200, "")
    _end(delivered, "delivered", "delivered")
    listed = owner.get(path).content.decode()
    assert failed.wire_id in listed and delivered.wire_id in listed
    filtered = owner.get(path, state="failed").content.decode()
    assert failed.wire_id in filtered and delivered.wire_id not in filtered
    page = owner.get(f"{path}/deliveries/{failed.wire_id}")
    assert "&lt;b&gt;Busy&lt;/b&gt;" in page.content.decode()
    assert "503" in text(page) and "refused" in text(page)
    assert owner.post(f"{path}/deliveries/{failed.wire_id}/replay").status_code == 302
    assert [one.state for one in deliveries(webhook)] == ["pending", "delivered"]


def test_what_failed_since_a_day_is_sent_again(owner: Site, webhook: Webhook) -> None:
    path = f"/webhooks/{webhook.wire_id}"
    for _ in range(2):
        _end(_tell(webhook), "failed", "expired")
    assert owner.post(f"{path}/replay", {"first_day": "no day"}).status_code == 302
    assert {one.state for one in deliveries(webhook)} == {"failed"}
    owner.post(f"{path}/replay", {"first_day": "2020-01-01"})
    assert {one.state for one in deliveries(webhook)} == {"pending"}
    assert "2 that failed are sent again" in text(owner.get(path))


def test_one_that_the_hub_disabled_says_why_and_waits_on_the_overview(owner: Site, webhook: Webhook) -> None:
    for reason, said in (("gone", "its receiver is gone"), ("failing", "its receiver failed for days")):
        Webhook.objects.filter(id=webhook.id).update(
            disabled_at=webhook.created_at, disabled_reason=reason, failing_since=webhook.created_at
        )
        assert f"A webhook (The desk) is disabled: {said}." in text(owner.get())
        path = f"/webhooks/{webhook.wire_id}"
        assert "The hub has disabled it" in text(owner.get(path))
        assert owner.post(f"{path}/test")["Location"].endswith(path)
    assert not WebhookDelivery.objects.filter(webhook=webhook).exists()


def test_it_is_deleted_after_a_question(owner: Site, tenant: Tenant, webhook: Webhook) -> None:
    path = f"/webhooks/{webhook.wire_id}/delete"
    assert URL in text(owner.get(path))
    assert owner.post(path).status_code == 302
    assert not Webhook.objects.filter(project=tenant.project).exists()


@pytest.mark.parametrize("role", ["developer", "reviewer", "viewer"])
def test_only_owners_see_them(tenant: Tenant, webhook: Webhook, role: str) -> None:
    site = sign_in(add_person(tenant, role), tenant.project)
    assert site.get("/webhooks").status_code == 403
    assert site.get(f"/webhooks/{webhook.wire_id}").status_code == 403
    assert "desk.example.com" not in site.get().content.decode()

"""The REST door of webhooks: what it takes, what it shows, what it never shows."""

import base64
import json
from typing import Any

import pytest

from memoryhub import ids, webhook_deliveries, webhook_sending
from memoryhub.encryption import key_name
from memoryhub.models import AuditEvent
from memoryhub.notice_models import Notice, Webhook, WebhookDelivery
from memoryhub.webhook_secrets import open_secrets, reseal_all
from tests.webhooks.receivers import deliveries, the_delivery
from tests.world import Caller, Tenant, unused_id

URL = "https://hooks.example.com/notices?key=1"


@pytest.fixture
def made(call: Caller, quiet: list[Any]) -> dict[str, Any]:
    return dict(call("POST", "/v1/webhooks", {"url": URL, "event_types": ["webhook.disabled"]}).body)


def row(wire: dict[str, Any]) -> Webhook:
    return Webhook.objects.get(id=ids.from_wire(ids.WEBHOOK, wire["id"]))


def test_a_webhook_is_made_and_its_secret_shown_once(call: Caller, made: dict[str, Any]) -> None:
    secret = made.pop("secret")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert open_secrets(row(made)) == [secret]
    assert call("GET", f"/v1/webhooks/{made['id']}").body == made
    assert call("GET", "/v1/webhooks").body["data"] == [made]
    assert made == {
        "id": made["id"],
        "type": "webhook",
        "environment_id": made["environment_id"],
        "url": URL,
        "description": "",
        "event_types": ["webhook.disabled"],
        "enabled": True,
        "disabled_at": None,
        "disabled_reason": None,
        "failures": 0,
        "failing_since": None,
        "rotated_at": made["rotated_at"],
        "old_secret_until": None,
        "created_at": made["created_at"],
        "created_by": made["created_by"],
    }


def test_left_out_the_event_types_are_all(call: Caller) -> None:
    answer = call("POST", "/v1/webhooks", {"url": URL})
    assert (answer.status, answer.body["event_types"]) == (201, ["*"])


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://10.0.0.1/",
        "https://127.1/",
        "https://[::1]/",
        "https://user@hooks.example.com/",
        "https://hooks.example.com/#part",
        "https://hooks.example.com//a",
        "https://hooks.example.com/a/../b",
        "https://hooks.example.com/ä",
        "https://hooks.example.com/?a=ä",
        "https://hooks.example.com/?a=%zz",
        "https://hooks.example.com/a b",
        "https://hooks.example.com:0/",
        "ftp://hooks.example.com/",
        "hooks.example.com",
        "https://hooks.example.com/" + "a" * 2_048,
    ],
)
def test_a_url_that_would_not_be_called_is_refused(call: Caller, made: dict[str, Any], url: str) -> None:
    created = call("POST", "/v1/webhooks", {"url": url})
    changed = call("PATCH", f"/v1/webhooks/{made['id']}", {"url": url})
    for answer in (created, changed):
        assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
        assert answer.body["error"]["message"].startswith("url: ")
    assert row(made).url == URL


@pytest.mark.parametrize("named", [[], ["nothing.happened"], ["*", "nothing.happened"], "webhook.test", [1]])
def test_events_that_there_are_not_are_refused(call: Caller, made: dict[str, Any], named: Any) -> None:
    for method, path in (("POST", "/v1/webhooks"), ("PATCH", f"/v1/webhooks/{made['id']}")):
        answer = call(method, path, {"url": URL, "event_types": named})
        assert answer.status == 400
        assert answer.body["error"]["message"].startswith("event_types")


def test_it_is_changed_disabled_and_enabled(call: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/webhooks/{made['id']}"
    changed = call("PATCH", path, {"url": URL + "2", "description": "To the desk", "event_types": ["*"]}).body
    assert (changed["url"], changed["description"], changed["event_types"]) == (
        URL + "2",
        "To the desk",
        ["*"],
    )
    events = AuditEvent.objects.filter(subject_id=made["id"])
    before = events.count()
    assert call("PATCH", path, {"description": "To the desk"}).body == changed
    assert events.count() == before
    off = call("PATCH", path, {"enabled": False}).body
    assert (off["enabled"], off["disabled_reason"]) == (False, "owner")
    for action in ("test", "replay"):
        refused = call(
            "POST", f"{path}/{action}", {"since": "2020-01-01T00:00:00Z"} if action == "replay" else None
        )
        assert (refused.status, refused.body["error"]["details"]["error_code"]) == (409, "webhook_disabled")
    on = call("PATCH", path, {"enabled": True}).body
    assert (on["enabled"], on["disabled_reason"]) == (True, None)


def test_a_rotation_shows_the_new_secret_and_says_until_when_the_old_one_signs(
    call: Caller, made: dict[str, Any]
) -> None:
    path = f"/v1/webhooks/{made['id']}/rotate"
    rotated = call("POST", path, {"overlap_seconds": 60}).body
    assert rotated["old_secret_until"] > rotated["rotated_at"]
    assert open_secrets(row(made)) == [rotated["secret"], made["secret"]]
    again = call("POST", path, {"overlap_seconds": 0}).body
    assert open_secrets(row(made)) == [again["secret"]]
    assert call("POST", path).status == 200
    assert call("POST", path, {"overlap_seconds": 7 * 86_400 + 1}).status == 400


def test_a_test_is_sent_to_this_webhook_alone(call: Caller, made: dict[str, Any], quiet: list[Any]) -> None:
    other = call("POST", "/v1/webhooks", {"url": URL}).body
    sent = call("POST", f"/v1/webhooks/{made['id']}/test").body
    assert (sent["event_type"], sent["state"], sent["attempts_count"]) == ("webhook.test", "pending", 0)
    assert sent["payload"]["data"]["webhook_id"] == made["id"]
    assert deliveries(row(other)) == []


def test_the_log_is_filtered_and_paged(call: Caller, made: dict[str, Any]) -> None:
    sent = [call("POST", f"/v1/webhooks/{made['id']}/test").body["id"] for _ in range(5)]
    failed = WebhookDelivery.objects.filter(id=ids.from_wire(ids.WEBHOOK_DELIVERY, sent[1]))
    failed.update(state="failed", code="refused", finished_at=row(made).created_at)
    path = f"/v1/webhooks/{made['id']}/deliveries"

    def listed(**query: Any) -> list[str]:
        return [one["id"] for one in call("GET", path, query=query).body["data"]]

    assert listed() == sent[::-1]
    assert listed(state="failed") == [sent[1]]
    assert listed(state="pending", limit=2) == [sent[4], sent[3]]
    assert listed(**{"created_at[gte]": "2126-01-01T00:00:00Z"}) == []
    page = call("GET", path, query={"limit": 3}).body
    assert listed(page=page["next_page"], limit=3) == [sent[1], sent[0]]
    assert call("GET", path, query={"page": page["next_page"], "state": "failed"}).status == 400
    assert call("GET", path, query={"state": "lost"}).status == 400


def test_what_failed_since_a_time_is_sent_again(
    call: Caller, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/v1/webhooks/{made['id']}"
    for _ in range(4):
        call("POST", f"{path}/test")
    rows = deliveries(row(made))
    mine = WebhookDelivery.objects.filter(webhook=row(made))
    over = {"code": "refused", "finished_at": rows[0].created_at, "attempts": 10, "tries": 10}
    mine.filter(id__in=[one.id for one in rows[:3]]).update(state="failed", **over)
    mine.filter(id=rows[3].id).update(state="delivered", **over)
    since = {"since": rows[1].created_at.isoformat()}
    assert call("POST", f"{path}/replay", since).body == {
        "type": "webhook_replay",
        "webhook_id": made["id"],
        "replayed": 2,
        "has_more": False,
    }
    assert [one.state for one in deliveries(row(made))] == ["failed", "pending", "pending", "delivered"]
    assert [(one.attempts, one.tries) for one in deliveries(row(made))][1] == (10, 0)
    mine.update(state="failed", **over)
    monkeypatch.setattr(webhook_deliveries, "REPLAYED_AT_ONCE_MAX", 3)
    answer = call("POST", f"{path}/replay", {"since": "2020-01-01T00:00:00Z"}).body
    assert (answer["replayed"], answer["has_more"]) == (3, True)


def test_one_is_sent_again_with_the_id_that_it_had(call: Caller, made: dict[str, Any]) -> None:
    path = f"/v1/webhooks/{made['id']}"
    sent = call("POST", f"{path}/test").body
    WebhookDelivery.objects.filter(webhook=row(made)).update(
        state="delivered", code="delivered", attempts=1, tries=1, finished_at=row(made).created_at
    )
    again = call("POST", f"{path}/deliveries/{sent['id']}/replay").body
    assert (again["notice_id"], again["state"], again["payload"]) == (
        sent["notice_id"],
        "pending",
        sent["payload"],
    )


def test_a_webhook_is_deleted_with_its_log(call: Caller, made: dict[str, Any]) -> None:
    call("POST", f"/v1/webhooks/{made['id']}/test")
    path = f"/v1/webhooks/{made['id']}"
    assert call("DELETE", path).body == {"id": made["id"], "type": "webhook_deleted"}
    assert call("GET", path).status == call("DELETE", path).status == 404
    assert not WebhookDelivery.objects.filter(webhook_id=ids.from_wire(ids.WEBHOOK, made["id"])).exists()


def test_an_environment_has_few(call: Caller, made: dict[str, Any], settings: Any) -> None:
    settings.WEBHOOKS_MAX = 1
    refused = call("POST", "/v1/webhooks", {"url": URL})
    assert (refused.status, refused.body["error"]["details"]["error_code"]) == (400, "webhooks_full")


def test_without_a_key_to_seal_with_none_is_made(call: Caller, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    assert call("POST", "/v1/webhooks", {"url": URL}).status == 503


@pytest.mark.parametrize("scope", ["host", "review", "read"])
def test_addresses_may_hold_secrets_so_only_owners_read_them(
    tenant: Tenant, made: dict[str, Any], scope: str
) -> None:
    caller = tenant.caller(scope)
    for path in ("/v1/webhooks", f"/v1/webhooks/{made['id']}", f"/v1/webhooks/{made['id']}/deliveries"):
        assert caller("GET", path).status == 403


def test_a_webhook_of_another_environment_is_not_there(tenant: Tenant, made: dict[str, Any]) -> None:
    other = Caller(tenant.production_key)
    for method, path in (
        ("GET", f"/v1/webhooks/{made['id']}"),
        ("DELETE", f"/v1/webhooks/{made['id']}"),
        ("POST", f"/v1/webhooks/{made['id']}/rotate"),
        ("GET", f"/v1/webhooks/{made['id']}/deliveries"),
    ):
        answer = other(method, path)
        ghost = other(method, path.replace(made["id"], unused_id(ids.WEBHOOK)))
        assert (answer.status, answer.body["error"]) == (404, ghost.body["error"])
    assert other("GET", "/v1/webhooks").body["data"] == []


def test_neither_the_secret_nor_the_url_is_in_the_trail_or_the_log(
    call: Caller, made: dict[str, Any], capfd: pytest.CaptureFixture[str], quiet: list[Any]
) -> None:
    rotated = call("POST", f"/v1/webhooks/{made['id']}/rotate").body
    call("PATCH", f"/v1/webhooks/{made['id']}", {"url": URL + "3"})
    call("POST", f"/v1/webhooks/{made['id']}/test")
    trail = json.dumps(list(AuditEvent.objects.filter(subject_id=made["id"]).values("action", "details")))
    assert AuditEvent.objects.filter(subject_id=made["id"]).count() == 4
    log = capfd.readouterr()
    for hidden in (made["secret"], rotated["secret"], "hooks.example.com"):
        assert hidden not in trail + log.out + log.err + json.dumps(quiet)
    assert made["secret"] not in repr(row(made)) and made["secret"].encode() not in bytes(row(made).sealed)


def test_secrets_are_sealed_anew_with_those_of_connections(
    call: Caller, made: dict[str, Any], settings: Any
) -> None:
    rotated = call("POST", f"/v1/webhooks/{made['id']}/rotate").body
    old = list(settings.ENCRYPTION_KEYS)
    settings.ENCRYPTION_KEYS = [bytes(32), *old]
    assert reseal_all() >= 1 and reseal_all() == 0
    settings.ENCRYPTION_KEYS = [bytes(32)]
    assert row(made).sealed_with == row(made).old_sealed_with == key_name(bytes(32))
    assert open_secrets(row(made)) == [rotated["secret"], made["secret"]]


def test_what_ended_long_ago_goes_and_what_is_on_its_way_stays(call: Caller, made: dict[str, Any]) -> None:
    for _ in range(2):
        call("POST", f"/v1/webhooks/{made['id']}/test")
    first, second = deliveries(row(made))
    long_ago = "2020-01-01T00:00:00Z"
    Notice.objects.filter(id__in=[first.notice_id, second.notice_id]).update(created_at=long_ago)
    WebhookDelivery.objects.filter(id=first.id).update(
        state="delivered", code="delivered", finished_at=long_ago
    )
    webhook_sending.clear_expired()
    assert the_delivery(row(made)).id == second.id
    assert list(Notice.objects.filter(id__in=[first.notice_id, second.notice_id])) == [second.notice]

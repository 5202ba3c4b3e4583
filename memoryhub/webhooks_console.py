"""The pages of webhooks: made, changed, tested, their secret rotated; what was sent, with every attempt, and sent again."""

import json
from datetime import UTC, datetime, time

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memoryhub import ids, webhook_deliveries
from memoryhub import webhooks as verbs
from memoryhub.actor_names import name_actors
from memoryhub.actors import Actor
from memoryhub.errors import Conflict, InvalidRequest, Unavailable
from memoryhub.forms import add_refusal
from memoryhub.notice_models import DELIVERY_STATES, Webhook
from memoryhub.notices import payload_of
from memoryhub.pages import PageRequest, form_status, go_to, list_request, page
from memoryhub.problems import status_of
from memoryhub.rooms import Need
from memoryhub.webhook_forms import CreateWebhookForm, ReplayForm, RotateWebhookForm, WebhookForm
from memoryhub.webhooks import IssuedWebhook

BROKEN_SHOWN_MAX = 3
CREATE_EXAMPLE = """curl {url}/v1/webhooks \\
  -H "Authorization: Bearer $MEMORYHUB_KEY" -H "Content-Type: application/json" \\
  -d '{{"url": "https://desk.example.com/hooks", "environment": "{environment}"}}'"""


@page("webhooks.list")
@require_safe
def webhooks(request: PageRequest, *, actor: Actor) -> HttpResponse:
    shown = verbs.list_webhooks(list_request(request, "console.webhooks", {}), environment=None, actor=actor)
    facts = {
        "webhooks": shown,
        "can_seal": bool(settings.ENCRYPTION_KEYS),
        "example": CREATE_EXAMPLE.format(url=settings.BASE_URL, environment=request.place.environment.name),
    }
    return render(request, "memoryhub/webhooks.html", facts)


@page("webhooks.create")
def create_webhook(request: PageRequest, *, actor: Actor) -> HttpResponse:
    """The answer to the form is the only page that shows the secret."""
    form = CreateWebhookForm(request.POST or None, actor=actor)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        try:
            issued = verbs.create_webhook(
                environment=None, **form.cleaned_data, webhook_id=form.promised_id, actor=actor
            )
            return _show_secret(request, issued, is_new=True)
        except Conflict:
            return _show_made(request, form, actor)
        except (InvalidRequest, Unavailable) as error:
            add_refusal(form, error)
            status = status_of(error)
    return render(request, "memoryhub/create_webhook.html", {"form": form}, status=status)


def _show_secret(request: PageRequest, issued: IssuedWebhook, *, is_new: bool) -> HttpResponse:
    facts = {"webhook": issued.webhook, "secret": issued.secret, "is_new": is_new}
    return render(request, "memoryhub/webhook_issued.html", facts)


def _show_made(request: PageRequest, form: CreateWebhookForm, actor: Actor) -> HttpResponse:
    assert form.promised_id is not None
    made = verbs.get_webhook(ids.to_wire(ids.WEBHOOK, form.promised_id), actor=actor)
    return render(request, "memoryhub/webhook_made.html", {"webhook": made}, status=409)


@page("webhooks.get")
@require_safe
def webhook(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    """With the log of what was sent, of one state when `?state=` names it."""
    shown = verbs.get_webhook(webhook_id, actor=actor)
    state = request.GET.get("state") if request.GET.get("state") in DELIVERY_STATES else None
    wanted = list_request(request, "console.webhook", {"webhook": webhook_id, "state": state})
    facts = {
        "webhook": shown,
        "is_paused": shown.paused_until is not None and shown.paused_until > timezone.now(),
        "old_signs": shown.old_until is not None and shown.old_until > timezone.now(),
        "deliveries": webhook_deliveries.list_deliveries(
            webhook_id, wanted, state=state, since=None, actor=actor
        ),
        "state": state,
        "states": DELIVERY_STATES,
        "form": ReplayForm(),
        "names": name_actors([shown.created_by_id], actor=actor),
    }
    return render(request, "memoryhub/webhook.html", facts)


@page("webhooks.update")
def webhook_settings(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    shown = verbs.get_webhook(webhook_id, actor=actor)
    initial = {"enabled": shown.is_enabled} | {
        name: getattr(shown, name) for name in ("url", "description", "event_types")
    }
    form = WebhookForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            verbs.update_webhook(webhook_id, changes=form.cleaned_data, actor=actor)
        except InvalidRequest as error:
            add_refusal(form, error)
        else:
            messages.success(request, "The webhook is changed.")
            return go_to(request, "webhook", webhook_id=webhook_id)
    facts = {"webhook": shown, "form": form}
    return render(request, "memoryhub/webhook_settings.html", facts, status=form_status(request))


@page("webhooks.rotate")
def rotate_webhook(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    """The form carries when the secret was made: one that is sent twice rotates once."""
    shown = verbs.get_webhook(webhook_id, actor=actor)
    form = RotateWebhookForm(request.POST or None)
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        try:
            issued = verbs.rotate_secret(
                webhook_id, **form.cleaned_data, expected_rotated_at=_read_instant(request), actor=actor
            )
            return _show_secret(request, issued, is_new=False)
        except (Conflict, Unavailable) as error:
            add_refusal(form, error)
            status = status_of(error)
    facts = {"webhook": shown, "form": form, "rotated_at": shown.rotated_at.isoformat()}
    return render(request, "memoryhub/rotate_webhook.html", facts, status=status)


def _read_instant(request: PageRequest) -> datetime:
    try:
        return datetime.fromisoformat(request.POST.get("rotated_at", ""))
    except ValueError as error:
        raise InvalidRequest("The form is not whole; reload the page.") from error


@page("webhooks.delete")
def delete_webhook(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    """Asks first: the log goes too."""
    shown = verbs.get_webhook(webhook_id, actor=actor)
    if request.method == "POST":
        verbs.delete_webhook(webhook_id, actor=actor)
        messages.success(request, "The webhook is deleted, with its log.")
        return go_to(request, "webhooks")
    return render(request, "memoryhub/delete_webhook.html", {"webhook": shown})


@page("webhooks.test")
@require_POST
def test_webhook(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    try:
        sent = webhook_deliveries.send_test(webhook_id, actor=actor)
    except Conflict as error:
        messages.warning(request, error.message)
        return go_to(request, "webhook", webhook_id=webhook_id)
    messages.success(request, "A test is on its way. Reload the page to see what came of it.")
    return go_to(request, "webhook-delivery", webhook_id=webhook_id, delivery_id=sent.wire_id)


@page("webhooks.replay")
@require_POST
def replay_failed(request: PageRequest, webhook_id: str, *, actor: Actor) -> HttpResponse:
    form = ReplayForm(request.POST)
    if not form.is_valid():
        verbs.get_webhook(webhook_id, actor=actor)
        messages.warning(request, "Choose the day since which what failed is sent again.")
        return go_to(request, "webhook", webhook_id=webhook_id)
    since = datetime.combine(form.cleaned_data["first_day"], time.min, UTC)
    try:
        count, has_more = webhook_deliveries.replay_failed(webhook_id, since=since, actor=actor)
    except Conflict as error:
        messages.warning(request, error.message)
    else:
        more = " There are more: send the form again." if has_more else ""
        messages.success(request, f"{count} that failed {'is' if count == 1 else 'are'} sent again.{more}")
    return go_to(request, "webhook", webhook_id=webhook_id)


@page("webhook_deliveries.get")
@require_safe
def delivery(request: PageRequest, webhook_id: str, delivery_id: str, *, actor: Actor) -> HttpResponse:
    """With what is sent, and every attempt."""
    shown = webhook_deliveries.get_delivery(webhook_id, delivery_id, actor=actor)
    facts = {
        "webhook": verbs.get_webhook(webhook_id, actor=actor),
        "delivery": shown,
        "attempts": webhook_deliveries.list_attempts(shown),
        "payload": json.dumps(payload_of(shown.notice), indent=2),
    }
    return render(request, "memoryhub/webhook_delivery.html", facts)


@page("webhook_deliveries.replay")
@require_POST
def replay_delivery(request: PageRequest, webhook_id: str, delivery_id: str, *, actor: Actor) -> HttpResponse:
    try:
        webhook_deliveries.replay_delivery(webhook_id, delivery_id, actor=actor)
    except Conflict as error:
        messages.warning(request, error.message)
    else:
        messages.success(request, "It is sent again. Reload the page to see what came of it.")
    return go_to(request, "webhook-delivery", webhook_id=webhook_id, delivery_id=delivery_id)


def read_needs(actor: Actor) -> list[Need]:
    """Webhooks that the hub has disabled, for somebody to look at."""
    broken = verbs.list_broken(actor, rows_max=BROKEN_SHOWN_MAX)
    return [_need(one) for one in broken]


def _need(webhook: Webhook) -> Need:
    about = f" ({webhook.description})" if webhook.description else ""
    why = "its receiver is gone" if webhook.disabled_reason == "gone" else "its receiver failed for days"
    return Need(f"A webhook{about} is disabled: {why}.", "webhook", {"webhook_id": webhook.wire_id})

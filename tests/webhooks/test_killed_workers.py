"""Workers that are killed at each point of sending, by real kills of real processes: what was to be told is told, once by its id."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from django.db import connection

from memoryhub import notices, webhook_sending
from memoryhub.notice_models import WebhookDelivery
from tests.live import url_of
from tests.webhooks.dying_sender import POINTS
from tests.webhooks.receivers import Desk, attempts, the_delivery, verified, wait_until

SENT_BEFORE = {"before_claim": 0, "before_send": 0, "before_answer": 1, "before_row": 1}


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_that_is_killed(desk: Desk, point: str, quiet: list[Any]) -> None:
    issued = desk.add()
    desk.tell()
    environment = {
        **os.environ,
        "DATABASE_URL": url_of(connection.settings_dict),
        "MEMORYHUB_EGRESS_PRIVATE_ORIGINS": f"{desk.receiver.origin}=127.0.0.0/8",
    }
    killed = subprocess.run(
        [sys.executable, "-m", "tests.webhooks.dying_sender", point, issued.webhook.id.hex],
        env=environment,
        timeout=120,
    )
    assert killed.returncode == -signal.SIGKILL
    wait_until(lambda: len(desk.receiver.exchanges) == SENT_BEFORE[point])
    delivery = the_delivery(issued.webhook)
    assert (delivery.state, delivery.attempts) == ("pending", 0 if point == "before_claim" else 1)
    WebhookDelivery.objects.filter(id=delivery.id, claim__isnull=False).update(
        leased_until=delivery.created_at
    )
    quiet.clear()
    webhook_sending.sweep()
    assert (notices.SEND, (issued.webhook.wire_id,)) in quiet
    assert desk.send(issued.webhook) and not desk.send(issued.webhook)
    sent = desk.receiver.exchanges
    assert len(sent) == SENT_BEFORE[point] + 1
    assert len({one.headers["webhook-id"] for one in sent}) == len({one.body for one in sent}) == 1
    for exchange in sent:
        verified(exchange, issued.secret)
    assert the_delivery(issued.webhook).state == "delivered" and len(attempts(delivery)) == 1

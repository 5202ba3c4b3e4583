"""Secrets of connections: where they are used, and that they are shown nowhere."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.db.transaction import atomic

from memoryhub.errors import RecallFailed
from memoryhub.models import Secret
from providers import model_requests
from tests.providers import misbehaving
from tests.providers.services import SECRET, Service, in_thread


def test_a_secret_for_another_origin_is_not_sent(service: Service) -> None:
    service.put_secret(origins=["https://elsewhere.example"])
    with pytest.raises(RecallFailed) as failed:
        service.recall(service.open())
    assert failed.value.facts["cause"]["code"] == "secret_unavailable"
    assert service.endpoint.exchanges == []


def test_a_changed_secret_reaches_a_session_that_has_begun(service: Service) -> None:
    session_id = service.open()
    service.recall(session_id)
    service.put_secret("tok-new")
    service.recall(session_id, "r2")
    assert service.endpoint.exchanges[1].headers["authorization"] == "Bearer tok-new"


def test_a_use_is_noted_once_a_minute(service: Service) -> None:
    session_id = service.open()
    held = Secret.objects.filter(project_id=service.actor.project_id)
    assert held.get().last_used_at is None
    service.recall(session_id)
    first = held.get().last_used_at
    assert first is not None
    service.recall(session_id, "r2")
    assert held.get().last_used_at == first, "no write for each call"
    held.update(last_used_at=first - timedelta(seconds=61))
    service.recall(session_id, "r3")
    assert held.get().last_used_at > first


def test_a_use_is_noted_only_of_what_is_sent(service: Service) -> None:
    service.put_secret(origins=["https://elsewhere.example"])
    with pytest.raises(RecallFailed):
        service.recall(service.open())
    assert Secret.objects.get(project_id=service.actor.project_id).last_used_at is None


def test_who_replaces_a_secret_holds_up_no_call(service: Service) -> None:
    """The use is left unnoted then: a call never waits for a person."""
    session_id = service.open()
    with ThreadPoolExecutor(1) as pool, atomic():
        Secret.objects.select_for_update().get(project_id=service.actor.project_id)
        recalled = pool.submit(in_thread, lambda: service.recall(session_id))
        assert recalled.result(timeout=5).projections[0].text == "Known."
    assert Secret.objects.get(project_id=service.actor.project_id).last_used_at is None


def test_a_secret_that_is_echoed_is_shown_nowhere(
    service: Service, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(exchange: misbehaving.Exchange) -> None:
        said = f"You sent {exchange.headers['authorization']}."
        body = json.dumps({"text": said, "sources": [{"id": said}], "result": {said: [said]}, "cursor": said})
        exchange.send(misbehaving.answer(200, body.encode(), X_Echo=said))

    service.endpoint.always = echo
    session_id = service.open()
    accepted = service.recall(session_id)
    assert accepted.projections[0].text == "You sent [redacted]."
    model_requests.select_memory(session_id, accepted.request.wire_id, use=["knowledge"], actor=service.actor)
    service.call(session_id, accepted.request.wire_id, "memory_note", fact="x")
    service.endpoint.always = misbehaving.error(400, "bad", details=f"no {SECRET} here")
    failed = service.call(session_id, accepted.request.wire_id, "memory_note", "c2", fact="x")
    assert failed.output["error"]["details"] == "no [redacted] here"
    assert SECRET not in caplog.text + capfd.readouterr().err
    assert tables_with(SECRET) == []


def tables_with(text: str) -> list[str]:
    """Every table that holds the text in a row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = [name for (name,) in cursor.fetchall()]
        found = []
        for name in names:
            cursor.execute(f'SELECT 1 FROM "{name}" t WHERE t::text LIKE %s LIMIT 1', [f"%{text}%"])
            hexed = text.encode().hex()
            found += [name] if cursor.fetchone() else []
            cursor.execute(f'SELECT 1 FROM "{name}" t WHERE t::text LIKE %s LIMIT 1', [f"%{hexed}%"])
            found += [name] if cursor.fetchone() else []
    return found

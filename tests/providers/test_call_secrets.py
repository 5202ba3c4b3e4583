"""Secrets of connections: where they are used, and that they are shown nowhere."""

import json
import logging

import pytest
from django.db import connection

from memoryhub.errors import RecallFailed
from providers import model_requests
from tests.providers import misbehaving
from tests.providers.services import SECRET, Service


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

"""Each cell of the decision table against a real endpoint: how often it was called, and what a model is told."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from memoryhub import egress
from memoryhub.errors import RecallFailed
from providers import http_calls, retries, sessions
from providers.models import Projection
from tests.providers import misbehaving
from tests.providers.misbehaving import Behaviour, Exchange
from tests.providers.services import Service, in_thread, wait_until

RECALL, READ, IDEMPOTENT, ONCE = "recall", "search", "note", "remember"
TOOLS = (READ, IDEMPOTENT, ONCE)
RESULT = {"status": "stored"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DELAY_SECONDS", (0.01, 0.02))


@dataclass(frozen=True)
class Told:
    """`code` None: a result."""

    code: str | None
    value: Any
    calls: int

    @property
    def in_doubt(self) -> bool:
        return self.code is not None and bool(self.value.get("details", {}).get("mayHaveCommitted"))


def ask(service: Service, kind: str, behave: Behaviour) -> Told:
    """Everything that is sent meets the behaviour."""
    if kind == RECALL:
        service.endpoint.always = behave
        try:
            accepted = service.recall(service.open())
        except RecallFailed as error:
            cause = error.facts["cause"]
            return Told(cause["code"], cause, len(service.endpoint.exchanges))
        return Told(None, accepted.projections[0].text, len(service.endpoint.exchanges))
    service.endpoint.script = [behave] * 4
    call = service.use(kind)
    calls = len(service.endpoint.exchanges)
    if call.is_error:
        return Told(call.output["error"]["code"], call.output["error"], calls)
    return Told(None, call.output, calls)


TRANSPORT: list[Behaviour] = [
    misbehaving.drop,
    misbehaving.reset,
    misbehaving.drop_inside,
    misbehaving.claims_more,
    misbehaving.raw(b"nonsense\r\n\r\n"),
]


@pytest.mark.parametrize("behave", TRANSPORT)
def test_a_failure_of_transport_is_tried_three_times_and_a_write_that_may_not_be_once(
    service: Service, behave: Behaviour
) -> None:
    for kind in (RECALL, READ, IDEMPOTENT):
        told = ask(service, kind, behave)
        assert (told.code, told.calls) == ("retries_exhausted", 3), kind
        assert told.value["details"]["attempts"] == 3
        assert told.in_doubt == (kind == IDEMPOTENT)
        service.endpoint.always = misbehaving.normal
        service.endpoint.exchanges.clear()
    assert ask(service, ONCE, behave) == Told(None, {"status": "uncertain"}, 1)


@pytest.mark.parametrize("behave", [misbehaving.hang, misbehaving.drip_head, misbehaving.drip_body])
def test_the_deadline(service: Service, behave: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(kind: str) -> Told:
        monkeypatch.setattr(http_calls, "BUDGET_SECONDS", 0.7)
        answer = ask(service, kind, behave)
        monkeypatch.setattr(http_calls, "BUDGET_SECONDS", 10.0)
        service.endpoint.always = misbehaving.normal
        service.endpoint.script.clear()
        assert service.endpoint.exchanges[-1].ended.wait(2)
        service.endpoint.exchanges.clear()
        return answer

    for kind in (RECALL, READ, IDEMPOTENT):
        answer = told(kind)
        assert (answer.code, answer.calls) == ("deadline_exceeded", 1), kind
        assert answer.in_doubt == (kind == IDEMPOTENT)
    assert told(ONCE) == Told(None, {"status": "uncertain"}, 1)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_a_busy_endpoint(service: Service, status: int) -> None:
    behave = misbehaving.error(status, "overloaded")
    for kind in (RECALL, READ, IDEMPOTENT):
        told = ask(service, kind, behave)
        assert (told.code, told.calls) == ("retries_exhausted", 3), kind
        assert told.value["details"]["lastStatus"] == status
        assert told.value["details"]["provider"]["code"] == "overloaded"
        assert told.in_doubt == (kind == IDEMPOTENT)
        service.endpoint.always = misbehaving.normal
        service.endpoint.exchanges.clear()
    told = ask(service, ONCE, behave)
    assert (told.code, told.calls, told.in_doubt) == ("overloaded", 1, True)


@pytest.mark.parametrize("kind", [RECALL, READ, IDEMPOTENT])
def test_a_second_try_may_succeed(service: Service, kind: str) -> None:
    failing = [misbehaving.error(503), misbehaving.drop]
    if kind == RECALL:
        service.endpoint.script = list(failing)
        assert service.recall(service.open()).projections[0].text == "Known."
    else:
        service.endpoint.script = list(failing)
        assert service.use(kind).output == RESULT
    assert len(service.endpoint.exchanges) == 3
    assert len({exchange.body for exchange in service.endpoint.exchanges}) == 1
    assert [one.event for one in service.attempts()] == ["busy", "transport_failed", "succeeded"]


type Making = Callable[[Exchange], None]
FINAL: dict[str, tuple[Behaviour, str, bool]] = {
    "invalid JSON": (misbehaving.raw(misbehaving.answer(200, b'{"text": "never')), "invalid_response", True),
    "not UTF-8": (misbehaving.raw(misbehaving.answer(200, b'{"text":"\xff"}')), "invalid_response", True),
    "a repeated key": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":1,"result":2,"text":"","sources":[]}')),
        "invalid_response",
        True,
    ),
    "NaN": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":NaN,"text":"","sources":[]}')),
        "invalid_response",
        True,
    ),
    "deep": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":' + b"[" * 99 + b"]" * 99 + b"}")),
        "invalid_response",
        True,
    ),
    "a list": (misbehaving.body([]), "invalid_response", True),
    "nothing of ours": (misbehaving.body({"other": 1}), "invalid_response", True),
    "HTML": (
        misbehaving.raw(misbehaving.answer(200, b"<html>", Content_Type="text/html")),
        "invalid_response",
        True,
    ),
    "a gzip bomb": (misbehaving.gzip_bomb, "invalid_response", True),
    "65,537 bytes": (
        misbehaving.raw(misbehaving.answer(200, b" " * 65_537)),
        "response_too_large",
        True,
    ),
    "201": (misbehaving.body({"result": 1, "text": "", "sources": []}, 201), "invalid_response", True),
    "204": (misbehaving.raw(b"HTTP/1.1 204 No Content\r\n\r\n"), "invalid_response", True),
    "301": (misbehaving.body({}, 301, Location="http://127.0.0.1:1/"), "redirect_rejected", True),
    "307": (misbehaving.body({}, 307, Location="http://127.0.0.1:1/"), "redirect_rejected", True),
    "101": (
        misbehaving.raw(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
        "invalid_response",
        True,
    ),
    "206": (misbehaving.body({"result": 1, "text": "", "sources": []}, 206), "invalid_response", True),
    "299": (misbehaving.body({"result": 1, "text": "", "sources": []}, 299), "invalid_response", True),
    "no body": (misbehaving.raw(misbehaving.answer(200, b"")), "invalid_response", True),
    "a byte order mark": (
        misbehaving.raw(misbehaving.answer(200, b'\xef\xbb\xbf{"result":1,"text":"","sources":[]}')),
        "invalid_response",
        True,
    ),
    "a lone surrogate": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":"\\ud800","text":"\\ud800","sources":[]}')),
        "invalid_response",
        True,
    ),
    "NUL": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":"\\u0000","text":"\\u0000","sources":[]}')),
        "invalid_response",
        True,
    ),
    "nesting of 1,000": (
        misbehaving.raw(misbehaving.answer(200, b'{"result":' + b"[" * 1_000 + b"]" * 1_000 + b"}")),
        "invalid_response",
        True,
    ),
    "a length that says less": (misbehaving.claims_less, "invalid_response", True),
    "a length of 64 TiB": (misbehaving.claims_huge, "response_too_large", True),
    "br": (misbehaving.encoded("br"), "invalid_response", True),
    "zstd": (misbehaving.encoded("zstd"), "invalid_response", True),
    "identity and gzip": (misbehaving.encoded("identity, gzip"), "invalid_response", True),
    "300": (misbehaving.body({}, 300), "redirect_rejected", True),
    "302": (misbehaving.body({}, 302, Location="/elsewhere"), "redirect_rejected", True),
    "303": (misbehaving.body({}, 303, Location="/elsewhere"), "redirect_rejected", True),
    "304": (misbehaving.raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"), "redirect_rejected", True),
    "308 to itself": (misbehaving.body({}, 308, Location="/memory"), "redirect_rejected", True),
    "401 without an envelope": (
        misbehaving.raw(misbehaving.answer(401, b"who?")),
        "authentication_failed",
        True,
    ),
    "451": (misbehaving.error(451, "not_here"), "not_here", False),
    "404 in gzip": (
        misbehaving.error(404, "not_found", Content_Encoding="gzip"),
        "provider_error",
        False,
    ),
    "401": (misbehaving.error(401, "unauthorized"), "authentication_failed", True),
    "403": (misbehaving.error(403, "read_only"), "authentication_failed", True),
    "400": (misbehaving.error(400, "invalid_arguments"), "invalid_arguments", False),
    "404": (misbehaving.error(404, "not_found"), "not_found", False),
    "409": (misbehaving.error(409, "conflict"), "conflict", False),
    "422": (misbehaving.error(422, "operation_mismatch"), "operation_mismatch", False),
    "410 without an envelope": (
        misbehaving.raw(misbehaving.answer(410, b"gone")),
        "provider_error",
        False,
    ),
}


@pytest.mark.parametrize("name", FINAL)
def test_an_answer_that_is_final(service: Service, name: str) -> None:
    behave, code, doubtful = FINAL[name]
    for kind in (RECALL, *TOOLS):
        told = ask(service, kind, behave)
        assert (told.code, told.calls) == (code, 1), kind
        assert told.in_doubt == (doubtful and kind in (IDEMPOTENT, ONCE)), kind
        service.endpoint.always = misbehaving.normal
        service.endpoint.script.clear()
        service.endpoint.exchanges.clear()


FINE: dict[str, Behaviour] = {
    "in chunks of a byte": misbehaving.chunked,
    "after 103 and 100": misbehaving.informs_first,
    "without a type or a length": misbehaving.untyped,
    "identity": misbehaving.encoded("identity"),
    "65,536 bytes": lambda exchange: (
        exchange.send(
            misbehaving.answer(200, json.dumps(misbehaving.normal_body(exchange.json)).encode().ljust(65_536))
        )
        and None
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_an_answer_that_is_fine(service: Service, name: str) -> None:
    for kind in (RECALL, *TOOLS):
        told = ask(service, kind, FINE[name])
        assert (told.code, told.calls) == (None, 1), (kind, told)
        service.endpoint.always = misbehaving.normal
        service.endpoint.script.clear()
        service.endpoint.exchanges.clear()


def no_name(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(host: str, port: int) -> list[str]:
        return [str(one[4][0]) for one in socket.getaddrinfo("no-such-name.invalid", port)]

    monkeypatch.setattr(egress, "_is_address", lambda host: False)  # of a test's endpoint there is no name
    monkeypatch.setattr(egress, "lookup", lookup)


def nobody_listens(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.endpoint.close()


@pytest.mark.parametrize("break_", [no_name, nobody_listens])
def test_what_cannot_be_reached(
    service: Service, monkeypatch: pytest.MonkeyPatch, break_: Callable[[Service, Any], None]
) -> None:
    session_id = service.open()
    request_id = service.begin(session_id)
    service.endpoint.exchanges.clear()
    break_(service, monkeypatch)
    for number, tool in enumerate(TOOLS):
        call = service.call(session_id, request_id, f"memory_{tool}", f"c{number}", fact="x")
        if tool == ONCE:
            assert (call.output, call.is_error) == ({"status": "uncertain"}, False)
            assert [one.event for one in service.attempts()] == ["transport_failed"]
        else:
            assert call.output["error"]["code"] == "retries_exhausted"
            assert [one.event for one in service.attempts()] == ["transport_failed"] * 3
            assert bool(call.output["error"]["details"].get("mayHaveCommitted")) == (tool == IDEMPOTENT)
    with pytest.raises(RecallFailed) as failed:
        service.recall(session_id, "r9")
    assert failed.value.facts["cause"]["code"] == "retries_exhausted"
    mine = Projection.objects.filter(model_request__session__project=service.tenant.project)
    assert mine.filter(model_request__client_request_id="r9").count() == 0
    assert service.endpoint.exchanges == []


@pytest.mark.parametrize("kind", [RECALL, READ, IDEMPOTENT])
def test_a_session_that_ends_between_attempts(
    service: Service, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "DELAY_SECONDS", (0.4, 0.4))
    session_id = service.open()
    request_id = "" if kind == RECALL else service.begin(session_id)
    service.endpoint.exchanges.clear()
    service.endpoint.always = misbehaving.error(503)

    def run() -> Any:
        if kind == RECALL:
            return service.recall(session_id)
        return service.call(session_id, request_id, f"memory_{kind}", fact="x").output["error"]

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(in_thread, run)
        wait_until(lambda: bool(service.operations()) and service.operations()[0].state == "waiting")
        sessions.end_session(session_id, actor=service.actor)
        if kind == RECALL:
            with pytest.raises(RecallFailed) as failed:
                running.result(5)
            error = failed.value.facts["cause"]
        else:
            error = running.result(5)
    assert error["code"] == "session_closed"
    assert bool(error.get("details", {}).get("mayHaveCommitted")) == (kind == IDEMPOTENT)
    assert len(service.endpoint.exchanges) == 1


def test_the_endpoints_own_error_stands_below_the_hubs(service: Service) -> None:
    told = ask(service, READ, misbehaving.error(403, "read_only", details={"why": "frozen"}))
    assert told.value["details"]["provider"]["details"] == {"why": "frozen"}
    told = ask(service, READ, misbehaving.error(409, "conflict", details=[1, 2]))
    assert told.value == {"code": "conflict", "message": "As scripted.", "details": [1, 2]}


def test_only_an_address_that_is_allowed_is_called(service: Service, settings: Any) -> None:
    request_id = service.begin(session_id := service.open())
    settings.EGRESS_PRIVATE_ORIGINS = {}
    service.endpoint.exchanges.clear()
    for number, tool in enumerate(TOOLS):
        call = service.call(session_id, request_id, f"memory_{tool}", f"c{number}", fact="x")
        assert call.output["error"]["code"] == "egress_blocked"
        assert "mayHaveCommitted" not in call.output["error"].get("details", {})
    with pytest.raises(RecallFailed) as failed:
        service.recall(session_id, "r9")
    assert failed.value.facts["cause"]["code"] == "egress_blocked"
    assert service.endpoint.exchanges == []

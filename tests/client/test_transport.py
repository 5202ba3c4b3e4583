"""What the client repeats, for how long it waits, and what it says of answers that are no hub's."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from memoryhub.client import ConnectionFailed, HubRefused, UnexpectedAnswer, transport
from memoryhub.client.transport import Transport

type Answer = httpx2.Response | Exception

OK = {"data": []}
REFUSED = {"type": "error", "error": {"type": "conflict_error", "message": "No."}, "request_id": "req_1"}


class Wire:
    """Answers one after the other; the last one again and again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[Answer] = []
        self.sent: list[httpx2.Request] = []
        self.pauses: list[float] = []
        monkeypatch.setattr(transport.time, "sleep", self.pauses.append)
        self.transport = Transport("http://hub.example", "mh_key", timeout_seconds=1)
        client = httpx2.Client(transport=httpx2.MockTransport(self._answer), base_url="http://hub.example")
        monkeypatch.setattr(self.transport, "_client", client)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def call(self, *answers: Answer, method: str = "GET", repeatable: bool = False) -> Any:
        self.answers = list(answers)
        return self.transport.call(method, "/v1/sessions", repeatable=repeatable)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    made = Wire(monkeypatch)
    yield made
    made.transport.close()


def busy(status: int = 503, **headers: str) -> httpx2.Response:
    return httpx2.Response(
        status, json=REFUSED, headers={name.replace("_", "-"): headers[name] for name in headers}
    )


@pytest.mark.parametrize(
    "answer",
    [
        busy(503),
        busy(429),
        httpx2.Response(502, text="<h1>Bad Gateway</h1>"),
        httpx2.Response(504, text=""),
        httpx2.ReadTimeout("slow"),
        httpx2.RemoteProtocolError("cut"),
    ],
    ids=["503", "429", "502 of a proxy", "504 of a proxy", "timeout", "cut off"],
)
def test_what_may_be_repeated_is_sent_three_times(wire: Wire, answer: Answer) -> None:
    assert wire.call(answer, answer, httpx2.Response(200, json=OK)) == OK
    with pytest.raises((HubRefused, ConnectionFailed)):
        wire.call(answer)
    assert len(wire.sent) == 6
    assert len(wire.pauses) == 4


@pytest.mark.parametrize("answer", [busy(503), busy(429), httpx2.ReadTimeout("slow")])
def test_what_may_not_be_repeated_is_sent_once(wire: Wire, answer: Answer) -> None:
    with pytest.raises((HubRefused, ConnectionFailed)):
        wire.call(answer, method="POST")
    assert len(wire.sent) == 1


@pytest.mark.parametrize("error", [httpx2.ConnectError("refused"), httpx2.ConnectTimeout("slow")])
def test_what_was_never_sent_is_tried_again_whatever_it_is(wire: Wire, error: Exception) -> None:
    assert wire.call(error, error, httpx2.Response(200, json=OK), method="POST") == OK


@pytest.mark.parametrize("status", [400, 401, 404, 409, 410, 412, 500, 502])
def test_an_answer_of_the_hub_is_final(wire: Wire, status: int) -> None:
    """502 too: a memory that could not be recalled."""
    with pytest.raises(HubRefused) as refused:
        wire.call(httpx2.Response(status, json=REFUSED))
    assert (refused.value.status, refused.value.type, refused.value.request_id) == (
        status,
        "conflict_error",
        "req_1",
    )
    assert len(wire.sent) == 1


def test_the_hub_says_for_how_long_to_wait(wire: Wire) -> None:
    wire.call(busy(429, Retry_After="4"), busy(429, Retry_After="5"), httpx2.Response(200, json=OK))
    assert wire.pauses == [4.0, 5.0]
    with pytest.raises(HubRefused):
        wire.call(busy(429, Retry_After="6"))
    assert len(wire.pauses) == 2


@pytest.mark.parametrize("after", ["", "soon", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_pause_that_is_no_number_of_seconds_is_the_clients_own(wire: Wire, after: str) -> None:
    wire.call(busy(429, Retry_After=after), httpx2.Response(200, json=OK))
    assert 0 < wire.pauses[0] < 1


def test_a_redirect_is_refused_and_the_key_goes_nowhere(wire: Wire) -> None:
    with pytest.raises(HubRefused) as refused:
        wire.call(httpx2.Response(301, headers={"Location": "https://elsewhere.example"}))
    assert refused.value.status == 301
    assert [request.url.host for request in wire.sent] == ["hub.example"]


@pytest.mark.parametrize(
    "answer",
    [httpx2.Response(200, text="<h1>Welcome</h1>"), httpx2.Response(200, content=b"\xff")],
    ids=["a page", "no text"],
)
def test_a_success_that_is_no_hubs_is_named(wire: Wire, answer: httpx2.Response) -> None:
    with pytest.raises(UnexpectedAnswer, match="is the address right"):
        wire.call(answer)


@pytest.mark.parametrize("body", [["x"], {"error": "text"}, {"error": {"details": None}}, "x"])
def test_a_refusal_without_an_envelope_is_one_too(wire: Wire, body: Any) -> None:
    with pytest.raises(HubRefused) as refused:
        wire.call(httpx2.Response(400, json=body))
    assert (refused.value.type, refused.value.error_code) == ("unknown", None)


def test_an_empty_answer_is_none(wire: Wire) -> None:
    assert wire.call(httpx2.Response(204)) is None


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_only_a_line_feed_ends_a_line(wire: Wire, size: int) -> None:
    lines = ['{"t":"a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"}', "", "ä\r"]
    raw = "\n".join(lines).encode()

    def chunks() -> Iterator[bytes]:
        yield from (raw[at : at + size] for at in range(0, len(raw), size))

    wire.answers = [httpx2.Response(200, content=chunks())]
    assert list(wire.transport.lines("/v1/x")) == lines


@pytest.mark.parametrize(
    "fail",
    [lambda: httpx2.Response(503, json=REFUSED), lambda: httpx2.Response(302)],
    ids=["refused", "redirected"],
)
def test_a_stream_that_is_refused_says_so(wire: Wire, fail: Callable[[], httpx2.Response]) -> None:
    wire.answers = [fail()]
    with pytest.raises(HubRefused):
        list(wire.transport.lines("/v1/x"))


def test_a_quiet_stream_is_waited_for_longer_than_the_hub_is_quiet() -> None:
    with Transport("http://hub.example", "k", timeout_seconds=1) as short:
        assert short._stream_timeout.read == transport.STREAM_SECONDS_MIN

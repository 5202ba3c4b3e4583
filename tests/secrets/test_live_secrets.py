"""Promise K1 on a whole hub: what people and programs do with secrets in a day leaves none of them anywhere."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from memoryhub.embedded.connections import read_database_password
from memoryhub.embedded.folder import SECRET_NAMES, read_secrets
from memoryhub.settings import REQUEST_BODY_BYTES_MAX
from tests.answers import Answer
from tests.browsers import SESSION_COOKIE, Browser
from tests.providers import misbehaving
from tests.providers.manifests import tool
from tests.providers.misbehaving import Exchange
from tests.secrets.spellings import hits
from tests.secrets.talkative import TalkativeHub
from tests.up.hubs import run_command

PASSWORD, WRONG_PASSWORD, NEW_PASSWORD = "Zebra-first-word+1", "Zebra-wrong-word+2", "Zebra-new-word+3"
EMAIL = "guest@example.com"
# Put on purpose into each place that is searched.
SERVICE_TOKEN, LITERAL_TOKEN = "Zebra-service-word+4", "Zebra-literal-word+5"
SENT_TOKEN = "Zebra-sent-word+6"
PLANTED_NAME, PLANTED_STATEMENT, PLANTED_MESSAGE = "Kiwi-name+1", "Kiwi-statement+2", "Kiwi-message+3"


@dataclass
class Day:
    """`secrets` by name; `answers`: all but the ones that show a new secret to whom it is for."""

    hub: TalkativeHub
    secrets: dict[str, str]
    planted: dict[str, str] = field(default_factory=dict)
    answers: list[bytes] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    places: dict[str, bytes] = field(default_factory=dict)

    def note(self, answer: Answer) -> Answer:
        self.answers.append(answer.content + json.dumps(answer.headers).encode())
        self.statuses.add(answer.status)
        return answer

    def keep(self, name: str, secret: str) -> str:
        """Add a secret to those that are sought; a key without its public part."""
        self.secrets[name] = secret.split("_", 2)[2] if secret.startswith(("mh_", "mhe_")) else secret
        return secret

    def signed_in(self, how: str, answer: Answer, browser: Browser) -> None:
        """The one kind of answer that may hold a session's cookie."""
        assert answer.status == 302, answer.content
        self.keep(f"a session's cookie {how}", browser.cookies[SESSION_COOKIE])


@pytest.fixture(scope="module")
def day(talkative: TalkativeHub) -> Iterator[Day]:
    whole = Day(talkative, read_secrets(talkative.data_dir))
    assert set(SECRET_NAMES) <= whole.secrets.keys()
    whole.keep("the database's password", read_database_password(talkative.data_dir))
    with talkative.watched_queue() as sent:
        plant(whole)
        invitation = programs(whole)
        services(whole)
        calls_of_a_service(whole)
        calls_of_a_host(whole)
        people(whole, invitation)
        mistakes(whole, invitation)
    whole.places = {
        "answers": b"\n".join(whole.answers),
        "log": talkative.log(),
        "queue": talkative.queue_content() + b"\n".join(sent),
        "dump": talkative.dump(),
    }
    yield whole


def plant(day: Day) -> None:
    call = day.hub.caller()
    named = day.note(call("POST", "/v1/memory_stores", {"name": PLANTED_NAME}))
    day.hub.execute(f"DO $$ BEGIN RAISE WARNING '{PLANTED_STATEMENT}'; END $$")
    day.hub.queue.set("a counter", PLANTED_MESSAGE.encode().hex(), ex=600)
    day.planted = {
        "name": PLANTED_NAME,
        "request id": named.headers["request-id"],
        "statement": PLANTED_STATEMENT,
        "message": PLANTED_MESSAGE,
    }


def programs(day: Day) -> str:
    """Keys are made, used, rotated, revoked and mistaken. The token of an invitation."""
    command = run_command(
        day.hub.data_dir, "create_key", "--project=default", "--scope=admin", MEMORYHUB_LOG_LEVEL="DEBUG"
    )
    day.answers.append(command.stderr.encode())
    owner = day.hub.caller(day.keep("a key of the command line", command.stdout.strip()))
    made = owner("POST", "/v1/api_keys", {"name": "made", "scopes": ["admin"]}).body
    rotated = owner("POST", f"/v1/api_keys/{made['id']}/rotate", {"overlap_seconds": 60}).body
    for name, key in {"a made key": made["key"], "a rotated key": rotated["key"]}.items():
        use(day, day.keep(name, key))
    for path in ("api_keys", "audit_events", "members", "audit_events/export"):
        assert day.note(owner("GET", f"/v1/{path}")).status == 200
    url = str(owner("POST", "/v1/invitations", {"email": EMAIL, "role": "viewer"}).body["url"])
    day.note(owner("GET", "/v1/invitations"))
    day.note(owner("POST", f"/v1/api_keys/{rotated['id']}/revoke"))
    day.note(day.hub.caller(rotated["key"])("GET", "/v1/memory_stores"))
    return day.keep("an invitation's token", url.rpartition("/")[2])


def use(day: Day, key: str) -> None:
    """Right, wrong, and where it does not belong."""
    call = day.hub.caller(key)
    store = {"name": "A", "environment": "development"}
    assert day.note(call("POST", "/v1/memory_stores", store)).status == 200
    for wrong in (key + "x", key[:-1] + "_", key.replace("mh_", "mh_0"), key.split("_", 2)[2]):
        assert day.note(day.hub.caller(wrong)("GET", "/v1/memory_stores")).status == 401
    for headers in ({"Authorization": f"Basic {key}"}, {"X-Api-Key": key}, {"X-Other": key}):
        day.note(call("GET", "/v1/memory_stores", headers=headers))
    day.note(call("POST", "/v1/memory_stores", raw=b"{" + key.encode()))
    day.note(call("PUT", "/v1/memory_stores", {"name": key}))
    day.note(call("GET", f"/v1/{key}"))
    day.note(call("GET", "/v1/memory_stores", query={"page": key}))
    day.note(call("POST", f"/v1/memory_stores?{key}", raw=key.encode() * (REQUEST_BODY_BYTES_MAX // 50)))


def services(day: Day) -> None:
    """The token of another service is kept, mistaken, declared as it must not be, and sealed anew."""
    call = day.hub.caller()
    body = {
        "environment": "development",
        "name": "MEMORY_TOKEN",
        "value": day.keep("a service's token", SERVICE_TOKEN),
        "allowed_origins": ["https://memory.example.com"],
    }
    kept = day.note(call("PUT", "/v1/secrets", body))
    assert kept.status == 200
    mistaken = (
        {"name": "lower"},
        {"more": SERVICE_TOKEN},
        {"value": f"{SERVICE_TOKEN}\n"},
        {"value": [SERVICE_TOKEN]},
        {"value": SERVICE_TOKEN * 300},
        {"allowed_origins": [f"https://{SERVICE_TOKEN}@memory.example.com"]},
        {"allowed_origins": [SERVICE_TOKEN]},
    )
    for wrong in mistaken:
        assert day.note(call("PUT", "/v1/secrets", {**body, **wrong})).status == 400
    day.note(call("PUT", "/v1/secrets", raw=b'{"value": "' + SERVICE_TOKEN.encode()))
    day.note(call("POST", "/v1/secrets", body))
    day.note(call("GET", f"/v1/secrets/{SERVICE_TOKEN}"))
    with day.hub.without_table("memoryhub_secret"):
        assert day.note(call("PUT", "/v1/secrets", body)).status == 500
    for path in ("/v1/secrets", f"/v1/secrets/{kept.body['id']}", "/v1/audit_events"):
        assert day.note(call("GET", path)).status == 200
    literal = {"Authorization": f"Bearer {day.keep('a literal token', LITERAL_TOKEN)}"}
    connection = {"id": "kb", "origin": "https://memory.example.com", "methods": ["POST"], "headers": literal}
    manifest = {"connections": [connection], "memory": []}
    declared = call("POST", "/v1/deployments", {"agent_id": "triage", "manifest": manifest})
    assert day.note(declared).error_code == "invalid_declaration"
    sealed = run_command(day.hub.data_dir, "reseal_secrets", MEMORYHUB_LOG_LEVEL="DEBUG")
    assert sealed.returncode == 0, sealed.stderr
    day.answers.append((sealed.stdout + sealed.stderr).encode())


def echo(exchange: Exchange) -> None:
    """A service that says back what it was sent, in everything that it answers."""
    said = f"You sent {exchange.headers['authorization']}."
    answer = {"text": said, "sources": [{"id": said}], "cursor": said, "result": {said: [said]}}
    exchange.send(misbehaving.answer(200, json.dumps(answer).encode(), X_Echo=said))


def echo_error(exchange: Exchange) -> None:
    said = exchange.headers["authorization"]
    misbehaving.error(400, said, details={said: said}, X_Echo=said)(exchange)


def calls_of_a_service(day: Day) -> None:
    """It is called with a token and echoes it, in answers and in errors, and breaks off in the midst of it."""
    call, service = day.hub.caller(), day.hub.service
    token = day.keep("a token that was sent", SENT_TOKEN)
    body = {"environment": "development", "name": "SENT", "value": token, "allowed_origins": [service.origin]}
    assert day.note(call("PUT", "/v1/secrets", body)).status == 200
    headers = {"Authorization": {"secret": "SENT", "prefix": "Bearer "}}
    connection = {"id": "kb", "origin": service.origin, "methods": ["POST"], "headers": headers}
    provider = {"kind": "http", "connection": "kb", "tools": [tool("note", idempotent=True)]}
    resource = {"id": "knowledge", "description": "What is known.", "provider": provider}
    declared = {"environment": "development", "resource": resource, "connection": connection}
    assert day.note(call("POST", "/v1/memory_resources", declared)).status in (200, 201)
    bound = {"knowledge": {"scope": "namespace", "id": "t", "access": "read-write"}}
    session = day.note(call("POST", "/v1/sessions", {"environment": "development", "memory": bound})).body
    url = f"/v1/sessions/{session['id']}"
    service.always = echo
    recalled = day.note(call("POST", f"{url}/model-requests", {"client_request_id": "r1"}))
    assert recalled.body["memory"]["knowledge"]["text"] == "You sent [redacted]."
    request = f"{url}/model-requests/{recalled.body['id']}"
    day.note(call("PUT", f"{request}/selection", {"use": ["knowledge"]}))

    def use(number: int) -> Answer:
        arguments = {"fact": f"Fact {number}."}
        called = {"call_id": f"c{number}", "name": "memory_note", "arguments": arguments}
        return day.note(call("POST", f"{request}/tool-calls", called))

    use(1)
    service.always = echo_error
    assert use(2).body["output"]["error"]["code"] == "[redacted]"
    day.note(call("POST", f"{url}/model-requests", {"client_request_id": "r2"}))
    service.always = misbehaving.raw(b"HTTP/1.1 200 OK\r\nX: " + token.encode())
    use(3)
    for path in (url, f"{url}/events", f"{url}/model-requests", f"{url}/http-operations", request):
        assert day.note(call("GET", path)).status == 200
    assert len(service.exchanges) >= 6
    assert all(one.headers["authorization"] == f"Bearer {token}" for one in service.exchanges)


def calls_of_a_host(day: Day) -> None:
    """The credential of an endpoint is used rightly, wrongly, and where it does not belong."""
    call = day.hub.caller()
    made = call("POST", "/v1/endpoints", {"name": "facts", "environment": "development"}).body
    url = f"/v1/endpoints/{made['id']}"
    issued = call("POST", f"{url}/credentials", {"name": "host"}).body
    token = day.keep("a credential of an endpoint", issued["token"])
    recall = {
        "version": 1,
        "operation": "recall",
        "operationId": "op",
        "partition": "p1",
        "access": "read",
        "deadlineAt": "2126-01-01T00:00:00Z",
        "input": {"text": "Hello."},
        "maxBytes": 100,
    }
    for bearer, status in ((token, 200), (token + "x", 401), (token[:-1], 401)):
        answer = call(
            "POST", f"/oc-memory/{made['id']}", recall, headers={"Authorization": f"Bearer {bearer}"}
        )
        assert day.note(answer).status == status
    wrong = {"Authorization": f"Bearer {token}"}
    day.note(call("GET", "/v1/memory_stores", headers=wrong))
    day.note(call("POST", f"/oc-memory/{token}", recall, headers=wrong))
    day.note(call("POST", f"/oc-memory/{made['id']}", raw=b"{" + token.encode(), headers=wrong))
    day.note(call("GET", f"{url}/credentials"))
    day.note(call("POST", f"{url}/credentials/{issued['id']}/revoke"))
    day.note(call("POST", f"/oc-memory/{made['id']}", recall, headers=wrong))


def people(day: Day, invitation: str) -> None:
    """Somebody joins, changes the password and signs in, each with the wrong one first; the owner comes by a link."""
    guest, owner = day.hub.browser(), day.hub.browser()
    joining, form = f"/invitations/{invitation}", {"current": WRONG_PASSWORD, "new": NEW_PASSWORD}
    day.secrets |= {"a password": PASSWORD, "a wrong one": WRONG_PASSWORD, "a new one": NEW_PASSWORD}
    day.note(guest.get(joining))
    day.note(guest.post(joining, {"name": "Guest", "password": "short"}))
    day.signed_in("of joining", guest.post(joining, {"name": "Guest", "password": PASSWORD}), guest)
    assert day.note(guest.post("/account/password", form)).status == 400
    changed = guest.post("/account/password", {**form, "current": PASSWORD})
    day.signed_in("after the change", changed, guest)
    day.note(guest.get("/"))
    assert guest.post("/sign-out", page="/").status == 302
    for word in (WRONG_PASSWORD, PASSWORD):
        assert day.note(guest.post("/sign-in", {"email": EMAIL, "password": word})).status == 400
    day.signed_in("of signing in", guest.post("/sign-in", {"email": EMAIL, "password": NEW_PASSWORD}), guest)
    token = day.keep("a sign-in link's token", day.hub.facts["sign_in_url"].rpartition("/")[2])
    day.note(owner.get(f"/sign-in/{token}"))
    day.signed_in("of the link", owner.post(f"/sign-in/{token}"), owner)
    day.note(owner.get(f"/sign-in/{token}"))
    for browser in (guest, owner):
        for page in ("/", "/docs", "/docs/settings", "/account/password", "/none", "/sign-in?next=/docs"):
            day.note(browser.get(page))


def mistakes(day: Day, invitation: str) -> None:
    """Every kind of refusal, and failures of the hub while it is busy with a secret."""
    call, anybody = day.hub.caller(), day.hub.browser()
    day.note(call("GET", "/v1/members"))
    day.note(call("GET", "/v1/memory_stores/memstore_none"))
    day.note(call("GET", f"/v1/memory_stores?{invitation}", headers={"Host": "other.example"}))
    day.note(anybody.get(f"/invitations/{invitation}"))
    form = {"email": EMAIL, "password": NEW_PASSWORD}
    with day.hub.without_table("stores_memorystore"), day.hub.without_table("memoryhub_invitation"):
        day.note(call("GET", "/v1/memory_stores"))
        day.note(anybody.get(f"/invitations/{invitation}"))
    with day.hub.without_table("memoryhub_browsersession"):
        day.note(anybody.post("/sign-in", form))
    with day.hub.without_table("memoryhub_apikey"):
        day.note(call("GET", "/v1/memory_stores"))


def test_the_day_was_varied_and_the_searches_find_what_is_there(day: Day) -> None:
    assert day.statuses >= {200, 400, 401, 403, 404, 405, 410, 413, 500}, day.statuses
    assert len(day.answers) > 60 and len(day.secrets) >= 16
    sealed = [line for line in day.places["log"].splitlines() if b"audit_sealed" in line]
    assert any(b"req_" not in line for line in sealed), "the worker's log is not among them"
    assert b"Traceback" in day.places["log"] and b"memoryhub.seal_audit" in day.places["queue"]
    found = {place: hits(content, day.planted) for place, content in day.places.items()}
    assert found == {
        "answers": ["name", "request id"],
        "log": ["request id", "statement"],
        "queue": ["message"],
        "dump": ["name", "request id"],
    }


@pytest.mark.parametrize("place", ["answers", "log", "queue", "dump"])
def test_no_secret_of_the_day_is_left(day: Day, place: str) -> None:
    assert hits(day.places[place], day.secrets) == []

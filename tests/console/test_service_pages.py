"""The pages of other services: how one does, each call with its attempts, what is in doubt, and to cancel."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryhub import secrets
from memoryhub.columns import ClockTimestamp
from memoryhub.models import Project, Secret, Session
from providers import declared
from providers.models import HttpAttempt, HttpOperation, ToolCall
from providers.service_overviews import FAULTLESS
from tests.browser.example_services import call_services
from tests.console.site import Site, add_person, form_of, sign_in
from tests.providers.manifests import tool
from tests.world import Tenant

ORIGIN = "https://memory.example.com"
GIVEN = "The boat is <b>blue</b>."


def text(answer: Any) -> str:
    return str(answer.content.decode())


def declare(tenant: Tenant, resource_id: str = "knowledge") -> None:
    declared.declare_resource(
        environment=tenant.development.wire_id,
        resource={
            "id": resource_id,
            "description": "What is known.",
            "provider": {"kind": "http", "connection": "kb", "tools": [tool("remember"), tool("search", access="read")]},
        },
        connection={
            "id": "kb",
            "origin": ORIGIN,
            "methods": ["POST"],
            "headers": {"Authorization": {"secret": "MEMORY_TOKEN", "prefix": "Bearer "}},
        },
        acknowledge_endpoint_change=False,
        actor=tenant.actor,
    )  # fmt: skip


def put_secret(tenant: Tenant, *origins: str) -> None:
    secrets.put_secret(
        environment=tenant.development.wire_id,
        name="MEMORY_TOKEN",
        agent_id="",
        value="s3cret value",
        allowed_origins=list(origins),
        actor=tenant.actor,
    )


class Called:
    """A resource whose service was called five times: `recall`, `doubtful`, `refused`, `failed`, `waiting` are pages."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        declare(tenant)
        self.known: dict[str, list[str]] = {}
        call_services(self.known, "default@development", "knowledge", GIVEN, tenant.actor, code=GIVEN)
        paths = [f"/calls/{one}" for one in self.known["operation_id"]]
        self.recall, self.doubtful, self.refused, self.failed, self.waiting = paths
        [self.session_id] = self.known["session_id"]
        [self.request_id] = self.known["calling request_id"]


@pytest.fixture
def called(tenant: Tenant) -> Called:
    return Called(tenant)


def test_a_service_that_was_not_called_says_what_will_stand_there(owner: Site, tenant: Tenant) -> None:
    declare(tenant)
    shown = text(owner.get("/resources/knowledge"))
    assert "It was not called." in shown
    assert "Each recall sends the text of the current input to" in shown
    assert "https://memory.example.com/memory" in shown
    assert "No call yet" in text(owner.get("/resources/knowledge/calls"))
    with override_settings(HTTP_OPERATION_DAYS=7):
        assert "kept for 7 days" in text(owner.get("/resources/knowledge/calls"))


def test_a_service_shows_its_figures_and_its_newest_calls(owner: Site, called: Called) -> None:
    shown = text(owner.get("/resources/knowledge"))
    figures = shown.partition("The last 24 hours")[2].partition("</section>")[0]
    for said in ("<dd>4</dd>", "1, 25 %", "1: nobody knows", "2<p>1 ×", "retries_exhausted"):
        assert said in figures, said
    assert "The boat is &lt;b&gt;blue" in figures, "a code of the service is text"
    assert re.search(r"Median time</dt><dd>\d+ ms</dd><dt>95th percentile</dt><dd>\d+ ms", figures)
    rows = shown.partition("Newest calls")[2]
    for said in ("Answered", "Uncertain", "Failed", "Waits for a worker", "2, 399 ms"):
        assert said in rows, said
    assert rows.count('<svg class="small waterfall"') == 4


def test_a_call_shows_when_each_attempt_ran_and_what_the_model_got(owner: Site, called: Called) -> None:
    shown = text(owner.get(called.recall))
    table = re.sub(r"<[^>]+>|\s+", " ", shown.partition("<tbody>")[2].partition("</tbody>")[0])
    first, second = re.split(r" 2 +311 ms", re.sub(" +", " ", table))
    for said in (
        " 1 0 ms 61 ms",
        "The service was busy, status 503",
        "214 bytes from 203.0.113.9",
        "then waited 250 ms",
    ):
        assert said in first, (said, first)
    for said in ("88 ms", "Answered, status 200"):
        assert said in second, (said, second)
    assert "then waited" not in second
    drawing = shown.partition('<svg class="waterfall"')[2].partition("</svg>")[0]
    assert (
        drawing.count('class="bad"') == drawing.count('class="good"') == drawing.count('class="pause"') == 1
    )
    assert "style=" not in drawing
    assert "What the model was given" in shown
    assert "The boat is &lt;b&gt;blue" in shown
    assert re.search(r"<dd>(399|[4-9]\d\d|\d,\d\d\d) ms of the 10,000 ms", shown)


def test_a_call_in_doubt_is_named_so(owner: Site, called: Called) -> None:
    shown = text(owner.get(called.doubtful))
    assert "Nobody knows whether the service did it." in shown
    assert "it may not be repeated" in shown
    assert "No connection, or it broke off" in shown
    assert "uncertain" in shown.partition("What the model was told")[2]
    error = {"error": {"code": "conflict", "message": "No.", "details": {"mayHaveCommitted": True}}}
    operation = HttpOperation.objects.get(environment=called.tenant.development, code="uncertain")
    ToolCall.objects.filter(id=operation.tool_call_id).update(output=error)
    HttpOperation.objects.filter(id=operation.id).update(code="conflict")
    assert "The service may have done it all the same" in text(owner.get(called.doubtful))
    assert "may have done it" not in text(owner.get(called.refused))


def test_a_failed_recall_says_that_the_model_was_given_nothing(owner: Site, called: Called) -> None:
    shown = text(owner.get(called.failed))
    assert "The recall failed, so the model was given nothing." in shown
    assert shown.count("The service was busy, status 503") == 3
    assert "Every attempt failed." in shown.partition("What the application was told")[2]


def test_a_call_that_was_never_sent_says_so(owner: Site, called: Called) -> None:
    assert "None yet: the call waits for a worker." in text(owner.get(called.waiting))
    owner.post(f"{called.waiting}/cancel")
    shown = text(owner.get(called.waiting))
    assert "None: nothing was sent." in shown
    assert "Cancelled" in shown


def test_an_attempt_under_way_is_told(owner: Site, called: Called) -> None:
    waiting = HttpOperation.objects.filter(environment=called.tenant.development, state="sending")
    assert waiting.update(claim=uuid.uuid4(), started_at=timezone.now(), beat_at=timezone.now()) == 1
    shown = text(owner.get(called.waiting))
    assert "Attempt 1 is under way." in shown
    assert "Under way</span>" in shown
    owner.post(f"{called.waiting}/cancel")
    again = text(owner.get(called.waiting))
    assert "The call is being cancelled" in again
    assert "Cancel the call" not in again


def test_a_call_is_cancelled_once_and_what_has_ended_stays(owner: Site, called: Called) -> None:
    assert "Cancel the call" in text(owner.get(called.waiting))
    answer = owner.post(f"{called.waiting}/cancel")
    assert answer["Location"] == owner.base + called.waiting
    assert "What the service has accepted is not undone." in text(owner.get(called.waiting))
    assert "Cancel the call" not in text(owner.get(called.waiting))
    owner.post(f"{called.recall}/cancel")
    assert "The call had ended before." in text(owner.get(called.recall))
    assert HttpOperation.objects.get(environment=called.tenant.development, code="cancelled").attempt == 0


def test_a_viewer_reads_each_attempt_and_is_offered_no_change(tenant: Tenant, called: Called) -> None:
    viewer = sign_in(add_person(tenant, "viewer"), tenant.project)
    for path in (called.recall, called.waiting, "/resources/knowledge", "/resources/knowledge/calls"):
        shown = text(viewer.get(path)).partition("<main")[2]
        for word in ("Cancel the call", "Ask the service", "Make it", "/secrets"):
            assert word not in shown, (path, word)
    assert viewer.post(f"{called.waiting}/cancel").status_code == 403
    assert viewer.get("/resources/knowledge/try").status_code == 403
    assert not HttpOperation.objects.filter(environment=tenant.development, code="cancelled").exists()


def test_calls_of_another_environment_are_not_there(tenant: Tenant, stranger: Tenant, called: Called) -> None:
    for site in (
        sign_in(tenant.owner, tenant.project, "production"),
        sign_in(stranger.owner, stranger.project),
    ):
        for path in (
            called.recall,
            "/calls/httpop_1",
            "/resources/knowledge/calls",
            "/resources/knowledge/try",
        ):
            assert site.get(path).status_code == 404, path
        assert site.post(f"{called.waiting}/cancel").status_code == 404
        assert site.get(f"/sessions/{called.session_id}/calls").status_code == 404


def test_requests_and_sessions_lead_to_their_calls(owner: Site, called: Called) -> None:
    request = text(owner.get(f"/sessions/{called.session_id}/requests/{called.request_id}"))
    links = re.findall(r'href="[^"]+(/calls/httpop_\w+)"', request)
    assert links == [called.refused, called.doubtful, called.recall]
    assert f"/sessions/{called.session_id}/calls" in text(owner.get(f"/sessions/{called.session_id}"))
    whole = text(owner.get(f"/sessions/{called.session_id}/calls"))
    links = re.findall(r'href="[^"]+(/calls/httpop_\w+)"', whole)
    assert links == [called.waiting, called.failed, called.refused, called.doubtful, called.recall]


def add_calls(called: Called, count: int) -> None:
    one = HttpOperation.objects.filter(environment=called.tenant.development, code="ok").order_by("id")[0]
    copies = [HttpOperation(**_values(one) | {"operation_id": f"copy {uuid.uuid4()}"}) for _ in range(count)]
    HttpOperation.objects.bulk_create(copies)
    HttpAttempt.objects.bulk_create(
        HttpAttempt(
            project_id=one.project_id, operation=copy, number=1, started_at=one.started_at, event="succeeded", status=200
        )
        for copy in copies
    )  # fmt: skip


def _values(operation: HttpOperation) -> dict[str, Any]:
    fields = [field.attname for field in HttpOperation._meta.concrete_fields if field.attname != "id"]
    return {name: getattr(operation, name) for name in fields}


def test_calls_are_paged_by_cursor(owner: Site, called: Called) -> None:
    add_calls(called, 18)
    first = text(owner.get("/resources/knowledge/calls"))
    assert first.partition("<tbody>")[2].count("<tr>") == 20
    following = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = text(owner.client.get(following.replace("&amp;", "&")))
    assert second.partition("<tbody>")[2].count("<tr>") == 3
    assert called.recall in second
    assert owner.get("/resources/knowledge/calls", page="page_forged").status_code == 400


def test_the_page_of_a_service_costs_as_much_over_many_calls(owner: Site, called: Called) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get("/resources/knowledge").status_code == 200
        return len(queries)

    add_calls(called, 25)
    some = count()
    add_calls(called, 300)
    assert count() == some


def test_calls_older_than_the_window_do_not_count(owner: Site, called: Called) -> None:
    """An id tells when its call began."""
    old = timezone.now() - timedelta(hours=25)
    [one] = HttpOperation.objects.filter(environment=called.tenant.development, code="ok")
    early = uuid.UUID(int=(int(old.timestamp() * 1_000) << 80) | one.id.int & ((1 << 80) - 1))
    HttpOperation.objects.create(**_values(one) | {"id": early, "operation_id": "old"})
    assert "<dd>4</dd>" in text(owner.get("/resources/knowledge")).partition("The last 24 hours")[2]


@pytest.mark.parametrize(
    ("origins", "said"),
    [
        ([], "Missing</span>"),
        (["https://other.example.com"], "Not for this origin"),
        ([ORIGIN], "Ready</span>"),
    ],
)
def test_the_state_of_the_secret_that_is_sent_is_told(
    owner: Site, tenant: Tenant, origins: list[str], said: str
) -> None:
    declare(tenant)
    if origins:
        put_secret(tenant, *origins)
    shown = text(owner.get("/resources/knowledge"))
    assert said in shown
    assert "s3cret" not in shown
    if origins:
        assert "never used" in shown
        Secret.objects.filter(project=tenant.project).update(last_used_at=ClockTimestamp())
        assert "last used <time" in text(owner.get("/resources/knowledge"))
        assert "<td><time" in text(owner.get("/secrets"))


def test_the_overview_names_a_service_that_fails(owner: Site, called: Called) -> None:
    assert "3 of the last 4 calls of knowledge failed." in text(owner.get())
    add_calls(called, 2)
    assert "3 of the last 6 calls of knowledge failed." in text(owner.get())
    add_calls(called, 1)
    assert "calls of knowledge failed" not in text(owner.get()), "less than half"


@pytest.mark.parametrize("code", FAULTLESS)
def test_what_is_no_fault_of_a_service_needs_nobody(owner: Site, called: Called, code: str) -> None:
    ended = HttpOperation.objects.filter(environment=called.tenant.development, state="done")
    ended.update(code=code)
    assert "calls of knowledge failed" not in text(owner.get())
    ended.update(code="secret_unavailable")
    assert "4 of the last 4 calls of knowledge failed." in text(owner.get())


def test_the_audit_trail_leads_to_the_call_that_was_cancelled(owner: Site, called: Called) -> None:
    owner.post(f"{called.waiting}/cancel")
    assert f'href="{owner.base}{called.waiting}"' in text(owner.get("/audit"))


def test_declaring_says_that_each_recall_sends_the_input(owner: Site, tenant: Tenant) -> None:
    declare(tenant)
    for path in ("/declare", "/resources/knowledge/declaration"):
        shown = text(owner.get(path))
        assert "Each recall sends the text of the current input" in shown
        assert "preview" not in shown
    assert "each recall sends the text of the current input" in text(owner.get("/deployments/new"))
    Project.objects.filter(id=tenant.project.id).update(http_memory="preview")
    assert "sessions cannot bind it yet" in text(owner.get("/declare"))
    assert "sessions cannot bind it yet" in text(owner.get("/resources/knowledge"))


def test_who_asks_is_told_first_where_the_text_goes(owner: Site, tenant: Tenant) -> None:
    declare(tenant)
    shown = text(owner.get("/resources/knowledge/try")).partition("<main")[2]
    before, _, _ = shown.partition('<button type="submit"')
    assert "This sends your text" in before
    assert "https://memory.example.com/memory" in before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"input": ""}, "Type what a user would ask."),
        ({"namespace": ""}, "Name the namespace."),
        ({"namespace": "a b"}, "A namespace is 1 to 128"),
        ({"namespace": "x" * 129}, "at most 128"),
        ({"input": "x" * 65_537}, "at most 65536"),
    ],
)
def test_what_cannot_be_asked_is_not_sent(
    owner: Site, tenant: Tenant, typed: dict[str, str], said: str
) -> None:
    declare(tenant)
    answer = owner.post("/resources/knowledge/try", {"input": "Where?", "namespace": "acme"} | typed)
    assert answer.status_code == 400
    assert said in text(answer)
    assert not Session.objects.filter(project=tenant.project).exists()


def test_a_project_that_keeps_http_memory_as_a_preview_asks_nothing(owner: Site, tenant: Tenant) -> None:
    declare(tenant)
    Project.objects.filter(id=tenant.project.id).update(http_memory="preview")
    typed = {"input": "Where is it?", "namespace": "acme"}
    answer = owner.post("/resources/knowledge/try", typed)
    assert answer.status_code == 400
    assert "HTTP memory is a preview in this project" in text(answer)
    assert form_of(answer)["input"] == "Where is it?"
    assert not Session.objects.filter(project=tenant.project).exists()


def test_documents_are_tried_on_their_own_page(owner: Site, tenant: Tenant) -> None:
    declared.declare_resource(
        environment=tenant.development.wire_id,
        resource={"id": "playbook", "description": "How we work."},
        connection=None,
        acknowledge_endpoint_change=False,
        actor=tenant.actor,
    )
    assert owner.get("/resources/playbook/try")["Location"] == f"{owner.base}/try?resource=playbook"

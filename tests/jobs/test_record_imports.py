"""An import of records as a job: asked for in the console, with counts and what was refused; tried, done, stopped and gone on with."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memoryhub import job_runs
from memoryhub.models import Job
from providers.models import MemoryRecord
from tests.console.site import Site, add_person, sign_in
from tests.jobs.desk import Desk, chunks_of
from tests.providers.record_desk import ALICE, RecordDesk, Scripted, bind, unavailable

WHOSE = {"agent": ALICE.agent, "issuer": ALICE.issuer, "subject": ALICE.subject}


def memories(count: int) -> list[dict[str, Any]]:
    return [{"id": f"m{number}", "memory": f"Fact <{number}>."} for number in range(count)]


@pytest.fixture
def owner(desk: Desk) -> Site:
    return sign_in(desk.tenant.owner, desk.tenant.project)


def send(site: Site, content: object, **more: Any) -> Any:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile("export.json", raw, "application/json")
    form = {**WHOSE, "format": "mem0", "file": file, "user": "", **more}
    return site.client.post(f"{site.base}/records/import", form)


def run(site: Site, answer: Any) -> tuple[Job, str]:
    """The job as it ended, and its page."""
    assert answer.status_code == 302, answer.content.decode()
    assert job_runs.run_next_job()
    shown = site.client.get(answer["Location"]).content.decode()
    return Job.objects.filter(project=site.project, kind="import_records").latest("id"), " ".join(
        shown.split()
    )


def held(desk: Desk) -> int:
    rows = MemoryRecord.objects.filter(scope__environment=desk.tenant.development, forgotten_at=None)
    return rows.count()


def test_it_is_tried_then_done_and_then_adds_nothing(desk: Desk, owner: Site) -> None:
    given = [*memories(3), {"id": "x"}]
    tried, shown = run(owner, send(owner, given, dry_run="on"))
    assert (tried.state, held(desk)) == ("done", 0)
    assert "What would be imported" in shown and "<dt>Would be added</dt><dd>3</dd>" in shown
    done, shown = run(owner, send(owner, given))
    assert (done.state, done.steps_done, held(desk)) == ("done", 3, 3)
    assert "<dt>Added</dt><dd>3</dd>" in shown and "<dt>Refused</dt><dd>1</dd>" in shown
    assert "file, memory 4" in shown and "It has no memory, which is its text." in shown
    scope = RecordDesk(desk.tenant).row()
    assert f'href="{owner.base}/records/scopes/{scope.wire_id}"' in shown
    assert "<bdi>support for alice</bdi>" in " ".join(owner.get("/work").content.decode().split())
    assert chunks_of(done) == 0 and done.arguments == {}, "nothing of the file is kept"
    again, _ = run(owner, send(owner, given))
    assert (again.outcome["added"], again.outcome["present"], held(desk)) == (0, 3, 3)


def test_one_that_the_provider_stops_goes_on_with_the_same_file(
    desk: Desk, owner: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from providers import record_imports

    provider = Scripted(lambda: provider_answer(provider), effect="guarded")
    monkeypatch.setattr(record_imports, "provider_of", lambda environment_id: bind(provider))
    stopped, shown = run(owner, send(owner, memories(4)))
    assert (stopped.outcome["added"], stopped.outcome["left"]) == (1, 3)
    assert "It ended early, with 3 left" in shown and "The same file again goes on." in shown


def provider_answer(provider: Scripted) -> Any:
    from providers.contract import Ok, RecordRef

    provider.answers = [unavailable(sent=False)]
    return Ok(RecordRef("r1", "1"))


def test_what_is_no_export_fails_the_job_with_its_reason(desk: Desk, owner: Site) -> None:
    failed, shown = run(owner, send(owner, b"text\n", format="memoryhub"))
    assert (failed.state, held(desk)) == ("failed", 0)
    assert "It is no line of an export of records." in shown


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"agent": ""}, "Name the agent whose memory they become."),
        ({"subject": "x" * 257}, "256"),
        ({"format": "other"}, "Select a valid choice"),
        ({"file": ""}, "Choose the file to import."),
    ],
)
def test_a_form_that_lacks_something_asks_for_it_and_keeps_the_rest(
    desk: Desk, owner: Site, more: dict[str, Any], says: str
) -> None:
    answer = send(owner, memories(1), **more)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert says in page and 'value="api"' in page
    assert not Job.objects.filter(project=desk.tenant.project, kind="import_records").exists()


def test_an_empty_file_and_one_past_the_limit_are_refused(desk: Desk, owner: Site, settings: Any) -> None:
    assert "The file is empty." in send(owner, b"").content.decode()
    raw = json.dumps(memories(1)).encode()
    settings.ARCHIVE_BYTES_MAX = len(raw) - 1
    assert "The file is larger than" in send(owner, raw).content.decode()
    settings.ARCHIVE_BYTES_MAX = len(raw)
    assert send(owner, raw).status_code == 302


def test_a_page_of_a_scope_names_it_and_a_viewer_has_none(desk: Desk, owner: Site) -> None:
    records = RecordDesk(desk.tenant)
    records.save("Tea.")
    page = owner.get(f"/records/scopes/{records.row().wire_id}").content.decode()
    assert "records/import?agent=support&amp;issuer=api&amp;subject=alice" in page
    form = owner.get("/records/import", **WHOSE).content.decode()
    assert 'value="support"' in form and 'value="alice"' in form
    viewer = sign_in(add_person(desk.tenant, "viewer"), desk.tenant.project)
    assert send(viewer, memories(1)).status_code == 403
    assert "/records/import" not in viewer.get("/records").content.decode()

"""The pages of long work: who sees what, what is refused and why, and how a file comes and goes."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from memoryhub import job_runs, long_work
from memoryhub.models import Job
from stores.models import MemoryStore
from tests.console.site import Site, add_person, lasting, sign_in
from tests.jobs.desk import Desk, again
from tests.world import make_tenant, unused_id

PAYLOAD = "<script>alert(1)</script>\"'><img src=x>"


@pytest.fixture
def owner(desk: Desk) -> Site:
    return sign_in(desk.tenant.owner, desk.tenant.project)


@pytest.fixture
def viewer(desk: Desk) -> Site:
    return sign_in(add_person(desk.tenant, "viewer"), desk.tenant.project)


def started(site: Site, answer: Any) -> str:
    """The path of the page of the job that was asked for."""
    assert answer.status_code == 302, answer.content
    assert "/work/job_" in answer["Location"]
    return str(answer["Location"]).removeprefix(site.base)


def part(site: Site, page: str) -> Any:
    """As the page asks for it."""
    return site.client.get(f"{site.base}{page}/progress", headers={"HX-Request": "true"})


def upload(site: Site, tar: bytes, name: str = "") -> Any:
    file = SimpleUploadedFile("a.tar", tar, "application/x-tar")
    return site.client.post(f"{site.base}/stores/import", {"archive": file, "name": name})


def test_a_store_goes_out_and_comes_back_into_another_environment(desk: Desk, owner: Site) -> None:
    desk.shelf.put("/a.md", "one")
    page = started(owner, owner.post(f"/stores/{desk.shelf.store_id}/export"))
    assert b"It waits for its turn." in owner.get(page).content
    job_runs.run_next_job()
    shown = owner.get(page).content.decode()
    assert f'href="{owner.base}{page}/file"' in shown
    answer = owner.get(f"{page}/file")
    assert answer["Content-Disposition"] == 'attachment; filename="Notes.tar"'
    assert (answer["Content-Type"], answer["Content-Security-Policy"]) == ("application/x-tar", "sandbox")
    assert answer["X-Content-Type-Options"] == "nosniff"
    tar = b"".join(answer.streaming_content)
    other = sign_in(desk.tenant.owner, desk.tenant.project, "production")
    page = started(other, upload(other, tar, "Copy"))
    job_runs.run_next_job()
    shown = other.get(page).content.decode()
    store = MemoryStore.objects.get(environment=desk.tenant.production)
    assert store.name == "Copy"
    assert f'href="{other.base}/stores/{store.wire_id}"' in shown
    assert "<dt>Versions</dt><dd>1</dd>" in shown


def test_the_progress_is_said_by_the_page_and_by_its_part(desk: Desk, owner: Site) -> None:
    page = started(owner, owner.post(f"/stores/{desk.shelf.store_id}/export"))
    job = Job.objects.get(project=desk.tenant.project)
    assert job_runs._claim() is not None
    assert b"how many steps there are is not known" in part(owner, page).content
    assert owner.get(f"{page}/progress")["Location"] == owner.base + page
    Job.objects.filter(id=job.id).update(steps=8, steps_done=3)
    for answer in (owner.get(page), part(owner, page)):
        shown = answer.content.decode()
        assert 'max="8" value="3"' in shown
        assert "37 %: step 3 of 8" in shown
        assert f'hx-get="{owner.base}{page}/progress" hx-trigger="every 1s"' in shown
    assert "HX-Refresh" not in part(owner, page)
    assert "37 %" in owner.get("/work").content.decode()
    long_work.cancel_job(job.wire_id, actor=desk.tenant.actor)
    last = part(owner, page)
    assert last["HX-Refresh"] == "true"
    assert b"hx-get" not in last.content
    assert b"htmx" not in owner.get(page).content.partition(b"</head>")[0].partition(b"<title>")[2]


def test_a_viewer_exports_and_ends_only_their_own(desk: Desk, owner: Site, viewer: Site) -> None:
    theirs = started(owner, owner.post(f"/stores/{desk.shelf.store_id}/export"))
    shown = viewer.get(theirs).content.decode()
    assert "/cancel" not in shown
    assert viewer.post(f"{theirs}/cancel").status_code == 403
    job_runs.run_next_job()
    assert "/delete-file" not in viewer.get(theirs).content.decode()
    assert viewer.post(f"{theirs}/delete-file").status_code == 403
    download = viewer.get(f"{theirs}/file")
    assert download.status_code == 200
    download.close()
    own = started(viewer, viewer.post(f"/stores/{desk.shelf.store_id}/export"))
    assert f'action="{viewer.base}{own}/cancel"' in viewer.get(own).content.decode()
    assert viewer.post(f"{own}/cancel").status_code == 302
    assert "was cancelled" in viewer.get(own).content.decode()
    for path, form in (("/stores/import", {}), ("/stores/archive", {"store_id": desk.shelf.store_id})):
        assert viewer.post(path, form).status_code == 403
    assert "/stores/import" not in viewer.get("/stores").content.decode()


def test_who_may_not_do_it_does_not_get_its_file(desk: Desk, viewer: Site) -> None:
    """An upload waits: it is nobody's download, and a job of a kind one may not do has no file for one."""
    job = desk.import_archive(desk.exported())
    site = replace(viewer, base=viewer.base.replace("development", "production"))
    assert site.get(f"/work/{job.wire_id}").status_code == 200
    assert site.get(f"/work/{job.wire_id}/file").status_code == 404
    Job.objects.filter(id=job.id).update(file_name="a.tar")
    assert site.get(f"/work/{job.wire_id}/file").status_code == 403
    assert "/file" not in site.get(f"/work/{job.wire_id}").content.decode()


def test_a_job_of_elsewhere_is_not_there(desk: Desk, owner: Site) -> None:
    own = desk.import_archive(desk.exported())  # in production
    job = Desk(make_tenant()).export()
    for wire_id in (job.wire_id, own.wire_id):
        for suffix in ("", "/progress", "/file"):
            unknown = owner.get(f"/work/{unused_id('job')}{suffix}")
            answer = owner.get(f"/work/{wire_id}{suffix}")
            assert (answer.status_code, lasting(answer)) == (404, lasting(unknown))
        for suffix in ("/cancel", "/delete-file"):
            assert owner.post(f"/work/{wire_id}{suffix}").status_code == 404
        assert wire_id not in owner.get("/work").content.decode()
    assert again(job).state == again(own).state == "waiting"


def test_an_erased_file_says_why_it_is_gone(desk: Desk, owner: Site) -> None:
    page = started(owner, owner.post(f"/stores/{desk.shelf.store_id}/export"))
    job_runs.run_next_job()
    Job.objects.filter(project=desk.tenant.project).update(file_bytes=None, file_removed="erased")
    shown = owner.get(page).content.decode()
    assert "text of the store was erased after it was made" in shown
    assert "Download" not in shown
    assert owner.get(f"{page}/file").status_code == 404


WRONG = {
    "a zip": ("PK\x03\x04" * 300, "no tar header"),
    "nothing": ("", "cut off"),
    "compressed": ("\x1f\x8b" + "x" * 600, "compressed"),
}


@pytest.mark.parametrize(("content", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_beside_its_field_and_the_name_is_kept(
    desk: Desk, owner: Site, content: str, said: str
) -> None:
    answer = upload(owner, content.encode("latin-1"), "Kept <name>")
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert "This file cannot be imported." in shown
    assert said in shown
    assert f'value="{escape("Kept <name>")}"' in shown
    assert not Job.objects.filter(project=desk.tenant.project).exists()


def test_no_file_is_asked_for(owner: Site) -> None:
    answer = owner.post("/stores/import", {"name": "Kept"})
    assert answer.status_code == 400
    assert b"Choose the archive to import." in answer.content
    assert b'value="Kept"' in answer.content


def test_a_file_at_the_limit_is_taken_and_one_past_it_is_not(desk: Desk, owner: Site, settings: Any) -> None:
    tar = desk.exported()
    settings.ARCHIVE_BYTES_MAX = len(tar) - 1
    answer = upload(owner, tar, "Kept")
    assert answer.status_code == 400
    assert b"The file is larger than" in answer.content
    assert b'value="Kept"' in answer.content
    assert not Job.objects.filter(project=desk.tenant.project, kind="import_store").exists()
    settings.ARCHIVE_BYTES_MAX = len(tar)
    started(owner, upload(owner, tar))


def test_a_file_is_taken_from_nobody_who_is_not_signed_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryhub.upload_handlers.open_spool", lambda: pytest.fail("the file was kept"))
    client = Client(enforce_csrf_checks=True)
    file = SimpleUploadedFile("a.tar", b"x" * 3_000_000, "application/x-tar")
    base = f"/p/{desk.tenant.project.wire_id}/development"
    for path in (f"{base}/stores/import", "/sign-in"):
        file.seek(0)
        assert client.post(path, {"archive": file}).status_code == 403


def test_a_job_past_the_limit_is_refused_in_words_and_the_name_is_kept(
    desk: Desk, owner: Site, settings: Any
) -> None:
    tar = desk.exported()
    settings.JOBS_UNFINISHED_MAX = 1
    desk.export()
    answer = upload(owner, tar, "Kept")
    assert answer.status_code == 400
    assert b"has 1 jobs that wait or run already" in answer.content
    assert b'value="Kept"' in answer.content
    other = desk.new_shelf("Other")
    refused = owner.post(f"/stores/{other.store_id}/export")
    assert refused["Location"] == f"{owner.base}/stores/{other.store_id}"
    assert b"jobs that wait or run already" in owner.client.get(refused["Location"]).content


def test_many_are_archived_after_they_are_named(desk: Desk, owner: Site) -> None:
    shelves = [desk.new_shelf(f"Store {number} {PAYLOAD}") for number in range(3)]
    shelves[2].archive()
    chosen = {"store_id": [shelf.store_id for shelf in shelves]}
    asked = owner.client.post(f"{owner.base}/stores/archive", chosen)
    shown = asked.content.decode()
    assert asked.status_code == 200
    assert "Archive 2 stores?" in shown
    assert all(escape(f"Store {number} {PAYLOAD}") in shown for number in range(3))
    assert shelves[0].store.archived_at is None
    sent = re.findall(r'name="store_id" value="([^"]+)"', shown)
    assert 'name="confirmed"' in shown
    page = started(
        owner, owner.client.post(f"{owner.base}/stores/archive", {"store_id": sent, "confirmed": "yes"})
    )
    job_runs.run_next_job()
    shown = owner.get(page).content.decode()
    assert shown.count('<span class="badge archived">Archived</span>') == 2
    assert "It was archived before." in shown
    assert "<script>alert" not in shown
    assert shelves[0].store.archived_at is not None


@pytest.mark.parametrize(
    ("count", "said"), [(0, b"Choose at least one store."), (101, b"At most 100 stores at once")]
)
def test_none_or_too_many_are_refused_in_words(owner: Site, count: int, said: bytes) -> None:
    chosen = {"store_id": [unused_id("memstore")[:-4] + f"{n:04x}" for n in range(count)]}
    answer = owner.client.post(f"{owner.base}/stores/archive", chosen)
    assert answer["Location"] == f"{owner.base}/stores"
    assert said in owner.client.get(answer["Location"]).content


def test_the_list_pages_and_asks_as_often_for_many_as_for_few(desk: Desk, owner: Site) -> None:
    def add(count: int) -> None:
        for _ in range(count):
            Job.objects.create(
                project=desk.tenant.project,
                environment=desk.tenant.development,
                kind="export_store",
                arguments={"store_id": desk.shelf.store_id},
                asked_by=desk.tenant.owner,
            )

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get("/work").status_code == 200
        return len(queries)

    add(2)
    few = count()
    add(20)
    assert count() == few
    shown = owner.get("/work").content.decode()
    assert shown.count('">Export of a store</a>') == 20
    [following] = re.findall(r'href="[^"]*page=([^"&]+)" rel="next"', shown)
    assert owner.get("/work", page=following).content.decode().count('">Export of a store</a>') == 2


def test_a_failed_job_stands_on_the_overview_with_its_sentence_on_its_page(desk: Desk, owner: Site) -> None:
    assert "has failed." not in owner.get().content.decode()
    job = desk.export()
    MemoryStore.objects.filter(id=desk.shelf.store.id).delete()
    job_runs.run_next_job()
    shown = owner.get().content.decode()
    assert f"/work/{job.wire_id}" in shown
    assert "Export of a store has failed." in shown
    assert "The memory store was not found." in owner.get(f"/work/{job.wire_id}").content.decode()


def test_names_are_shown_as_text(desk: Desk, owner: Site) -> None:
    desk.shelf = desk.new_shelf(PAYLOAD)
    job = desk.run(desk.export())
    for path in ("/work", f"/work/{job.wire_id}", ""):
        shown = owner.get(path).content.decode()
        assert "<script>alert" not in shown
        assert "<img" not in shown
    assert job.file_name == "script-alert-1-script-img-src-x.tar"


def test_the_stores_that_can_be_archived_are_ticked_in_their_list(
    desk: Desk, owner: Site, viewer: Site
) -> None:
    live, archived = desk.new_shelf("Live"), desk.new_shelf("Old")
    archived.archive()
    offered = owner.get("/stores").content.decode()
    assert f'action="{owner.base}/stores/archive"' in offered
    assert set(re.findall(r'name="store_id" value="([^"]+)"', offered)) >= {live.store_id}
    assert archived.store_id not in re.findall(r'name="store_id" value="([^"]+)"', offered)
    shown = viewer.get("/stores").content.decode()
    assert 'name="store_id"' not in shown
    assert f"{owner.base}/stores/archive" not in shown
